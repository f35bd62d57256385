"""Speed limit: among a planner's plans, prefer those that do not drive faster than allowed.

PDMS has no term for it, and progress rewards speed. The option lowers the utility by `weight` for each m/s by which a
plan exceeds the limit, on average over its poses: J - weight * mean(max(0, v - limit)).
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from world4scorer.engine.scene.checks import as_array
from world4scorer.engine.selection.inertial import check_weight

URBAN_LIMIT: Final = 50 / 3.6
"""Speed limit of towns [m/s]."""
LIMIT_WEIGHT: Final = 1.0
"""Utility lost for each m/s above the limit: a plan that is 1 m/s too fast is worth 1 / e of the same one below it."""
POSE_SECONDS: Final = 0.5
"""Time between the poses of a plan [s]."""


def plan_speeds(plans: ArrayLike) -> NDArray[np.float64]:
    """Mean speeds (N, T) on the way to each pose of plans (N, T, 3), which begin at the origin [m/s]."""
    poses = as_array("plans", plans, np.float64, ("N", "T", 3))[..., :2]
    steps = np.diff(poses, axis=1, prepend=np.zeros((len(poses), 1, 2)))
    return np.asarray(np.linalg.norm(steps, axis=-1) / POSE_SECONDS)


def limited_utility(
    utilities: ArrayLike, plans: ArrayLike, limit: float = URBAN_LIMIT, weight: float = LIMIT_WEIGHT
) -> NDArray[np.float64]:
    """Utilities (N,) of plans (N, T, 3), lowered where plans exceed a limit [m/s]."""
    check_weight(weight)
    if not limit > 0:
        raise ValueError(f"speed limit {limit}: want a speed above 0 m/s")
    speeds = plan_speeds(plans)
    base = as_array("utilities", utilities, np.float64, (len(speeds),))
    return np.asarray(base - weight * np.maximum(speeds - limit, 0.0).mean(1))
