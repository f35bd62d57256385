"""Corridor: among a planner's plans, prefer those that do not leave the route.

PDMS does not ask for it. A plan that goes straight on where the route turns makes as much progress, up to the corner,
as one that turns, and more than one that brakes for it; chosen anew at every decision, it passes the turn at full
speed. The option lowers the utility by `weight` for each metre by which a plan leaves a corridor around the route, on
average over its poses: J - weight * mean(max(0, d - 2 m)). Inside the corridor nothing changes. Before a turn a plan
loses nothing that ends ahead of it, so the ego slows down; beside a stopped vehicle passing costs less than standing.

`route.py` has the published rule and another that compare plans with each other; neither slows down for a turn that no
plan of the pool can take.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from world4scorer.engine.scene.checks import as_array
from world4scorer.engine.selection.inertial import check_weight
from world4scorer.engine.selection.route import polyline_distance

CORRIDOR_HALF_WIDTH: Final = 2.0
"""m: rather more than half a lane"""
CORRIDOR_WEIGHT: Final = 0.3
"""Utility lost for each metre beyond it, on average over the poses of a plan."""
CORRIDOR_LENGTH: Final = 80.0
"""Length of the route ahead that plans are compared with [m]: more than a plan can be long in a town."""


def corridor_utility(
    utilities: ArrayLike, plans: ArrayLike, ahead: ArrayLike, weight: float = CORRIDOR_WEIGHT
) -> NDArray[np.float64]:
    """Utilities (N,) of plans (N, T, 3), lowered where they leave the polyline ahead (m, 2), in the ego frame.

    Poses past the end of the polyline leave nothing: the route says nothing of them.
    """
    check_weight(weight)
    poses = as_array("plans", plans, np.float64, ("N", "T", 3))[..., :2]
    route = as_array("route ahead", ahead, np.float64, ("m", 2))
    base = as_array("utilities", utilities, np.float64, (len(poses),))
    if len(route) < 2:
        return base
    last = route[-1] - route[-2]
    beyond = (poses - route[-1]) @ last > 0
    left = np.maximum(polyline_distance(poses, route) - CORRIDOR_HALF_WIDTH, 0.0)
    return np.asarray(base - weight * np.where(beyond, 0.0, left).mean(1))
