"""Calibration of Bench2Drive's cameras."""

from __future__ import annotations

from typing import Final

from world4scorer.driving.clips.rig import CAMERA_FOLDERS, mounted_cameras
from world4scorer.driving.closed_loop.planner_agent import CameraCalibration

CAMERAS: Final = tuple(folder.removeprefix("rgb_") for folder in CAMERA_FOLDERS)
"""Image names in requests, in the planner's order."""


def bench2drive_rig(height: int, width: int) -> CameraCalibration:
    """Calibration in ego axes, for images of a size [pixels]."""
    cameras = mounted_cameras(image_size=(width, height))
    return CameraCalibration(cameras.intrinsics, cameras.rotation, cameras.translation)
