"""What each score head predicts of every plan, and the outcome that it was trained to predict.

Labels follow the training: a partial fault (0.5) of NC and DDC counts as a full one, a TTC of 2 is no label. Progress
(EP) is a soft label between 0 and 1.

Shapes: S frames, N plans.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from world4scorer.engine.outcomes.results import V1_COLUMNS
from world4scorer.engine.selection.utility import OUTCOMES
from world4scorer.evaluation.pools.pool_files import PoolError
from world4scorer.evaluation.pools.scored import ScoredPools

Floats = NDArray[np.float64]

PARTIAL_FAULT: Final = 0.5
"""Outcome of NC and DDC that counts as 0 in training."""
INVALID_TTC: Final = 2.0
"""Outcome of a plan whose time to collision is not defined."""
PROGRESS: Final = "EP"


@dataclass(frozen=True, eq=False)
class Head:
    """Predictions of one score head."""

    name: str
    """One of `OUTCOMES`."""
    logits: Floats
    """(S, N)"""
    labels: Floats
    """(S, N), 0 to 1; NaN for none"""
    safe: NDArray[np.bool_]
    """(S, N) plans without collision that stay in the drivable area; PDMS of all others is 0"""

    @property
    def valid(self) -> NDArray[np.bool_]:
        """(S, N) which plans have a label."""
        return ~np.isnan(self.labels)

    @property
    def predictions(self) -> Floats:
        """(S, N) predicted probabilities, of EP the predicted progress."""
        return sigmoid(self.logits)

    def scaled(self, logits: Floats) -> Head:
        """The same head with other logits (S, N)."""
        return replace(self, logits=logits)


def sigmoid(logits: Floats) -> Floats:
    """Probabilities of logits; finite for logits of any size."""
    return np.asarray(np.exp(-np.logaddexp(0.0, -logits)))


def heads_of(pools: ScoredPools) -> dict[str, Head]:
    """All heads by name, in the order of the logits."""
    if pools.logits is None:
        raise PoolError(
            f"pools of {pools.about['planner']}: they hold no logits of score heads; make them with a planner of ours "
            "(`w4s pools`)"
        )
    nc, dac = (head_labels(pools.v1, name) for name in ("NC", "DAC"))
    safe = (nc == 1) & (dac == 1)
    return {
        name: Head(name, np.asarray(pools.logits[..., index], np.float64), head_labels(pools.v1, name), safe)
        for index, name in enumerate(OUTCOMES)
    }


def head_labels(v1: NDArray[Any], name: str) -> Floats:
    """Labels (S, N) of a head from outcomes (S, N, 7) of v1.1."""
    outcome = np.asarray(v1[..., V1_COLUMNS.index(name)], np.float64)
    if name in ("NC", "DDC"):
        return np.where(outcome == PARTIAL_FAULT, 0.0, outcome)
    return np.where(outcome == INVALID_TTC, np.nan, outcome) if name == "TTC" else outcome
