"""What each part of the method brings: trainings that leave out one of them, or add one, against the run itself.

Left out: the candidate bank, plan sampling (our extension), the images. Added: points of the route that plans are read
along, and a forecast of others from two frames. What the run does not have, or has already, is not asked about.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from world4scorer.drawing.finding import Finding
from world4scorer.evaluation.scores.bootstrap import verdict
from world4scorer.planner.model.config import EGO_CHOICES
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
LEFT_OUT: Final = {"no-bank": "the bank", "no-plan-sampling": "plan sampling", "no-images": "images"}
"""What a variant leaves out."""
ADDED: Final = {"with-route": "the route", "with-forecast": "the forecast"}
"""What a variant adds."""
MEASURES: Final = (PDMS, EPDMS, RERANKED, ORDERING, BEST)


def _without_bank(config: TrainConfig) -> TrainConfig:
    return replace(config, losses=replace(config.losses, bank=0.0, coverage=0.0))


def _without_plan_sampling(config: TrainConfig) -> TrainConfig:
    return replace(config, model=replace(config.model, plan_sampling=False, sampling_fine=0))


def _without_images(config: TrainConfig) -> TrainConfig:
    return replace(config, model=replace(config.model, images=False, vocabulary=0), auxiliary_target="none")


def _with_route(config: TrainConfig) -> TrainConfig:
    return replace(config, model=replace(config.model, ego_numbers=EGO_CHOICES[-1], route_reading=True))


def _with_forecast(config: TrainConfig, encoder: Path | None) -> TrainConfig:
    if encoder is None:
        raise ValueError("which: forecast needs --forecast-encoder, made by `w4s pretrain --recipe forecast`")
    return replace(config, model=replace(config.model, forecast=True), vit_weights=str(encoder))


PARTS: Final = {
    "bank": Variant("no-bank", _without_bank),
    "plan-sampling": Variant("no-plan-sampling", _without_plan_sampling),
    "images": Variant("no-images", _without_images),
    "route": Variant("with-route", _with_route),
}
FORECAST: Final = "forecast"
"""The part that needs an encoder of its own."""


def parts(
    run: Path,
    which: Sequence[str],
    training: TrainingOptions = DEFAULT_TRAINING_OPTIONS,
    forecast_encoder: Path | None = None,
) -> Finding:
    """Train what is missing of the whole and of the variants that differ in a part, and compare them."""
    known = {**PARTS, FORECAST: Variant("with-forecast", lambda config: _with_forecast(config, forecast_encoder))}
    unknown = sorted(set(which) - set(known))
    if unknown:
        raise ValueError(f"which: {unknown[0]!r} is no part; there are {', '.join(known)}")
    own, _ = read_run(run)
    asked = [variant for name, variant in known.items() if name in which and variant.change(own) != own]
    if not asked:
        raise ValueError(f"{run}: none of these parts can be left out or added: {', '.join(which)}")
    variants = [Variant(WHOLE, lambda config: config), *asked]
    return describe(score_variants(train_variants(run, NAME, variants, training), training))


def describe(scores: VariantScores) -> Finding:
    """The finding on the whole method and on variants of it that differ in a part."""
    changed = [variant for variant in scores.measures if variant != WHOLE]
    return Finding(
        name=NAME,
        title="The parts of the method",
        question=f"How do choices change {', '.join(map(_phrase, changed))}?",
        data=scores.data,
        weights="",
        numbers=scores.numbers(MEASURES, WHOLE),
        tables=report.tables(scores, MEASURES, WHOLE),
        remarks=(*(_remark(scores, variant) for variant in changed), report.seeds_remark(scores)),
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
    change = f"Leaving out {LEFT_OUT[variant]}" if variant in LEFT_OUT else f"Adding {ADDED[variant]}"
    return f"{change} {verdict(score)} selected PDMS ({score.text(1, signed=True)})."


def _phrase(variant: str) -> str:
    return f"without {LEFT_OUT[variant]}" if variant in LEFT_OUT else f"with {ADDED[variant]}"
