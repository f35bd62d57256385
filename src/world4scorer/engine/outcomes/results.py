"""Results of the entry points: metrics by plan, and causes of values below 1.

Shapes: N plans.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from world4scorer.engine.outcomes.causes import Cause
from world4scorer.engine.rollout.plans import LqrProfile, roll_out
from world4scorer.engine.scene.geometry import Floats
from world4scorer.engine.scene.scene import Scene

V1_COLUMNS: Final = ("NC", "DAC", "EP", "TTC", "C", "DDC", "PDMS")
V2_COLUMNS: Final = ("NC", "DAC", "DDC", "TLC", "EP", "TTC", "LK", "HC", "product", "pdm_score")

V2_FIELDS: Final = tuple(name.lower() for name in V2_COLUMNS[:-2])
"""Fields of a `V2Outcome` with the sub-scores."""
V2_WEIGHTS: Final = {"EP": 5.0, "TTC": 5.0, "LK": 2.0, "HC": 2.0}
EC_WEIGHT: Final = 2.0


@dataclass(frozen=True, eq=False)
class V1Outcome:
    """Outcomes of plans by NAVSIM v1.1. Every value array is (N,)."""

    scene: Scene
    """Scene of the plans."""
    plans: Floats
    """(N, 8, 3) x forward [m], y left [m], heading [rad] in the ego frame, every 0.5 s."""
    metric: str
    """`labels-v1` or `pdms-v1.1`."""
    lqr: LqrProfile
    """Tracker of the rollouts."""
    nc: Floats
    """No at-fault collision: 0, 0.5, 1."""
    dac: Floats
    """Drivable area compliance: 0, 1."""
    ep: Floats
    """Ego progress: 0..1."""
    ttc: Floats
    """Time to collision within bound: 0, 1."""
    comfort: Floats
    """0, 1."""
    ddc: Floats
    """Driving direction compliance: 0, 0.5, 1; not part of the score."""
    score: Floats
    """PDMS: NC * DAC * (5 EP + 5 TTC + 2 C) / 12."""
    progress: Floats
    """Raw progress along the centreline [m]."""
    reference_progress: float
    """The reference's own progress times its NC * DAC [m]."""
    comfort_checks: NDArray[np.bool_]
    """(N, 6) comfort check by check, in the order of `comfort.CHECKS`."""
    causes: Mapping[str, Cause]
    """By column name: NC, DAC, TTC, C, DDC."""

    def __repr__(self) -> str:
        return f"V1Outcome({self.metric} of {self.scene.token!r}, {_summary(self.score)})"

    @cached_property
    def rollouts(self) -> Floats:
        """(N, 41, 11) simulated states.

        Simulated again on first access, to the same bits: labels are made by the million, and storing a quarter of a
        megabyte with each costs more than these 0.1 ms.
        """
        return roll_out(self.scene, self.plans, self.lqr)

    @property
    def table(self) -> Floats:
        """(N, 7) in the order of `V1_COLUMNS`."""
        return np.stack([self.nc, self.dac, self.ep, self.ttc, self.comfort, self.ddc, self.score], axis=1)


