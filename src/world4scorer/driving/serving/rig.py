"""Bench2Drive's cameras, as training knows them, for the pilot."""

from __future__ import annotations

from typing import Final

from world4scorer.driving.clips.rig import CAMERA_FOLDERS, mounted_cameras
from world4scorer.driving.closed_loop.planner_agent import CameraCalibration

CAMERAS: Final = tuple(folder.removeprefix("rgb_") for folder in CAMERA_FOLDERS)
"""Names of their images in requests, in the order in which planners are given them."""


def bench2drive_rig(height: int, width: int) -> CameraCalibration:
    """The cameras in ego axes, for images of a size in pixels."""
    cameras = mounted_cameras(image_size=(width, height))
    return CameraCalibration(cameras.intrinsics, cameras.rotation, cameras.translation)
