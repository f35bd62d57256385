"""DDC, driving direction compliance: 1, 0.5 or 0.

The distance that the ego's centre covers outside the route's lanes ("oncoming", though off-road counts as well), summed
over the last second (this step and the ten before it): a maximum below 2 m gives 1, below 6 m 0.5, else 0. v2.2 does
not count steps that end inside an intersection.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from world4scorer.engine.kernels import leaf
from world4scorer.engine.outcomes.areas import covered
from world4scorer.engine.scene.indices import STEPS
from world4scorer.engine.scene.packed import INTERSECTION, ROUTE

WINDOW_STEPS: Final = 11
"""Steps summed: one second."""
COMPLIANT_DISTANCE: Final = 2.0
"""m"""
VIOLATION_DISTANCE: Final = 6.0
"""m"""


@leaf
def driving_direction(polygons, grid, ego, spare_intersections, travelled, score, step):
    """Score every rollout: fill `score` (N,), and where it is below 1 the `step` (N,) at which it dropped.

    `travelled` (T,) is scratch.
    """
    for n in range(score.size):
        score[n], step[n] = 1.0, -1
        travelled[0] = 0.0
        for t in range(1, STEPS):
            travelled[t] = 0.0
            x, y = ego.x[n, t], ego.y[n, t]
            if covered(grid, polygons, ROUTE, x, y):
                continue
            if spare_intersections and covered(grid, polygons, INTERSECTION, x, y):
                continue
            dx, dy = x - ego.x[n, t - 1], y - ego.y[n, t - 1]
            travelled[t] = np.sqrt(dx * dx + dy * dy)
            total = 0.0
            for k in range(max(0, t - WINDOW_STEPS + 1), t + 1):
                total += travelled[k]
            value = 1.0 if total < COMPLIANT_DISTANCE else (0.5 if total < VIOLATION_DISTANCE else 0.0)
            if value < score[n]:
                score[n], step[n] = value, t
