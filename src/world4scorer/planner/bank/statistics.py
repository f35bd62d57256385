"""Statistics of a bank."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from world4scorer.planner.bank.candidate_bank import DEFAULT_DRAW, DEFAULT_UNSAFE_DRAW, CandidateBank
from world4scorer.planner.bank.choice import DAC, NC, PDMS, is_unsafe
from world4scorer.planner.bank.config import Family

HISTOGRAM_BINS: Final = 20
HISTOGRAM_EDGES: Final = np.linspace(0.0, 1.0, HISTOGRAM_BINS + 1)
"""Bin edges of the PDMS histogram."""


@dataclass(frozen=True)
class FamilyShare:
    """Statistics of one family."""

    share: float
    """Share of all candidates."""
    unsafe: float
    """Share of the family's candidates that are unsafe."""
    pdms: float
    """Mean."""


@dataclass(frozen=True)
class BankStatistics:
    """Statistics of a bank. Shares of scenes leave out scenes without candidates."""

    scenes: int
    without: int
    """Scenes that have no candidates."""
    candidates: int
    valid: float
    """Candidates per scene that has any, mean."""
    seen: float
    """Mean share of a scene's candidates drawn in one training step."""
    unsafe: float
    """Share of the candidates."""
    collisions: float
    """Share of the candidates that collide at fault."""
    off_road: float
    """Share of the candidates that leave the drivable area."""
    short: float
    """Share of scenes that lack candidates of either kind for a draw without repetition."""
    short_unsafe: float
    """Share of scenes with fewer than 8 unsafe ones."""
    short_other: float
    """Share of scenes with fewer than 8 others."""
    pdms: float
    """Mean over candidates."""
    histogram: list[int]
    """Candidates by PDMS, 20 bins from 0 to 1."""
    families: dict[str, FamilyShare] | None
    """By name; None without family labels."""


def bank_statistics(pack: CandidateBank) -> BankStatistics:
    """Statistics of all labels of a bank."""
    numbers = np.zeros((len(pack), 2), np.int64)  # unsafe and other candidates of each scene
    tables, kinds = [], []
    for part in pack.chunks():
        mask, labels = pack.mask[part], pack.subscores[part]
        unsafe = is_unsafe(labels)
        numbers[part, 0] = (mask & unsafe).sum(1)
        numbers[part, 1] = (mask & ~unsafe).sum(1)
        tables.append(labels[mask][:, [NC, DAC, PDMS]])
        if pack.family is not None:
            kinds.append(pack.family[part][mask])
    collided, departed, score = np.concatenate([np.zeros((0, 3)), *tables]).T
    unsafe = (collided < 0.5) | (departed < 0.5)
    family = None if pack.family is None else np.concatenate([np.zeros(0, np.int8), *kinds])
    present = numbers[numbers.sum(1) > 0]
    few, others = present[:, 0] < DEFAULT_UNSAFE_DRAW, present[:, 1] < DEFAULT_DRAW - DEFAULT_UNSAFE_DRAW
    return BankStatistics(
        scenes=len(pack),
        without=len(pack) - len(present),
        candidates=len(score),
        valid=mean_or_zero(present.sum(1)),
        seen=mean_or_zero(np.minimum(DEFAULT_DRAW / np.maximum(present.sum(1), 1), 1.0)),
        unsafe=mean_or_zero(unsafe),
        collisions=mean_or_zero(collided < 0.5),
        off_road=mean_or_zero(departed < 0.5),
        short=mean_or_zero(few | others),
        short_unsafe=mean_or_zero(few),
        short_other=mean_or_zero(others),
        pdms=mean_or_zero(score),
        histogram=pdms_histogram(score),
        families=None if family is None else _families(family, unsafe, score),
    )


def pdms_histogram(score: NDArray[Any]) -> list[int]:
    """Counts by PDMS, 20 bins from 0 to 1."""
    return [int(n) for n in np.histogram(score, HISTOGRAM_EDGES)[0]]


def mean_or_zero(values: NDArray[Any]) -> float:
    """The mean; 0 without values."""
    return float(np.mean(values, dtype=np.float64)) if len(values) else 0.0


def _families(family: NDArray[np.int8], unsafe: NDArray[np.bool_], score: NDArray[Any]) -> dict[str, FamilyShare]:
    found = {}
    for kind in Family:
        its = family == kind
        if its.any():
            found[kind.label] = FamilyShare(mean_or_zero(its), mean_or_zero(unsafe[its]), mean_or_zero(score[its]))
    return found
