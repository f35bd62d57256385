"""Are the predicted outcomes calibrated, and would a temperature for each head help to choose?

Every plan of every frame counts. With pools of the training streets beside, the gap between known and new streets is
visible.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from world4scorer.drawing.finding import Finding
from world4scorer.evaluation.pools.scored import ScoredPools
from world4scorer.evaluation.scores.bootstrap import LogBootstrap, plain
from world4scorer.studies.calibration.figure import draw
from world4scorer.studies.calibration.heads import PROGRESS, heads_of
from world4scorer.studies.calibration.measures import BINS, Bin, HeadMeasures, measure
from world4scorer.studies.calibration.selection import Change, Scaled, scale
from world4scorer.studies.calibration.tables import (
    WORDS,
    ece_table,
    gap_table,
    head_table,
    remarks,
    scaling_table,
    selection_table,
)
from world4scorer.studies.calibration.temperature import half_of_frames


def calibration(
    pools: ScoredPools,
    against: ScoredPools | None = None,
    seed: int = 0,
    draws: int = 10_000,
    min_gap: float = 0.0,
) -> Finding:
    """Measure every head, on other pools too if given, and scale them by temperatures of other logs.

    Pairs of plans count for the ordering if their PDMS differ by more than `min_gap`.
    """
    heads, bootstrap = heads_of(pools), LogBootstrap(pools.log_names, draws)
    found = {name: measure(bootstrap, head) for name, head in heads.items()}
    there = None if against is None else _measured(against, draws)
    names = _names(pools, against)
    half = half_of_frames(pools.log_names, seed)
    kinds = {kind: scale(bootstrap, pools, heads, half, kind == "temperature_and_bias", min_gap) for kind in WORDS}
    tables = [head_table(found, names[0])]
    if there is not None:
        tables += [head_table(there, names[1]), gap_table(found, there, names)]
    tables += [scaling_table(kinds), ece_table(kinds), selection_table(kinds)]
    return Finding(
        name="calibration",
        title="Calibration",
        question="Are the predicted outcomes calibrated, and would a temperature for each head help to choose?",
        data=pools.describe() + ("" if against is None else f" Against: {against.describe()}"),
        weights=pools.weights,
        numbers={
            "bins": BINS,
            "seed": seed,
            "min_gap": min_gap,
            "heads": _numbers(found),
            "against": None if there is None else _numbers(there),
            "scaled": {kind: _scaled_numbers(one) for kind, one in kinds.items()},
        },
        tables=tuple(tables),
        remarks=remarks(kinds, against is None or against.weights == pools.weights),
        figure=draw(found, kinds["temperature"].bins, there, names),
    )


def _measured(pools: ScoredPools, draws: int) -> dict[str, HeadMeasures]:
    bootstrap = LogBootstrap(pools.log_names, draws)
    return {name: measure(bootstrap, head) for name, head in heads_of(pools).items()}


def _names(pools: ScoredPools, against: ScoredPools | None) -> tuple[str, str]:
    """What the two sets of pools are called: their splits, if these differ."""
    first = str(pools.about.get("split") or "these pools")
    second = "" if against is None else str(against.about.get("split") or "other pools")
    return (first, second) if first != second else (first, f"{second} (against)")


def _numbers(found: Mapping[str, HeadMeasures]) -> dict[str, Any]:
    return {name: _head_numbers(name, head) for name, head in found.items()}


def _head_numbers(name: str, head: HeadMeasures) -> dict[str, Any]:
    ranking = "correlation" if name == PROGRESS else "auc"
    return {
        "plans": head.plans,
        **{key: plain(getattr(head, key)) for key in ("prediction", "outcome", "excess", "ece", "brier", "log_loss")},
        ranking: plain(head.ranking),
        f"{ranking}_within_frames": plain(head.ranking_within),
        "bins": [_bin_numbers(one) for one in head.bins],
    }


def _bin_numbers(one: Bin) -> dict[str, Any]:
    return {"plans": one.plans, "prediction": one.prediction, "outcome": plain(one.outcome)}


def _scaled_numbers(one: Scaled) -> dict[str, Any]:
    return {
        "scalings": {name: [scaling._asdict() for scaling in both] for name, both in one.scalings.items()},
        "heads": {name: _plain_changes(changes) for name, changes in one.heads.items()},
        "selection": _plain_changes(one.selection),
        "changed_choices": one.changed,
    }


def _plain_changes(changes: Mapping[str, Change]) -> dict[str, Any]:
    return {name: {part: plain(value) for part, value in one._asdict().items()} for name, one in changes.items()}
