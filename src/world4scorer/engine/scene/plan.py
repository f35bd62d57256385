"""Plans: eight poses in the ego frame at 0.5, 1.0, ... 4.0 s, as arrays (N, 8, 3) of x, y, heading.

x points forward and y to the left of the rear axle now [m]; the heading is relative to the ego's [rad].
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from world4scorer.engine.scene.checks import SceneError, as_array
from world4scorer.engine.scene.indices import PLAN_POSES

MAX_COORDINATE: Final = 1e6
"""Maximum coordinate [m] or heading [rad] of a plan, within which rollouts keep their precision."""


def as_plans(plans: Any, token: str | None = None) -> NDArray[np.float64]:
    """Return plans as float64 (N, 8, 3), or raise a SceneError that names the invalid plan and pose."""
    where = "plans" if token is None else f"plans of {token}"
    poses = as_array(where, plans, np.float64, ("N", PLAN_POSES, 3), finite=False)
    bad = ~(np.abs(poses) <= MAX_COORDINATE)  # also true for NaN
    if bad.any():
        plan, pose, column = (int(i) for i in np.argwhere(bad)[0])
        raise SceneError(
            f"{where}: plan {plan}, pose {pose}, {['x', 'y', 'heading'][column]} is {poses[plan, pose, column]}; "
            f"values must be finite and at most {MAX_COORDINATE:g} (see `published_cleanup` for the replacement that "
            "published training code applies)"
        )
    return poses


def shaped_plans(plans: Any, token: str | None = None) -> NDArray[np.float64]:
    """Return plans as float64 (N, 8, 3); values of an array that is one already are left to the kernels to check."""
    if (
        type(plans) is np.ndarray
        and plans.dtype == np.float64
        and plans.shape[1:] == (PLAN_POSES, 3)
        and plans.flags.c_contiguous
        and plans.flags.writeable
    ):
        return plans
    return as_plans(plans, token)


def published_cleanup(plans: Any) -> NDArray[np.float32]:
    """Replace non-finite values as published training code does: NaN by 0, +inf by 100, -inf by -100, in float32."""
    return np.nan_to_num(np.asarray(plans, np.float32), nan=0.0, posinf=100.0, neginf=-100.0)
