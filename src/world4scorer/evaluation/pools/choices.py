"""Which plan of each pool is taken: framewise, or with inertial re-ranking; and whether choices continue each other.

Plain functions of the arrays of a pool file.

Shapes: S frames, N plans.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from world4scorer.engine.selection.inertial import check_weight, inertial_utility

if TYPE_CHECKING:
    from world4scorer.evaluation.pools.scored import ScoredPools

Chosen = NDArray[np.int64]
Selection = Literal["reranked", "framewise"]


def framewise(utility: NDArray[Any]) -> Chosen:
    """(S,) the plan of highest utility; of equal ones the first."""
    return np.asarray(utility.argmax(1))


def inertial(pools: ScoredPools, utility: NDArray[Any], weight: float = 1.0) -> Chosen:
    """(S,) choices along each log with inertial re-ranking: each frame's depends on that of the frame before."""
    check_weight(weight)
    chosen = framewise(utility)
    for s in np.flatnonzero(pools.paired):
        before = chosen[pools.previous[s]]
        chosen[s] = np.argmax(inertial_utility(utility[s], pools.continues[s, :, before], weight))
    return chosen


def select(pools: ScoredPools, utility: NDArray[Any], selection: Selection) -> Chosen:
    """(S,) choices by the name of the selection."""
    return framewise(utility) if selection == "framewise" else inertial(pools, utility)


def continued(pools: ScoredPools, chosen: Chosen) -> NDArray[np.float64]:
    """(S,) extended comfort of consecutive choices: 1, 0, or NaN where there is no frame before."""
    indices = np.arange(len(pools))
    flags = pools.continues[indices, chosen, chosen[pools.previous]]
    return np.where(pools.paired, flags, np.nan)
