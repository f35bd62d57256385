"""The four cameras of Bench2Drive's cars that the planner looks through.

CARLA places a car, and cameras on it, by its middle; ego axes begin at the rear axle.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from world4scorer.driving.pilot import Rig


@dataclass(frozen=True)
class Mount:
    """A camera as CARLA is told about it; it looks along the horizon."""

    name: str
    forward: float
    """m from the middle of the car"""
    right: float
    """m"""
    up: float
    """m above the ground"""
    yaw: float
    """Degrees clockwise from straight ahead."""
    fov: float
    """Degrees from the left edge of the image to the right."""


REAR_AXLE: Final = 1.35
"""m behind the middle of the car."""
BENCH2DRIVE: Final = (
    Mount("front", 0.80, 0.0, 1.60, 0.0, 70.0),
    Mount("back", -2.00, 0.0, 1.60, 180.0, 110.0),
    Mount("front_left", 0.27, -0.55, 1.60, -55.0, 70.0),
    Mount("front_right", 0.27, 0.55, 1.60, 55.0, 70.0),
)
"""In the order in which planners are given them."""


def rig_of(mounts: tuple[Mount, ...], height: int, width: int) -> Rig:
    """Mounts as pinhole cameras in ego axes, for images of a size in pixels."""
    intrinsics, rotation = [], []
    for mount in mounts:
        focal = width / 2 / np.tan(np.deg2rad(mount.fov) / 2)
        intrinsics.append([[focal, 0, width / 2], [0, focal, height / 2], [0, 0, 1]])
        sine, cosine = np.sin(np.deg2rad(-mount.yaw)), np.cos(np.deg2rad(-mount.yaw))
        # Columns: where the camera's right, down and forward point in ego axes.
        rotation.append([[sine, 0, cosine], [-cosine, 0, sine], [0, -1, 0]])
    translation = [[mount.forward + REAR_AXLE, -mount.right, mount.up] for mount in mounts]
    return Rig(np.array(intrinsics, np.float64), np.array(rotation, np.float64), np.array(translation, np.float64))
