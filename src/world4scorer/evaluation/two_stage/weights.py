"""How much each follow-up counts: the nearer it begins to where the plan of the first stage ends, the more.

w_i = exp(-d_i^2 / (2 * 0.1 m^2)), divided by their sum, where d_i is the distance from the last pose of the plan as
submitted (not as rolled out) to the rear axle of the follow-up scene. Where the sum is at most 1e-8, i.e. where all
follow-ups begin 1.9 m away or more, all count the same. Heading, speed and time play no part.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from world4scorer.engine.scene.geometry import Floats, to_global_axes
from world4scorer.engine.scene.indices import State
from world4scorer.engine.scene.plan import as_plans
from world4scorer.engine.scene.scene import Scene

VARIANCE: Final = 0.1
"""m^2"""
MIN_SUM: Final = 1e-8
"""Sum of weights up to which all follow-ups count the same."""


@dataclass(frozen=True, eq=False)
class FollowUpWeights:
    """Weights of the n follow-ups of one frame."""

    distances: Floats
    """(n,) from the end of the plan to the beginning of each [m]."""
    weights: Floats
    """(n,) they add up to 1."""
    uniform: bool
    """Whether all follow-ups are too far from the end of the plan, so that they count the same."""


def end_point(scene: Scene, plan: Floats) -> Floats:
    """Global x, y (2,) of the last pose of a plan (8, 3)."""
    last = as_plans(np.asarray(plan)[None], scene.token)[0, -1, :2]
    return to_global_axes(last, scene.ego_state[[State.X, State.Y, State.HEADING]])


def follow_up_weights(end: Floats, starts: Floats) -> FollowUpWeights:
    """Weights of follow-ups that begin at `starts` (n, 2) for a plan that ends at `end` (2,)."""
    squares = ((starts - end) ** 2).sum(axis=1)
    weights = np.exp(-squares / (2 * VARIANCE))
    total = weights.sum()
    uniform = not total > MIN_SUM
    weights = np.full(len(starts), 1 / len(starts)) if uniform else weights / total
    return FollowUpWeights(np.sqrt(squares), weights, uniform)
