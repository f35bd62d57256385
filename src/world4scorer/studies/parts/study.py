"""What each part of the method brings: trainings that leave out one of them, against the run itself.

Parts: the candidate bank, plan sampling (our extension), the images. A part that the run does not have is not asked
about.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from world4scorer.drawing.finding import Finding
from world4scorer.evaluation.scores.bootstrap import verdict
from world4scorer.planner.training.config import TrainConfig
from world4scorer.planner.training.run_files import read_run
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

NAME: Final = "parts"
WHOLE: Final = "whole"
PART_NAMES: Final = {"no-bank": "the bank", "no-plan-sampling": "plan sampling", "no-images": "images"}
"""What each variant leaves out."""
MEASURES: Final = (PDMS, EPDMS, RERANKED, ORDERING, BEST)


def _without_bank(config: TrainConfig) -> TrainConfig:
    return replace(config, losses=replace(config.losses, bank=0.0, coverage=0.0))


def _without_plan_sampling(config: TrainConfig) -> TrainConfig:
    return replace(config, model=replace(config.model, plan_sampling=False, sampling_fine=0))


def _without_images(config: TrainConfig) -> TrainConfig:
    return replace(config, model=replace(config.model, images=False, vocabulary=0), auxiliary_target="none")


PARTS: Final = {
    "bank": Variant("no-bank", _without_bank),
    "plan-sampling": Variant("no-plan-sampling", _without_plan_sampling),
    "images": Variant("no-images", _without_images),
}


def parts(
    run: Path, which: Sequence[str] = tuple(PARTS), training: TrainingOptions = DEFAULT_TRAINING_OPTIONS
) -> Finding:
    """Train what is missing of the whole and of the variants without each part, and compare them."""
    unknown = sorted(set(which) - set(PARTS))
    if unknown:
        raise ValueError(f"which: {unknown[0]!r} is no part; there are {', '.join(PARTS)}")
    own, _ = read_run(run)
    asked = [PARTS[name] for name in PARTS if name in which and PARTS[name].change(own) != own]
    if not asked:
        raise ValueError(f"{run}: has none of these parts: {', '.join(which)}")
    variants = [Variant(WHOLE, lambda config: config), *asked]
    return describe(score_variants(train_variants(run, NAME, variants, training), training))


def describe(scores: VariantScores) -> Finding:
    """The finding on the whole method and on what is left of it without a part."""
    without = [variant for variant in scores.measures if variant != WHOLE]
    return Finding(
        name=NAME,
        title="The parts of the method",
        question=f"What is lost without {', without '.join(PART_NAMES[variant] for variant in without)}?",
        data=scores.data,
        weights="",
        numbers=scores.numbers(MEASURES, WHOLE),
        tables=report.tables(scores, MEASURES, WHOLE),
        remarks=(*(_remark(scores, variant) for variant in without), report.seeds_remark(scores)),
        figure=report.figure(
            scores,
            (PDMS,),
            (PDMS, EPDMS, RERANKED, ORDERING),
            WHOLE,
            labels={variant: variant.replace("-", " ") for variant in scores.measures},
        ),
    )


def _remark(scores: VariantScores, variant: str) -> str:
    score = scores.change(variant, PDMS, WHOLE).times(100)
    return f"Leaving out {PART_NAMES[variant]} {verdict(score)} selected PDMS ({score.text(1, signed=True)})."
