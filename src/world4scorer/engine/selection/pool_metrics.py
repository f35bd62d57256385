"""Metrics of plan selection against true scores.

Shapes: B scenes, N plans.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

ORDERING_MARGIN: Final = 0.05
"""Gap of true scores whose results stand beside those of all pairs that differ."""


class PoolMetrics(NamedTuple):
    """Values by scene (B,); reported are means over scenes, and over all pairs for ordering."""

    selected: NDArray[np.float64]
    """True score of the plan with the highest utility; the first on ties."""
    random: NDArray[np.float64]
    """Expected true score of a random plan."""
    oracle: NDArray[np.float64]
    """True score of the best plan."""
    ordered: NDArray[np.int64]
    """Pairs of plans that utilities order correctly."""
    pairs: NDArray[np.int64]
    """Pairs whose true scores differ by more than the gap."""

    @property
    def means(self) -> dict[str, float]:
        """Mean values by name."""
        return {
            "selected": float(self.selected.mean()),
            "random": float(self.random.mean()),
            "oracle": float(self.oracle.mean()),
            "ordering": float(self.ordered.sum() / max(self.pairs.sum(), 1)),
        }


def pool_metrics(utility_BN: NDArray[np.floating], score_BN: NDArray[np.floating], min_gap: float = 0.0) -> PoolMetrics:
    """Compare utilities with true scores, scene by scene; pairs are ordered whose scores differ by more than a gap."""
    scenes = np.arange(len(score_BN))
    better = score_BN[:, :, None] > score_BN[:, None, :] + min_gap
    above = utility_BN[:, :, None] > utility_BN[:, None, :]
    return PoolMetrics(
        selected=np.asarray(score_BN[scenes, utility_BN.argmax(1)], np.float64),
        random=np.asarray(score_BN.mean(1), np.float64),
        oracle=np.asarray(score_BN.max(1), np.float64),
        ordered=(better & above).sum((1, 2)),
        pairs=better.sum((1, 2)),
    )
