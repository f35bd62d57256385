"""Route re-ranking: among a planner's plans, prefer those that stay near the route.

d = mean distance of a plan's eight poses to the polyline of the route's next 30 m, weighed from 0.5 for the first to
1.5 for the last; agreement = exp(-d / 4 m), standardised over the pool; it is added to the utility with a weight of
four standard deviations of the pool's utility.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from world4scorer.engine.scene.checks import as_array

FIRST_WEIGHT, LAST_WEIGHT = 0.5, 1.5
"""Weights of the first and the last pose of a plan."""
DISTANCE_SCALE: Final = 4.0
"""m"""
MIN_SPREAD: Final = 1e-3
"""Minimum standard deviation of agreements for re-ranking."""
ROUTE_WEIGHT: Final = 4.0
"""Weight in standard deviations of the utility."""


def route_agreement(plans: ArrayLike, ahead: ArrayLike) -> NDArray[np.float64]:
    """Agreement (N,) of plans (N, T, 3) with the polyline ahead (m, 2), both in the ego frame: 1 on it, 0 far away."""
    poses = as_array("plans", plans, np.float64, ("N", "T", 3))
    route = as_array("route ahead", ahead, np.float64, ("m", 2))
    if not len(route):
        raise ValueError("route ahead: no point; at least one is needed")
    distance = _distance(poses[..., :2], route)
    weights = np.linspace(FIRST_WEIGHT, LAST_WEIGHT, poses.shape[1])
    return np.asarray(np.exp(-(distance @ weights) / weights.sum() / DISTANCE_SCALE))


def _distance(points: NDArray[np.float64], line: NDArray[np.float64]) -> NDArray[np.float64]:
    """(N, T) distances of points (N, T, 2) to a polyline (m, 2).

    To the line, not to its points: those lie a metre apart, and plans ending between two of them would lose to plans
    that end on one.
    """
    step = np.diff(line, axis=0)
    if not len(step):
        return np.asarray(np.linalg.norm(points - line[0], axis=-1))
    # Axis by axis, which is several times faster than arrays of short vectors.
    forward, left = (np.subtract.outer(points[..., axis], line[:-1, axis]) for axis in (0, 1))
    along, across = step.T
    share = np.clip((forward * along + left * across) / np.maximum(along**2 + across**2, 1e-12), 0.0, 1.0)
    forward -= share * along
    left -= share * across
    return np.asarray(np.sqrt((forward**2 + left**2).min(-1)))


def route_utility(utilities: ArrayLike, agreement: ArrayLike, weight: float = ROUTE_WEIGHT) -> NDArray[np.float64]:
    """Utilities (N,) re-weighted by agreements (N,) with the route."""
    base = as_array("utilities", utilities, np.float64, ("N",))
    agreed = as_array("agreement", agreement, np.float64, (len(base),))
    spread = agreed.std()
    if spread < MIN_SPREAD:
        return base
    return np.asarray(base + weight * base.std() * (agreed - agreed.mean()) / spread)
