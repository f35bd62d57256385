"""Starting: among a planner's plans, prefer those that move off to those that put it off.

PDMS is blind here: where no safe plan gets 5 m ahead, progress counts as full for all of them (`outcomes/progress.py`),
so standing is as good as starting, and starting in two seconds as good as starting now. Chosen anew every half second,
a start in two seconds never comes. The option raises the utility by `weight` times the share of the way of a car at
1.25 m/s, which gets 5 m ahead in the four seconds of a plan, that a plan has made until each of its poses, on average:
J + weight * mean(min(1, way / (1.25 m/s * t))). Plans at the speed of a walker or more all gain the same.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from world4scorer.engine.scene.checks import as_array
from world4scorer.engine.selection.inertial import check_weight
from world4scorer.engine.selection.speed_limit import POSE_SECONDS, plan_speeds

START_SPEED: Final = 1.25
"""Speed at which a plan has made all the way that counts [m/s]: 5 m in 4 s."""
START_WEIGHT: Final = 0.1
"""Utility gained by a plan that moves off at once: too little to outweigh a likely collision."""


def starting_utility(utilities: ArrayLike, plans: ArrayLike, weight: float = START_WEIGHT) -> NDArray[np.float64]:
    """Utilities (N,) of plans (N, T, 3), raised for the way that they make from the beginning."""
    check_weight(weight)
    way = np.cumsum(plan_speeds(plans) * POSE_SECONDS, axis=1)
    base = as_array("utilities", utilities, np.float64, (len(way),))
    walked = START_SPEED * POSE_SECONDS * np.arange(1, way.shape[1] + 1)
    return np.asarray(base + weight * np.minimum(way / walked, 1.0).mean(1))
