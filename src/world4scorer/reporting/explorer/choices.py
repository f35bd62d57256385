"""Plans chosen by each selection method in every frame of pools."""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from world4scorer.evaluation.pools.choices import Chosen, continued, framewise, inertial
from world4scorer.evaluation.pools.scored import ScoredPools

Floats = NDArray[np.float64]


class Selections:
    """Framewise and re-ranked choices by v2 utility, and framewise ones by v1 utility."""

    def __init__(self, pools: ScoredPools) -> None:
        self._pools = pools
        self.by_v2: dict[str, Chosen] = {
            "framewise": framewise(pools.utility_v2),
            "reranked": inertial(pools, pools.utility_v2),
        }
        self.by_v1: Chosen = framewise(pools.utility_v1)

    @cached_property
    def epdms(self) -> dict[str, Floats]:
        """(S,) of each selection, extended comfort included where there is a frame before."""
        return {name: self._pools.epdms(chosen) for name, chosen in self.by_v2.items()}

    @cached_property
    def extended_comfort(self) -> dict[str, Floats]:
        """(S,) of each selection: 1, 0, or NaN where there is no frame before."""
        return {name: continued(self._pools, chosen) for name, chosen in self.by_v2.items()}

    def at(self, index: int) -> dict[str, int]:
        """Chosen plans in one frame, by selection."""
        return {**{name: int(chosen[index]) for name, chosen in self.by_v2.items()}, "v1": int(self.by_v1[index])}

    def epdms_at(self, index: int) -> dict[str, float]:
        """Scores of the choices in one frame."""
        return {name: float(scores[index]) for name, scores in self.epdms.items()}

    def continues_at(self, index: int) -> dict[str, NDArray[np.bool_]] | None:
        """(N,) which plans continue the choice of the frame before; None without such a frame."""
        before = int(self._pools.previous[index])
        if before < 0:
            return None
        return {name: self._pools.continues[index, :, chosen[before]] for name, chosen in self.by_v2.items()}
