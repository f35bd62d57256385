"""The second target of imitation: the logged path, driven a little faster.

Ten logged poses (five seconds) are joined by a cubic spline over their indices 0..9, column by column, and sampled at
x_i = i + a (1 + 2 + ... + (i + 1)), i = 0..7, a = 2 * 2 / (8 * 9): the step grows evenly, and the eighth sample is the
tenth pose. How a spline ends is a choice of its own: by default its third derivative does not jump at the second and
the last but one pose ("not-a-knot", what SciPy does); "natural" ends are straight.

Spline and sampling are linear in the poses, so all of it is one matrix.

Shapes: B scenes, T = 8 poses of a plan, L = 10 logged poses.
"""

from __future__ import annotations

from functools import cache
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from world4scorer.engine.scene.indices import LOGGED_POSES, PLAN_POSES

SplineEnds = Literal["not-a-knot", "natural"]


def imitation_targets(future_L3: Any) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Both targets (T, 3) of a scene from its logged future poses; the same twice where the log ends before ten."""
    future = np.asarray(future_L3, np.float64)
    if future.ndim != 2 or future.shape[1] != 3 or len(future) < PLAN_POSES:
        raise ValueError(f"future: shape {future.shape}; ({PLAN_POSES} or more, 3) is needed")
    logged = future[:PLAN_POSES]
    return logged, time_warped(future[:LOGGED_POSES]) if len(future) >= LOGGED_POSES else logged


def time_warped(poses_BL3: Any, ends: SplineEnds = "not-a-knot") -> NDArray[np.float64]:
    """The warped copies (B, T, 3) of logged poses (B, 10, 3), or (T, 3) of (10, 3)."""
    poses = np.asarray(poses_BL3, np.float64)
    if poses.ndim not in (2, 3) or poses.shape[-2:] != (LOGGED_POSES, 3):
        raise ValueError(f"poses: shape {poses.shape}; ({LOGGED_POSES}, 3) or (scenes, {LOGGED_POSES}, 3) is needed")
    return np.asarray(warp_matrix(ends) @ poses)


def sample_points() -> NDArray[np.float64]:
    """Where the spline is sampled (T,), in indices of logged poses."""
    index = np.arange(PLAN_POSES)
    growth = 2 * (LOGGED_POSES - PLAN_POSES) / (PLAN_POSES * (PLAN_POSES + 1))
    return index + growth * (index + 1) * (index + 2) / 2


@cache
def warp_matrix(ends: SplineEnds = "not-a-knot") -> NDArray[np.float64]:
    """The matrix (T, L) from logged poses to the copy."""
    second = _second_derivatives(ends)
    identity = np.eye(LOGGED_POSES)
    at = sample_points()
    left = np.clip(np.floor(at).astype(np.int64), 0, LOGGED_POSES - 2)
    right_share = (at - left)[:, None]
    left_share = 1.0 - right_share
    line = left_share * identity[left] + right_share * identity[left + 1]
    bend = (left_share**3 - left_share) * second[left] + (right_share**3 - right_share) * second[left + 1]
    matrix = line + bend / 6.0
    matrix.setflags(write=False)
    return matrix


def _second_derivatives(ends: SplineEnds) -> NDArray[np.float64]:
    """The matrix (L, L) from values at 0, 1, 2, ... to the second derivatives of their spline there."""
    size = LOGGED_POSES
    left, right = np.zeros((size, size)), np.zeros((size, size))
    for row in range(1, size - 1):
        left[row, row - 1 : row + 2] = (1.0, 4.0, 1.0)
        right[row, row - 1 : row + 2] = (6.0, -12.0, 6.0)
    if ends == "not-a-knot":
        left[0, :3] = left[-1, -3:] = (1.0, -2.0, 1.0)
    else:
        left[0, 0] = left[-1, -1] = 1.0
    return np.asarray(np.linalg.solve(left, right), np.float64)
