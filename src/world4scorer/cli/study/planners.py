"""Studies of a trained planner: its targets, states, predictions. Each imports what it needs when it runs."""

from __future__ import annotations

from world4scorer.cli.arguments import OptionalEncoder, Run
from world4scorer.cli.data import prepare_missing_store
from world4scorer.cli.exit_codes import require_torch
from world4scorer.cli.study.results import (
    BranchFlags,
    ReadoutFlags,
    RunFlags,
    StabilityFlags,
    finding_folder,
    save_finding,
)
from world4scorer.jobs.run_folder import Weights
from world4scorer.studies.shared.options import (
    DEFAULT_BRANCH_OPTIONS,
    DEFAULT_READOUT_OPTIONS,
    DEFAULT_RUN_OPTIONS,
    DEFAULT_STABILITY_OPTIONS,
)


def target_geometry(
    run: Run, /, encoder: OptionalEncoder = None, seed: int = 0, options: RunFlags = DEFAULT_RUN_OPTIONS
) -> int:
    """Similarity of a view and its future (C.1).

    Compared with futures of other scenes and logs, in features of the frozen encoder.

    Example: w4s study target-geometry runs/city

    Args:
        run: Folder of a training run; features that are missing go to RUN/features.
        encoder: Encoder of the views, if not that of the run's own targets: `city`, a folder or a file.
        seed: Seed of the pairs.
        options: Output, scene store and bootstrap.
    """
    require_torch("w4s study target-geometry")
    from world4scorer.studies.target_geometry.study import target_geometry as study

    prepare_missing_store(run, options.split)
    finding = study(run, encoder, seed, options.draws, options.split)
    return save_finding(target_geometry, finding, run, options.out, encoder=encoder, seed=seed, options=options)


def state_geometry(
    run: Run,
    /,
    logs: int = 16,
    scenes_per_log: int = 8,
    plans: int = 64,
    seed: int = 0,
    weights: Weights = "best",
    options: RunFlags = DEFAULT_RUN_OPTIONS,
) -> int:
    """Whether nearby states share their outcome (C.3).

    States of bank plans, compared with the plans themselves and a planner before training.

    Example: w4s study state-geometry runs/city

    Args:
        run: Folder of a finished training run with a bank.
        logs: Number of logs of the training split.
        scenes_per_log: Number of scenes of each log.
        plans: Bank plans of each scene; scenes with fewer are left out.
        seed: Seed of logs, scenes, plans and shuffled labels.
        weights: Planner of the run: the one with the best validation score, or the last.
        options: Output, scene store and bootstrap.
    """
    require_torch("w4s study state-geometry")
    from world4scorer.studies.shared.bank_states import Drawing
    from world4scorer.studies.state_geometry.study import state_geometry as study

    given = {"logs": logs, "scenes_per_log": scenes_per_log, "plans": plans, "seed": seed}
    prepare_missing_store(run, options.split)
    finding = study(run, Drawing(**given), options.draws, options.split, weights)
    return save_finding(state_geometry, finding, run, options.out, **given, weights=weights, options=options)


def stability(run: Run, /, options: StabilityFlags = DEFAULT_STABILITY_OPTIONS) -> int:
    """Stability of choices under supervision (Proposition 1, C.4).

    Radii of comparisons, with outcome labels alone and with futures too. Interrupted, it resumes with the next scenes.

    Example: w4s study stability runs/city

    Args:
        run: Folder of a finished training run, whose pools are made if they are missing.
        options: How much is measured.
    """
    require_torch("w4s study stability")
    from world4scorer.studies.stability.study import stability as study

    prepare_missing_store(run, options.split)
    finding = study(run, options, finding_folder(run, options) if options.out is None else options.out)
    return save_finding(stability, finding, run, options.out, options=options)


def readouts(run: Run, /, options: ReadoutFlags = DEFAULT_READOUT_OPTIONS) -> int:
    """Predicted features as images, and what they add (C, Fig. 4).

    Trains missing ones of three networks, with the planner frozen; saved in RUN/readouts.

    Example: w4s study readouts runs/city

    Args:
        run: Folder of a finished training run that predicts future features.
        options: Training of the networks, and what is measured.
    """
    require_torch("w4s study readouts")
    from world4scorer.studies.readout_networks.config import ReadoutConfig
    from world4scorer.studies.readouts.study import readouts as study

    prepare_missing_store(run, options.split)
    finding = study(
        run,
        ReadoutConfig.of_options(options),
        options.scenes,
        options.encoder,
        options.decoder,
        options.masks,
        options.draws,
        options.threads,
        options.split,
        options.weights,
    )
    return save_finding(readouts, finding, run, options.out, options=options)


def counterfactual(run: Run, /, options: BranchFlags = DEFAULT_BRANCH_OPTIONS) -> int:
    """Predicted futures of unexecuted plans against simulated ones.

    Drives them in the embedded city; trains missing ones of the compared planners.

    Example: w4s study counterfactual runs/city --seeds 3 4

    Args:
        run: Folder of a finished training run in a city of `w4s city make`; branches go to RUN/branches.
        options: How many scenes and plans are branched, how variants are trained, where.
    """
    require_torch("w4s study counterfactual")
    from world4scorer.studies.counterfactual.study import counterfactual as study

    prepare_missing_store(run, options.split)
    return save_finding(counterfactual, study(run, options), run, options.out, options=options)
