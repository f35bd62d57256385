"""DAC, drivable area compliance: 1 if every corner of the ego stays inside drivable polygons at all steps, else 0.

Different corners may lie in different polygons; lanes do not count as drivable; the first step counts too.
"""

from __future__ import annotations

from world4scorer.engine.kernels import leaf
from world4scorer.engine.outcomes.areas import off_road


@leaf
def drivable_area(polygons, grid, ego, score, step, cause):
    """Score every rollout: fill `score` (N,), and where it is 0 the first `step` (N,) off-road and the corner (N,)."""
    for n in range(score.size):
        score[n], step[n], cause[n] = 1.0, -1, -1
        for t in range(ego.x.shape[1]):
            which = off_road(grid, polygons, ego, n, t)
            if which >= 0:
                score[n], step[n], cause[n] = 0.0, t, which
                break
