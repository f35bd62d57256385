"""The subcommands of `w4s study`. Each imports what it needs when it runs.

w4s study reranking runs/city
w4s study interventions pools --out findings
w4s study label-pairing runs/city --seeds 3 4
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import is_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal

from world4scorer.cli.arguments import (
    OptionalEncoder,
    OptionalFolder,
    OptionalPath,
    OptionalSplit,
    Run,
    RunOrPools,
    flags,
    metavar,
)
from world4scorer.cli.command_line import command_line
from world4scorer.cli.data import prepare_missing_store
from world4scorer.cli.exit_codes import require_torch
from world4scorer.jobs.run_folder import RunFolder, Weights
from world4scorer.studies.registry import STUDIES
from world4scorer.studies.shared.options import (
    DEFAULT_BRANCH_OPTIONS,
    DEFAULT_INTERVENTION_OPTIONS,
    DEFAULT_LABEL_PAIRING_OPTIONS,
    DEFAULT_READOUT_OPTIONS,
    DEFAULT_RUN_OPTIONS,
    DEFAULT_STABILITY_OPTIONS,
    DEFAULT_STUDY_OPTIONS,
    DEFAULT_TRAINING_OPTIONS,
    BranchOptions,
    ReadoutOptions,
    RunOptions,
    StabilityOptions,
    StudyOptions,
    TrainingOptions,
)

if TYPE_CHECKING:
    from world4scorer.drawing.finding import Finding
    from world4scorer.evaluation.pools.scored import ScoredPools

Labelled = Annotated[tuple[str, ...], metavar("[LABEL=]FOLDER [...]")]
StudyFlags = Annotated[StudyOptions, flags(StudyOptions, split=OptionalSplit)]
RunFlags = Annotated[RunOptions, flags(RunOptions, split=OptionalSplit)]
BranchFlags = Annotated[BranchOptions, flags(BranchOptions, split=OptionalSplit)]
StabilityFlags = Annotated[StabilityOptions, flags(StabilityOptions, split=OptionalSplit)]
ReadoutFlags = Annotated[ReadoutOptions, flags(ReadoutOptions, decoder=OptionalPath, split=OptionalSplit)]
TrainingFlags = Annotated[TrainingOptions, flags(TrainingOptions, split=OptionalSplit)]


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


def reranking(source: RunOrPools, /, weight: float = 1.0, options: StudyFlags = DEFAULT_STUDY_OPTIONS) -> int:
    """Inertial re-ranking off and on (Table 2c).

    Extended comfort, progress, EPDMS.

    Example: w4s study reranking runs/city

    Args:
        source: Folder of a training run, whose pools are made if they are missing, or a folder of pools.
        weight: How much consistency with the last choice counts; 0 turns re-ranking off.
        options: Output, scene store and bootstrap.
    """
    from world4scorer.studies.reranking.study import reranking as study

    finding = study(_open(source, options), weight, options.draws)
    return save_finding(reranking, finding, source, options.out, weight=weight, options=options)


def interventions(
    source: RunOrPools,
    /,
    foreign: Labelled = (),
    baseline: Labelled = (),
    repeats: int = 100,
    first_seed: int = 20260909,
    min_gap: float = 0.0,
    options: StudyFlags = DEFAULT_INTERVENTION_OPTIONS,
) -> int:
    """Choices with own, deranged and mean states (Table 4, D.1).

    Example: w4s study interventions runs/city

    Args:
        source: Folder of a training run, whose pools are made if they are missing, or a folder of pools.
        foreign: More pools, of other planners' plans scored by this one (`w4s pools RUN --plans`).
        baseline: Runs or pools of other planners, for example of one that predicts no future.
        repeats: Number of derangements.
        first_seed: Seed of the first derangement; each takes the next.
        min_gap: Pairs of plans count for ordering accuracy if their PDMS differ by more; results at 0.05 stand beside.
        options: Output, scene store and bootstrap.
    """
    from world4scorer.datasets.store import SceneStore
    from world4scorer.studies.interventions.study import interventions as study
    from world4scorer.studies.interventions.study import open_blocks

    prepare_missing_store(source, options.split)
    blocks = open_blocks(source, foreign, baseline, options.store, options.split, options.weights)
    store = SceneStore(blocks[0].pools.about["store"])
    finding = study(blocks, options.draws, repeats, first_seed, store, min_gap)
    given = {"foreign": foreign, "baseline": baseline, "repeats": repeats, "first_seed": first_seed}
    given["min_gap"] = min_gap
    return save_finding(interventions, finding, source, options.out, **given, options=options)


def disagreement(
    source: RunOrPools,
    /,
    population: Literal["all", "paired"] = "all",
    options: StudyFlags = DEFAULT_STUDY_OPTIONS,
) -> int:
    """Where v1 and v2 as objectives choose different plans (B.2).

    And why.

    Example: w4s study disagreement runs/city

    Args:
        source: Folder of a training run, whose pools are made if they are missing, or a folder of pools.
        population: All frames, those without a frame before being judged without extended comfort; or only frames with
            one before.
        options: Output, scene store and bootstrap.
    """
    _require_torch_of_a_run("w4s study disagreement", source)
    from world4scorer.studies.disagreement.study import disagreement as study
    from world4scorer.studies.shared.scene_change import scene_change

    pools = _open(source, options)
    finding = study(pools, scene_change(source, pools, options.split), options.draws, population)
    return save_finding(disagreement, finding, source, options.out, population=population, options=options)


def calibration(
    source: RunOrPools,
    /,
    against: OptionalFolder = None,
    seed: int = 0,
    options: StudyFlags = DEFAULT_STUDY_OPTIONS,
) -> int:
    """Calibration of the score heads, and temperatures.

    Whether predicted outcomes come true as often as predicted, and whether temperatures fitted on other logs help to
    choose.

    Example: w4s study calibration runs/city --against train_pools

    Args:
        source: Folder of a training run, whose pools are made if they are missing, or a folder of pools.
        against: Pools to compare with, for example of the training streets (`w4s pools RUN --split`).
        seed: Seed of the halves of the logs.
        options: Output, scene store and bootstrap.
    """
    from world4scorer.evaluation.pools.open import open_pools
    from world4scorer.studies.calibration.study import calibration as study

    others = None if against is None else open_pools(against, options.store, weights=options.weights)
    finding = study(_open(source, options), others, seed, options.draws)
    return save_finding(calibration, finding, source, options.out, against=against, seed=seed, options=options)


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
    finding = study(run, options, _folder(run, options) if options.out is None else options.out)
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


def taxonomy(
    source: RunOrPools, /, near_tie: float = 4.1e-5, weight: float = 1.0, options: StudyFlags = DEFAULT_STUDY_OPTIONS
) -> int:
    """Why consecutive choices fail extended comfort (E.1).

    And which failures re-ranking repairs.

    Example: w4s study taxonomy runs/city

    Args:
        source: Folder of a training run, whose pools are made if they are missing, or a folder of pools.
        near_tie: Utilities that differ by less count as equal.
        weight: How much consistency with the last choice counts; 0 turns re-ranking off.
        options: Output, scene store and bootstrap.
    """
    _require_torch_of_a_run("w4s study taxonomy", source)
    from world4scorer.studies.shared.scene_change import scene_change
    from world4scorer.studies.taxonomy.study import taxonomy as study

    pools = _open(source, options)
    finding = study(pools, near_tie, weight, options.draws, scene_change(source, pools, options.split))
    return save_finding(taxonomy, finding, source, options.out, near_tie=near_tie, weight=weight, options=options)


def consecutive(source: RunOrPools, /, weight: float = 1.0, options: StudyFlags = DEFAULT_STUDY_OPTIONS) -> int:
    """Differences of consecutive plans with re-ranking (E.2).

    Example: w4s study consecutive runs/city

    Args:
        source: Folder of a training run, whose pools are made if they are missing, or a folder of pools.
        weight: How much consistency with the last choice counts; 0 turns re-ranking off.
        options: Output, scene store and bootstrap.
    """
    from world4scorer.datasets.store import SceneStore
    from world4scorer.studies.consecutive.study import consecutive as study

    pools = _open(source, options)
    finding = study(pools, weight, options.draws, SceneStore(pools.about["store"]))
    return save_finding(consecutive, finding, source, options.out, weight=weight, options=options)


def lambda_weight(
    source: RunOrPools,
    /,
    lambdas: tuple[float, ...] = (0.25, 0.5, 1.0, 2.0),
    options: StudyFlags = DEFAULT_STUDY_OPTIONS,
) -> int:
    """Effect of the weight of re-ranking (E.3).

    Example: w4s study lambda runs/city

    Args:
        source: Folder of a training run, whose pools are made if they are missing, or a folder of pools.
        lambdas: Weights to re-rank with; framewise choices are always there.
        options: Output, scene store and bootstrap.
    """
    from world4scorer.studies.lambda_weight.study import lambda_weight as study

    finding = study(_open(source, options), lambdas, options.draws)
    return save_finding(lambda_weight, finding, source, options.out, lambdas=lambdas, options=options)


def history(
    source: RunOrPools, /, weight: float = 1.0, seed: int = 0, options: StudyFlags = DEFAULT_STUDY_OPTIONS
) -> int:
    """Whether re-ranking needs the executed plan (E.4).

    Or whether a wrong, old or copied history works as well.

    Example: w4s study history runs/city

    Args:
        source: Folder of a training run, whose pools are made if they are missing, or a folder of pools.
        weight: How much consistency with the last choice counts; 0 turns re-ranking off.
        seed: Seed of the plans of other logs.
        options: Output, scene store and bootstrap.
    """
    from world4scorer.studies.history.study import history as study

    finding = study(_open(source, options), weight, seed, options.draws)
    return save_finding(history, finding, source, options.out, weight=weight, seed=seed, options=options)


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
    which: tuple[Literal["bank", "plan-sampling", "images"], ...] = ("bank", "plan-sampling", "images"),
    training: TrainingFlags = DEFAULT_TRAINING_OPTIONS,
) -> int:
    """The method without its bank, plan sampling, or images.

    Trains what is missing.

    Example: w4s study parts runs/city

    Args:
        run: Folder of a finished training run; variants go to RUN/variants.
        which: Parts to leave out, one at a time.
        training: How the variants are trained.
    """
    require_torch("w4s study parts")
    from world4scorer.studies.parts.study import parts as study

    prepare_missing_store(run, training.split)
    return save_finding(parts, study(run, which, training), run, training.out, which=which, training=training)


def _open(source: Path, options: StudyOptions) -> ScoredPools:
    """The pools that a study is asked about."""
    from world4scorer.evaluation.pools.open import open_pools

    prepare_missing_store(source, options.split)
    return open_pools(source, options.store, split=options.split, weights=options.weights)


def save_finding(function: Callable[..., int], finding: Finding, source: Path, out: Path | None, **given: Any) -> int:
    """Write a finding with the command that made it, and print its tables; returns the exit code."""
    command = command_line(["w4s", "study", finding.name], function, source, given)
    asked = [value for value in given.values() if is_dataclass(value)]
    path = finding.save(_folder(source, *asked) if out is None else out, command)
    print(finding.markdown(command))
    print(f"written: {path}.json, .md, .png")
    return 0


def _folder(source: Path, *options: Any) -> Path:
    """Where the finding of a study goes: beside the run's others, or apart for another split or the last planner."""
    split = next((one.split for one in options if getattr(one, "split", None) is not None), None)
    weights: Weights = next((one.weights for one in options if hasattr(one, "weights")), "best")
    run = RunFolder(source)
    return run.results(run.studies, split, weights)


def _require_torch_of_a_run(command: str, source: Path) -> None:
    """Of a run, its encoder is asked how much scenes change; a folder of pools has no images."""
    from world4scorer.evaluation.pools.pool_files import is_pools

    if RunFolder(source).exists and not is_pools(source):
        require_torch(f"{command} of a run (not of a folder of pools)")


SUBCOMMANDS: Final[dict[str, Callable[..., int]]] = {
    study.name: globals()[study.target.partition(":")[2]] for study in STUDIES.values()
}
"""In the registry's order; each command is called as the study's function."""
