"""Shapes of vehicles in films."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from world4scorer.engine.scene.geometry import box_corners
from world4scorer.engine.scene.vehicle import FRONT_OVERHANG, HALF_WIDTH, REAR_OVERHANG

Floats = NDArray[np.float64]


def ego_corners(pose: Floats, origin: Floats) -> Floats:
    """(4, 2) of the ego at a global pose (3,), from an origin."""
    return corners_of(pose[:2] - origin, float(pose[2]), FRONT_OVERHANG, REAR_OVERHANG, HALF_WIDTH)


def corners_of(place: Floats, heading: float, front: float, rear: float, side: float) -> Floats:
    """(4, 2) front left, rear left, rear right, front right."""
    return box_corners(np.append(place, heading), front, rear, side)


def heading_arrow(corners: Floats, begin: float, end: float, width: float) -> Floats:
    """(3, 2) arrow head between shares `begin` and `end` of the length from the front, `width` a share of the box's."""
    front, back = corners[[0, 3]].mean(axis=0), corners[[1, 2]].mean(axis=0)
    side = (corners[0] - corners[3]) * width / 2
    base, tip = front + (back - front) * begin, front + (back - front) * end
    return np.stack([tip, base + side, base - side])
