"""How far a plan is from the one taken in the frame before, where both speak of the same moments.

The plan before is seen from the ego of now and read, linearly in time, at the moments of the present plan's poses that
it still reaches: at 0.5 s between frames these are seven, 0.5 s to 3.5 s from now. A plan starts at its ego's pose.
Moments are shifted as extended comfort shifts them, in whole steps of 0.1 s.

Shapes: P pairs of plans, T poses.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from world4scorer.engine.outcomes.extended_comfort import overlap_shift
from world4scorer.engine.scene.geometry import turn, wrap_modulo
from world4scorer.engine.scene.indices import DT, PLAN_INTERVAL

STEPS_BETWEEN: Final = round(PLAN_INTERVAL / DT)
"""Steps of 0.1 s between the poses of a plan."""

Floats = NDArray[np.float64]


class PlanChange(NamedTuple):
    """Means over the common poses, (P,) each."""

    heading: Floats
    """rad, size of the difference of headings"""
    lateral: Floats
    """m, size of the sideways part of the difference, seen along the present plan"""
    distance: Floats
    """m, Euclidean"""


def plan_change(
    now: NDArray[np.floating], before: NDArray[np.floating], ego_now: Floats, ego_before: Floats, interval: Floats
) -> PlanChange:
    """Compare plans `now` and `before` (P, T, 3), each in the frame of its ego (P, 3), `interval` (P,) s apart."""
    rows = [_compared(*one) for one in zip(now, before, ego_now, ego_before, interval, strict=True)]
    return PlanChange(*np.array(rows, np.float64).reshape(-1, 3).T)


def _compared(
    now: NDArray[np.floating], before: NDArray[np.floating], ego_now: Floats, ego_before: Floats, interval: float
) -> tuple[float, float, float]:
    shift = overlap_shift(interval)
    present = np.asarray(now, np.float64)
    steps = STEPS_BETWEEN * np.arange(1, len(present) + 1)
    common = steps + shift <= steps[-1]
    if not common.any():
        raise ValueError(f"interval: {interval} s between frames; plans that far apart have no moment in common")
    then = _at(_seen_from(np.asarray(before, np.float64), ego_before, ego_now), steps[common] + shift)
    present = present[common]
    gap = then[:, :2] - present[:, :2]
    lateral = np.cos(present[:, 2]) * gap[:, 1] - np.sin(present[:, 2]) * gap[:, 0]
    turned = wrap_modulo(then[:, 2] - present[:, 2])
    return float(np.abs(turned).mean()), float(np.abs(lateral).mean()), float(np.hypot(*gap.T).mean())


def in_world(plan: NDArray[np.floating], ego: Floats) -> Floats:
    """Poses (T + 1, 3) in the global frame: the ego's own, then those of the plan (T, 3)."""
    poses = np.concatenate([np.zeros((1, 3)), np.asarray(plan, np.float64)])
    cos, sin = np.cos(ego[2]), np.sin(ego[2])
    x, y, heading = poses.T
    return np.stack([ego[0] + cos * x - sin * y, ego[1] + sin * x + cos * y, ego[2] + heading], axis=1)


def _seen_from(plan: Floats, ego: Floats, other: Floats) -> Floats:
    """Poses (T + 1, 3) of a plan in another ego's frame, its own ego's first."""
    x, y, heading = (in_world(plan, ego) - other).T
    return np.stack([*turn(x, y, -other[2]), heading], axis=1)


def _at(poses: Floats, steps: NDArray[np.int64]) -> Floats:
    """Poses (M, 3) after so many steps of 0.1 s, of poses (T + 1, 3) from 0 on; headings without jumps."""
    times = STEPS_BETWEEN * np.arange(len(poses))
    smooth = np.column_stack([poses[:, :2], np.unwrap(poses[:, 2])])
    return np.stack([np.interp(steps, times, column) for column in smooth.T], axis=1)