@dataclass(frozen=True, eq=False)
class V2Outcome:
    """Outcomes of plans by NAVSIM v2.2, without extended comfort. Every value array is (N,).

    Sub-scores are after the human filter if it is on; `raw` has them before.
    """

    metric: str
    """`epdms-v2.2` or `epdms-pre151`."""
    lqr: LqrProfile
    """Tracker of the rollouts."""
    traffic: str
    """`replay` or `reactive`."""
    human_filter: bool
    """Whether the human's failures were forgiven; False as well where the scene has no human."""
    nc: Floats
    """No at-fault collision: 0, 0.5, 1."""
    dac: Floats
    """Drivable area compliance: 0, 1."""
    ddc: Floats
    """Driving direction compliance: 0, 0.5, 1."""
    tlc: Floats
    """Traffic light compliance: 0, 1."""
    ep: Floats
    """Ego progress: 0..1."""
    ttc: Floats
    """Time to collision within bound: 0, 1."""
    lk: Floats
    """Lane keeping: 0, 1."""
    hc: Floats
    """History comfort: 0, 1."""
    product: Floats
    """NC * DAC * DDC * TLC as it enters the score."""
    raw: Floats
    """(N, 10) the table before the human filter."""
    human: Floats | None
    """(10,) the human's own row, None where the scene has no human."""
    progress: Floats
    """Raw progress along the centreline [m]."""
    reference_progress: float | Floats
    """The reference's own progress times the product of its multipliers [m]; (N,) in reactive traffic."""
    comfort_checks: NDArray[np.bool_]
    """(N, 6) history comfort check by check, in the order of `comfort.CHECKS`."""
    rollouts: Floats
    """(N, 41, 11) simulated states."""
    causes: Mapping[str, Cause]
    """By column name: NC, DAC, DDC, TLC, TTC, LK, HC; of the unfiltered values."""

    def __repr__(self) -> str:
        return f"V2Outcome({self.metric}, {_summary(self.score)})"

    @property
    def table(self) -> Floats:
        """(N, 10) in the order of `V2_COLUMNS`.

        The last column, `pdm_score`, is what the official script reports under that name: computed before the human
        filter and never updated. Use `score`.
        """
        values = (self.nc, self.dac, self.ddc, self.tlc, self.ep, self.ttc, self.lk, self.hc, self.product)
        return np.stack([*values, self.raw[:, V2_COLUMNS.index("pdm_score")]], axis=1)

    def unfiltered(self) -> V2Outcome:
        """The same outcomes without the human filter."""
        return replace(self, human_filter=False, product=self.raw[:, -2], **sub_scores(self.raw))

    def before_fix(self) -> V2Outcome:
        """The same outcomes as releases before the fix of the human filter reported them (`epdms-pre151`)."""
        return replace(self, metric="epdms-pre151", product=self.raw[:, -2])

    @property
    def score(self) -> Floats:
        """EPDMS of a frame without a predecessor: product * (5 EP + 5 TTC + 2 LK + 2 HC) / 14."""
        return epdms_of_table(self._scored_table)

    def score_with(self, extended_comfort: Floats) -> Floats:
        """EPDMS of a frame with a predecessor: product * (5 EP + 5 TTC + 2 LK + 2 HC + 2 EC) / 16.

        `extended_comfort` (N,) may hold NaN where a plan has no predecessor.
        """
        return epdms_of_table(self._scored_table, extended_comfort)

    @property
    def _scored_table(self) -> Floats:
        return self.table if self.metric != "epdms-pre151" else self.raw


def _summary(score: Floats) -> str:
    if not len(score):
        return "no plans"
    return f"{len(score)} plans, score {score.min():.3f} to {score.max():.3f}, mean {score.mean():.3f}"


def epdms_of_table(table: Floats, extended_comfort: Floats | None = None) -> Floats:
    """EPDMS (...) of rows (..., 10) with the columns `V2_COLUMNS`; extended comfort (...) may hold NaN, for none."""
    total = np.zeros(table.shape[:-1])
    for name, weight in V2_WEIGHTS.items():
        total += weight * table[..., V2_COLUMNS.index(name)]
    whole = sum(V2_WEIGHTS.values())
    product = table[..., V2_COLUMNS.index("product")]
    alone = np.asarray(product * total / whole)
    if extended_comfort is None:
        return alone
    paired = product * (total + EC_WEIGHT * np.nan_to_num(extended_comfort)) / (whole + EC_WEIGHT)
    return np.where(np.isnan(extended_comfort), alone, paired)


def sub_scores(table: Floats) -> dict[str, Any]:
    """Sub-scores of a v2 table (N, 10) by field name."""
    return {name: table[:, column] for column, name in enumerate(V2_FIELDS)}
