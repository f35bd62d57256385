"""Verbs of `w4s study` that ask what targets, states and predicted futures hold (docs/representations.md).

w4s study state-geometry runs/city
w4s study counterfactual runs/city --seeds 3 4
"""

from __future__ import annotations

from typing import Annotated

import tyro

from world4scorer.cli.arguments import MaybeEncoder, Run
from world4scorer.cli.learn import needs_torch
from world4scorer.cli.save_finding import keep
from world4scorer.studies.shared.options import (
    AS_READ,
    BRANCHED,
    FEW_MINUTES,
    OF_A_RUN,
    READOUT_STEPS,
    BranchOptions,
    ReadoutOptions,
    RunOptions,
    StabilityOptions,
)

OfRun = Annotated[RunOptions, tyro.conf.arg(name="")]
Branched = Annotated[BranchOptions, tyro.conf.arg(name="")]
Stability = Annotated[StabilityOptions, tyro.conf.arg(name="")]
Readout = Annotated[ReadoutOptions, tyro.conf.arg(name="")]


def target_geometry(run: Run, /, encoder: MaybeEncoder = None, seed: int = 0, options: OfRun = OF_A_RUN) -> int:
    """How alike a view and its future are (C.1).

    Beside futures of other scenes and logs, as the frozen encoder sees them.

    Example: w4s study target-geometry runs/city

    Args:
        run: Folder of a training run; features that are missing go to RUN/features.
        encoder: What sees the views, if not the encoder of the run's own targets: `city`, a folder or a file.
        seed: Draws the pairs.
        options: Where, and how intervals are made.
    """
    needs_torch("w4s study target-geometry")
    from world4scorer.studies.target_geometry.study import target_geometry as study

    finding = study(run, encoder, seed, options.draws)
    return keep(target_geometry, finding, run, options.out, encoder=encoder, seed=seed, options=options)


def state_geometry(
    run: Run,
    /,
    logs: int = 16,
    scenes_per_log: int = 8,
    plans: int = 64,
    seed: int = 0,
    options: OfRun = OF_A_RUN,
) -> int:
    """Whether nearby states share their outcome (C.3).

    States of bank plans, beside the plans themselves and a planner before training.

    Example: w4s study state-geometry runs/city

    Args:
        run: Folder of a finished training run with a bank.
        logs: Drawn from the training split.
        scenes_per_log: Drawn from each of them.
        plans: Bank plans of each scene; scenes with fewer are not drawn.
        seed: Draws logs, scenes and plans, and shuffles labels.
        options: Where, and how intervals are made.
    """
    needs_torch("w4s study state-geometry")
    from world4scorer.studies.shared.bank_states import Drawing
    from world4scorer.studies.state_geometry.study import state_geometry as study

    given = {"logs": logs, "scenes_per_log": scenes_per_log, "plans": plans, "seed": seed}
    finding = study(run, Drawing(**given), options.draws)
    return keep(state_geometry, finding, run, options.out, **given, options=options)


def counterfactual(run: Run, /, options: Branched = BRANCHED) -> int:
    """Predicted futures of plans that nobody drove, against true ones.

    Drives them in the embedded city; trains what is missing of the planners that are compared.

    Example: w4s study counterfactual runs/city --seeds 3 4

    Args:
        run: Folder of a finished training run in a city of `w4s city make`; branches go to RUN/branches.
        options: How many scenes and plans are branched, how variants are trained, where.
    """
    needs_torch("w4s study counterfactual")
    from world4scorer.studies.counterfactual.study import counterfactual as study

    return keep(counterfactual, study(run, options), run, options.out, options=options)


def stability(run: Run, /, options: Stability = FEW_MINUTES) -> int:
    """How firmly supervision holds choices (Proposition 1, C.4).

    Radii of comparisons, held by outcome labels alone and by futures too. Stopped, it goes on with the next scenes.

    Example: w4s study stability runs/city

    Args:
        run: Folder of a finished training run, whose pools are made if they are missing.
        options: How much is measured.
    """
    needs_torch("w4s study stability")
    from world4scorer.evaluation.scores.finding import STUDIES
    from world4scorer.studies.stability.study import stability as study

    finding = study(run, options, run / STUDIES if options.out is None else options.out)
    return keep(stability, finding, run, options.out, options=options)


def readouts(run: Run, /, options: Readout = AS_READ) -> int:
    """Predicted features as images, and what they add (C, Fig. 4).

    Trains what is missing of three networks, with the planner frozen; they are kept in RUN/readouts.

    Example: w4s study readouts runs/city

    Args:
        run: Folder of a finished training run that predicts future features.
        options: How networks are trained, and what is looked at.
    """
    needs_torch("w4s study readouts")
    from world4scorer.studies.readout_networks.config import ReadoutConfig
    from world4scorer.studies.readouts.study import readouts as study

    steps = {name: value for name in READOUT_STEPS if (value := getattr(options, name)) is not None}
    config = ReadoutConfig(pairs=options.pairs, seed=options.seed, **steps)
    finding = study(
        run, config, options.scenes, options.encoder, options.decoder, options.masks, options.draws, options.threads
    )
    return keep(readouts, finding, run, options.out, options=options)
