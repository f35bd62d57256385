"""Auxiliary target of the executed plan's state: none, the current view, or the view two seconds later (Table 2a).

The three trainings share everything else. Compared is their last epoch.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Final

from world4scorer.drawing.finding import Finding
from world4scorer.evaluation.scores.bootstrap import verdict
from world4scorer.evaluation.scores.paper import paper
from world4scorer.studies.shared import variant_report as report
from world4scorer.studies.shared.options import DEFAULT_TRAINING_OPTIONS, TrainingOptions
from world4scorer.studies.shared.variant_scores import (
    BEST,
    EPDMS,
    ORDERING,
    PDMS,
    RERANKED,
    VariantScores,
    score_variants,
)
from world4scorer.studies.shared.variants import Variant, train_variants

NAME: Final = "auxiliary-target"
NONE: Final = "none"
TARGETS: Final = (
    Variant(NONE, lambda config: replace(config, auxiliary_target="none")),
    Variant("current", lambda config: replace(config, auxiliary_target="current")),
    Variant("future", lambda config: replace(config, auxiliary_target="future")),
)
MEASURES: Final = (PDMS, EPDMS, RERANKED, ORDERING, BEST)
LABELS: Final = {NONE: "no target", "current": "current view", "future": "future view"}


def auxiliary_target(run: Path, training: TrainingOptions = DEFAULT_TRAINING_OPTIONS) -> Finding:
    """Train what is missing of the three, and compare them."""
    return describe(score_variants(train_variants(run, NAME, TARGETS, training), training))


def describe(scores: VariantScores) -> Finding:
    """The finding on trainings with and without targets."""
    reported = paper("auxiliary_target_pdms")
    beside = {variant: {PDMS: value} for variant, value in reported.items()}
    future, current = (_moved(scores, variant, reported) for variant in ("future", "current"))
    return Finding(
        name=NAME,
        title="The auxiliary target",
        question="Does a planner choose better if the executed plan's state must predict the next view?",
        data=scores.data,
        weights="",
        numbers=scores.numbers(MEASURES, NONE),
        tables=report.tables(scores, MEASURES, NONE, beside),
        remarks=(
            f"Selected PDMS, against no target: predicting the future view {future}, predicting the current view, a "
            f"control, {current}.",
            report.seeds_remark(scores),
        ),
        paper=reported,
        figure=report.figure(scores, (PDMS,), (PDMS, EPDMS, RERANKED, ORDERING), NONE, beside, LABELS),
    )


def _moved(scores: VariantScores, variant: str, reported: Mapping[str, float]) -> str:
    change = scores.change(variant, PDMS, NONE)
    return (
        f"{verdict(change)} it"
        f" ({change.times(100).text(2, signed=True)}; paper {reported[variant] - reported[NONE]:+.2f})"
    )
