"""Poses in the plane: yaw of a quaternion, and poses as seen from another one."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def wrap(angle: Any) -> Any:
    """Bring angles to (-pi, pi] the way the official code does, by their sine and cosine."""
    return np.arctan2(np.sin(angle), np.cos(angle))


def yaw(quaternion: NDArray[np.float64]) -> float:
    """Heading [rad] of a rotation w, x, y, z.

    The sign before x * y is that of pyquaternion's yaw, which the official reader uses; with roll and pitch it
    differs from the usual formula by their product.
    """
    w, x, y, z = quaternion / np.linalg.norm(quaternion)
    return float(np.arctan2(2.0 * (w * z - x * y), 1.0 - 2.0 * (y * y + z * z)))


def rotation_about_z(heading: float) -> NDArray[np.float64]:
    """(4,) quaternion w, x, y, z of a turn by `heading` [rad] in the plane."""
    return np.array([np.cos(heading / 2.0), 0.0, 0.0, np.sin(heading / 2.0)])


def relative_poses(poses: NDArray[np.float64], origin: NDArray[np.float64]) -> NDArray[np.float64]:
    """Global poses (N, 3) x, y, heading as seen from the pose `origin` (3,)."""
    offset = poses - origin
    cosine, sine = np.cos(origin[2]), np.sin(origin[2])
    return np.stack(
        [
            cosine * offset[:, 0] + sine * offset[:, 1],
            -sine * offset[:, 0] + cosine * offset[:, 1],
            wrap(offset[:, 2]),
        ],
        axis=1,
    )
