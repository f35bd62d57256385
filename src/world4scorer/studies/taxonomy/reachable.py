"""The sequence of plans that keeps extended comfort in as many pairs as the pools allow, whatever else it costs.

Each choice changes what the next is compared with, so the most that pools allow is not read off frame by frame: it is
the longest path through all plans of a log, where a step counts 1 if the plan continues the one before.

Shapes: S frames, N plans.
"""

from __future__ import annotations

import numpy as np

from world4scorer.evaluation.pools.choices import Chosen
from world4scorer.evaluation.pools.scored import ScoredPools


def smoothest(pools: ScoredPools) -> Chosen:
    """(S,) choices with the most continued pairs in every log; no choices from these pools have more."""
    frames, plans = pools.utility_v2.shape
    kept = np.zeros((frames, plans), np.int64)
    """Most pairs continued up to each plan."""
    before = np.zeros((frames, plans), np.int64)
    """The plan of the frame before on the way there."""
    for s in np.flatnonzero(pools.paired):
        ways = kept[s - 1] + pools.continues[s]
        before[s] = ways.argmax(1)
        kept[s] = ways.max(1)
    chosen: Chosen = kept.argmax(1)
    for s in np.flatnonzero(pools.paired)[::-1]:
        chosen[s - 1] = before[s, chosen[s]]
    return chosen
