"""Route re-ranking: among a planner's plans, prefer those that stay near the route.

d = mean distance of a plan's eight poses to the polyline of the route's next 30 m, weighed from 0.5 for the first to
1.5 for the last; agreement = exp(-d / 4 m), standardised over the pool; it is added to the utility with a weight of
four standard deviations of the pool's utility.

This published rule compares plans at equal times, at which a slow plan has had less way to leave the route, and a
standing one none at all; and it divides by the spread of the pool's agreements, however small, so that where all plans
are near the route centimetres decide. Both reward slow plans, and repeated at every decision they stop the car.

The rule `equal-distance` compares plans at equal distances travelled: after 3, 6, ... m of its path, a plan's distance
to the route less that of the best plan that leads as far. d is the mean of these with rising weights, over the way that
the plan leads; a plan of less than 3 m has left nothing yet, d = 0. The spread counts as at least 0.1, that of plans
half a metre apart: what is nearer to each other, utility alone tells apart.
"""

from __future__ import annotations

from typing import Final, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from world4scorer.engine.scene.checks import as_array
from world4scorer.engine.scene.geometry import arc_length

FIRST_WEIGHT, LAST_WEIGHT = 0.5, 1.5
"""Weights of the first and the last pose of a plan."""
DISTANCE_SCALE: Final = 4.0
"""m"""
MIN_SPREAD: Final = 1e-3
"""Minimum standard deviation of agreements for re-ranking."""
ROUTE_WEIGHT: Final = 4.0
"""Weight in standard deviations of the utility."""
PATH_STEP: Final = 3.0
"""Distance travelled between two comparisons with the route [m]."""
LEAST_SPREAD: Final = 0.1
"""Least standard deviation of agreements that differences are divided by, at equal distances."""
MAX_PATH: Final = 30.0
"""Distance travelled up to which paths are compared [m]: the length of the route ahead."""

RouteRule = Literal["published", "equal-distance"]


def route_agreement(plans: ArrayLike, ahead: ArrayLike, rule: RouteRule = "published") -> NDArray[np.float64]:
    """Agreement (N,) of plans (N, T, 3) with the polyline ahead (m, 2), both in the ego frame: 1 on it, 0 far away."""
    poses = as_array("plans", plans, np.float64, ("N", "T", 3))
    route = as_array("route ahead", ahead, np.float64, ("m", 2))
    if not len(route):
        raise ValueError("route ahead: no point; at least one is needed")
    check_rule(rule)
    if rule == "published":
        weights = np.linspace(FIRST_WEIGHT, LAST_WEIGHT, poses.shape[1])
        return np.asarray(
            np.exp(-(polyline_distance(poses[..., :2], route) @ weights) / weights.sum() / DISTANCE_SCALE)
        )
    return _agreement_at_distances(poses, route)


def check_rule(rule: str) -> None:
    """Raise a ValueError unless there is such a rule."""
    if rule not in get_args(RouteRule):
        raise ValueError(f"route rule {rule!r}: choose from {', '.join(get_args(RouteRule))}")


def _agreement_at_distances(poses: NDArray[np.float64], route: NDArray[np.float64]) -> NDArray[np.float64]:
    """Agreement (N,) of the paths of plans (N, T, 3) with a polyline (m, 2), at equal distances travelled."""
    distances = np.arange(PATH_STEP, MAX_PATH + PATH_STEP / 2, PATH_STEP)
    points = np.zeros((len(poses), len(distances), 2))
    reached = np.zeros(points.shape[:2], np.bool_)
    for row, plan in enumerate(poses):
        path = np.concatenate([np.zeros((1, 2)), plan[:, :2]])
        along = arc_length(path)
        points[row] = np.column_stack([np.interp(distances, along, path[:, axis]) for axis in (0, 1)])
        reached[row] = distances <= along[-1]
    away = polyline_distance(points, route)
    excess = away - np.where(reached, away, np.inf).min(0, initial=np.inf)
    weights = np.where(reached, np.linspace(FIRST_WEIGHT, LAST_WEIGHT, len(distances)), 0.0)
    mean = np.where(reached, excess, 0.0) * weights
    return np.asarray(np.exp(-mean.sum(1) / np.maximum(weights.sum(1), 1e-9) / DISTANCE_SCALE))


def polyline_distance(points: NDArray[np.float64], line: NDArray[np.float64]) -> NDArray[np.float64]:
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


def route_utility(
    utilities: ArrayLike, agreement: ArrayLike, weight: float = ROUTE_WEIGHT, rule: RouteRule = "published"
) -> NDArray[np.float64]:
    """Utilities (N,) re-weighted by agreements (N,) with the route by a rule."""
    base = as_array("utilities", utilities, np.float64, ("N",))
    agreed = as_array("agreement", agreement, np.float64, (len(base),))
    spread = agreed.std()
    if rule == "equal-distance":
        spread = max(spread, LEAST_SPREAD)
    elif spread < MIN_SPREAD:
        return base
    return np.asarray(base + weight * base.std() * (agreed - agreed.mean()) / spread)
