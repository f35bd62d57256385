"""Swept path of a car: front axle on the centreline, rear axle following it (tractrix).

In a turn the rear cuts the corner and the front swings wide; real kerbs are designed for such paths too.

Shapes: N paths, K steps along the longest.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from world4scorer.engine.scene.geometry import Floats, arc_length_hypot
from world4scorer.engine.scene.vehicle import FRONT_OVERHANG, HALF_WIDTH, REAR_OVERHANG, WHEEL_BASE

PATH_STEP: Final = 0.25
"""m along the path."""


def corner_trails(paths: Sequence[Floats]) -> list[Floats]:
    """Paths (4, k, 2) of a car's corners for each path (n, 2) of its front axle; it starts straight.

    Corners: front left, front right, rear right, rear left.
    """
    if not paths:
        return []
    lengths = np.array([arc_length_hypot(path)[-1] for path in paths])
    counts = np.ceil(lengths / PATH_STEP).astype(int) + 1
    front = np.empty((len(paths), counts.max(), 2))
    for row, path in enumerate(paths):
        marks = arc_length_hypot(path)
        at = np.minimum(np.arange(front.shape[1]) * PATH_STEP, marks[-1])
        front[row, :, 0], front[row, :, 1] = np.interp(at, marks, path[:, 0]), np.interp(at, marks, path[:, 1])
    ahead = np.empty_like(front)
    ahead[:, 0] = _unit(front[:, 1] - front[:, 0])
    rear = front[:, 0] - WHEEL_BASE * ahead[:, 0]
    for k in range(1, front.shape[1]):
        ahead[:, k] = _unit(front[:, k] - rear)
        rear = front[:, k] - WHEEL_BASE * ahead[:, k]
    left = np.stack([-ahead[..., 1], ahead[..., 0]], axis=-1)
    nose, tail = front + (FRONT_OVERHANG - WHEEL_BASE) * ahead, front - (WHEEL_BASE + REAR_OVERHANG) * ahead
    aside = HALF_WIDTH * left
    corners = np.stack([nose + aside, nose - aside, tail - aside, tail + aside], axis=1)
    return [trail[:, :count] for trail, count in zip(corners, counts, strict=True)]


def _unit(vectors: Floats) -> Floats:
    unit: Floats = vectors / np.hypot(vectors[:, 0], vectors[:, 1])[:, None]
    return unit
