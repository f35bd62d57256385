"""Camera mounts and intrinsics, as in NAVSIM's logs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

FOCAL_TO_WIDTH: Final = 1545.0 / 1920.0
"""Focal length / image width of nuPlan's cameras."""

DEFAULT_CAMERAS: Final = ("CAM_F0", "CAM_B0", "CAM_L0", "CAM_R0")

MOUNTS: Final[Mapping[str, tuple[float, float, float, float]]] = {
    "CAM_F0": (1.95, 0.0, 1.5, 0.0),
    "CAM_L0": (1.82, 0.25, 1.5, 55.0),
    "CAM_L1": (1.55, 0.28, 1.5, 110.0),
    "CAM_L2": (1.39, 0.15, 1.5, 150.0),
    "CAM_R0": (1.82, -0.25, 1.5, -55.0),
    "CAM_R1": (1.55, -0.28, 1.5, -110.0),
    "CAM_R2": (1.39, -0.15, 1.5, -150.0),
    "CAM_B0": (1.35, 0.0, 1.5, 180.0),
}
"""x forward, y left, z up of the rear axle on the ground [m]; yaw [deg], positive to the left."""


@dataclass(frozen=True, eq=False)
class CameraRig:
    """Pinhole cameras on a car, with the principal point at the image centre and no distortion."""

    names: tuple[str, ...]
    rotation: NDArray[np.float64]
    """(c, 3, 3) camera axes (x right, y down, z forward) -> ego axes (x forward, y left, z up)."""
    translation: NDArray[np.float64]
    """(c, 3) in ego axes, from the rear axle on the ground [m]."""
    focal_to_width: float = FOCAL_TO_WIDTH

    @classmethod
    def default(cls, names: tuple[str, ...] = tuple(MOUNTS)) -> CameraRig:
        """All eight cameras of a NAVSIM car, or some of them."""
        unknown = [name for name in names if name not in MOUNTS]
        if unknown:
            raise ValueError(f"no such camera: {', '.join(unknown)}; choose from {', '.join(MOUNTS)}")
        mounts = np.array([MOUNTS[name] for name in names])
        return cls(names, np.stack([_level(np.deg2rad(yaw)) for yaw in mounts[:, 3]]), mounts[:, :3])

    def select(self, names: tuple[str, ...]) -> CameraRig:
        """The cameras of these names, in this order."""
        missing = [name for name in names if name not in self.names]
        if missing:
            raise ValueError(f"no such camera in the rig: {', '.join(missing)}; it has {', '.join(self.names)}")
        rows = [self.names.index(name) for name in names]
        return CameraRig(tuple(names), self.rotation[rows], self.translation[rows], self.focal_to_width)

    def intrinsics(self, height: int, width: int) -> NDArray[np.float64]:
        """(c, 3, 3) pinhole matrices in pixels; pixel (0, 0) covers [0, 1) x [0, 1)."""
        focal = self.focal_to_width * width
        matrix = np.array([[focal, 0, width / 2], [0, focal, height / 2], [0, 0, 1.0]])
        return np.repeat(matrix[None], len(self.names), 0)


def _level(yaw: float) -> NDArray[np.float64]:
    """Axes of a level camera."""
    forward = (np.cos(yaw), np.sin(yaw), 0.0)
    right = (np.sin(yaw), -np.cos(yaw), 0.0)
    return np.array([right, (0.0, 0.0, -1.0), forward]).T
