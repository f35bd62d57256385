"""PDMS histograms of generated plans and of the bank on the same scenes, as in the paper."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from world4scorer.datasets.store import SceneStore
from world4scorer.engine.outcomes.batch import map_threads
from world4scorer.engine.outcomes.v1 import label
from world4scorer.planner.bank.candidate_bank import CandidateBank
from world4scorer.planner.bank.choice import PDMS, is_unsafe
from world4scorer.planner.bank.statistics import HISTOGRAM_EDGES, mean_or_zero, pdms_histogram


@dataclass(frozen=True)
class ScoreDistribution:
    """PDMS of a set of candidates."""

    candidates: int
    pdms: float
    """Mean."""
    unsafe: float
    """Share with a collision at fault or off the drivable area."""
    below_half: float
    """Share with a PDMS below 0.5."""
    histogram: list[int]
    """Candidates in 20 bins from 0 to 1."""

    @property
    def shares(self) -> NDArray[np.float64]:
        """(20,) of the histogram."""
        return np.asarray(self.histogram) / max(self.candidates, 1)


@dataclass(frozen=True)
class BankComparison:
    """Generated candidates against the bank's, on the scenes that both have."""

    scenes: int
    left_out: int
    """Generated scenes that have no candidates in the bank."""
    generated: ScoreDistribution
    bank: ScoreDistribution

    def as_dict(self) -> dict[str, Any]:
        """Plain values."""
        return {**asdict(self), "edges": HISTOGRAM_EDGES.tolist()}


def compare_with_bank(pack: CandidateBank, plans: Mapping[str, Any], store: SceneStore) -> BankComparison:
    """Label generated plans (K, 8, 3) by token and compare them with the bank on the same scenes."""
    common = [token for token in plans if token in pack and pack.mask[pack.rows[token]].any()]
    if not common:
        raise ValueError(f"{pack.folder}: holds candidates for none of the {len(plans)} scenes with generated plans")
    by_row = sorted(pack.rows[token] for token in common)
    banked = [pack.subscores[row][pack.mask[row]] for row in by_row]
    labelled = list(map_threads(lambda token: label(store[token], plans[token]).table, common))
    return BankComparison(len(common), len(plans) - len(common), _distribution(labelled), _distribution(banked))


def _distribution(tables: Sequence[NDArray[Any]]) -> ScoreDistribution:
    labels = np.concatenate(tables)
    score = labels[:, PDMS]
    return ScoreDistribution(
        len(labels),
        mean_or_zero(score),
        mean_or_zero(is_unsafe(labels)),
        mean_or_zero(score < 0.5),
        pdms_histogram(score),
    )
