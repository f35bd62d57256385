"""How good is a choice among plans whose true scores are known?

Shapes: B scenes, N plans.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

ORDERING_MARGIN: Final = 0.05
"""Pairs whose true scores differ by less are not compared."""


class PoolMetrics(NamedTuple):
    """By scene (B,); means over scenes, and over pairs of all scenes for ordering, are what is reported."""

    selected: NDArray[np.float64]
    """True score of the plan with the highest utility; of equal ones the first."""
    random: NDArray[np.float64]
    """Expected true score of a random pick."""
    oracle: NDArray[np.float64]
    """True score of the best plan."""
    ordered: NDArray[np.int64]
    """Pairs of plans that utilities put in the true order."""
    pairs: NDArray[np.int64]
    """Pairs with true scores that differ."""

    @property
    def means(self) -> dict[str, float]:
        """The numbers of a table."""
        return {
            "selected": float(self.selected.mean()),
            "random": float(self.random.mean()),
            "oracle": float(self.oracle.mean()),
            "ordering": float(self.ordered.sum() / max(self.pairs.sum(), 1)),
        }


def pool_metrics(utility_BN: NDArray[np.floating], score_BN: NDArray[np.floating]) -> PoolMetrics:
    """Compare utilities with true scores, scene by scene."""
    scenes = np.arange(len(score_BN))
    better = score_BN[:, :, None] > score_BN[:, None, :] + ORDERING_MARGIN
    above = utility_BN[:, :, None] > utility_BN[:, None, :]
    return PoolMetrics(
        selected=np.asarray(score_BN[scenes, utility_BN.argmax(1)], np.float64),
        random=np.asarray(score_BN.mean(1), np.float64),
        oracle=np.asarray(score_BN.max(1), np.float64),
        ordered=(better & above).sum((1, 2)),
        pairs=better.sum((1, 2)),
    )
