"""Headings as quaternions."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


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
