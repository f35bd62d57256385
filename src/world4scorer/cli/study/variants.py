"""Studies that train variants of a run. Each imports what it needs when it runs."""

from __future__ import annotations

from typing import Literal

from world4scorer.cli.arguments import OptionalPath, Run
from world4scorer.cli.data import prepare_missing_store
from world4scorer.cli.exit_codes import require_torch
from world4scorer.cli.study.results import TrainingFlags, save_finding
from world4scorer.studies.shared.options import DEFAULT_LABEL_PAIRING_OPTIONS, DEFAULT_TRAINING_OPTIONS


def auxiliary_target(run: Run, /, training: TrainingFlags = DEFAULT_TRAINING_OPTIONS) -> int:
    """No, current or future view as auxiliary target (Table 2a).

    Trains missing ones of the three.

    Example: w4s study auxiliary-target runs/city

    Args:
        run: Folder of a finished training run; variants go to RUN/variants.
        training: How the variants are trained.
    """
    require_torch("w4s study auxiliary-target")
    from world4scorer.studies.auxiliary_target.study import auxiliary_target as study

    prepare_missing_store(run, training.split)
    return save_finding(auxiliary_target, study(run, training), run, training.out, training=training)


def label_pairing(run: Run, /, eval_scenes: int = 511, training: TrainingFlags = DEFAULT_LABEL_PAIRING_OPTIONS) -> int:
    """Outcome labels paired with their plans, or shuffled (Table 2b).

    Trains missing ones of the three. All score one common pool, that of the training with paired labels.

    Example: w4s study label-pairing runs/city --seeds 3 4

    Args:
        run: Folder of a finished training run; variants go to RUN/variants.
        eval_scenes: Maximum number of held-out scenes on the common pool, drawn by seed.
        training: How the variants are trained; few scenes and many epochs, as in the paper.
    """
    require_torch("w4s study label-pairing")
    from world4scorer.studies.label_pairing.study import label_pairing as study

    prepare_missing_store(run, training.split)
    finding = study(run, training, eval_scenes)
    return save_finding(label_pairing, finding, run, training.out, eval_scenes=eval_scenes, training=training)


def coverage(run: Run, /, training: TrainingFlags = DEFAULT_TRAINING_OPTIONS) -> int:
    """A generator that also covers good bank plans (E.3).

    And re-ranking with several weights on its pools.

    Example: w4s study coverage runs/city

    Args:
        run: Folder of a finished training run; the variant goes to RUN/variants.
        training: How the variant is trained.
    """
    require_torch("w4s study coverage")
    from world4scorer.studies.coverage.study import coverage as study

    prepare_missing_store(run, training.split)
    return save_finding(coverage, study(run, training), run, training.out, training=training)


def parts(
    run: Run,
    /,
    which: tuple[Literal["bank", "plan-sampling", "images", "route", "forecast"], ...] = (
        "bank",
        "plan-sampling",
        "images",
    ),
    forecast_encoder: OptionalPath = None,
    training: TrainingFlags = DEFAULT_TRAINING_OPTIONS,
) -> int:
    """The method without its bank, plan sampling, or images; or with the route, or a forecast.

    Trains what is missing.

    Example: w4s study parts runs/city --which bank plan-sampling route

    Args:
        run: Folder of a finished training run; variants go to RUN/variants.
        which: Parts to leave out (bank, plan-sampling, images) or to add (route, forecast), one at a time.
        forecast_encoder: Encoder with a forecast, of `w4s pretrain --recipe forecast`.
        training: How the variants are trained.
    """
    require_torch("w4s study parts")
    from world4scorer.studies.parts.study import parts as study

    prepare_missing_store(run, training.split)
    finding = study(run, which, training, forecast_encoder)
    return save_finding(
        parts, finding, run, training.out, which=which, forecast_encoder=forecast_encoder, training=training
    )
