"""Studies of pools: what was chosen, and what other choices would bring. Each imports what it needs when it runs."""

from __future__ import annotations

from typing import Annotated, Literal

from world4scorer.cli.arguments import OptionalFolder, RunOrPools, metavar
from world4scorer.cli.data import prepare_missing_store
from world4scorer.cli.study.results import StudyFlags, open_study_pools, require_torch_of_run, save_finding
from world4scorer.studies.shared.options import DEFAULT_INTERVENTION_OPTIONS, DEFAULT_STUDY_OPTIONS

Labelled = Annotated[tuple[str, ...], metavar("[LABEL=]FOLDER [...]")]


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

    finding = study(open_study_pools(source, options), weight, options.draws)
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
    require_torch_of_run("w4s study disagreement", source)
    from world4scorer.studies.disagreement.study import disagreement as study
    from world4scorer.studies.shared.scene_change import scene_change

    pools = open_study_pools(source, options)
    finding = study(pools, scene_change(source, pools, options.split), options.draws, population)
    return save_finding(disagreement, finding, source, options.out, population=population, options=options)


def calibration(
    source: RunOrPools,
    /,
    against: OptionalFolder = None,
    seed: int = 0,
    min_gap: float = 0.0,
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
        min_gap: Pairs of plans count for ordering accuracy if their PDMS differ by more.
        options: Output, scene store and bootstrap.
    """
    from world4scorer.evaluation.pools.open import open_pools
    from world4scorer.studies.calibration.study import calibration as study

    others = None if against is None else open_pools(against, options.store, weights=options.weights)
    finding = study(open_study_pools(source, options), others, seed, options.draws, min_gap)
    given = {"against": against, "seed": seed, "min_gap": min_gap}
    return save_finding(calibration, finding, source, options.out, **given, options=options)


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
    require_torch_of_run("w4s study taxonomy", source)
    from world4scorer.studies.shared.scene_change import scene_change
    from world4scorer.studies.taxonomy.study import taxonomy as study

    pools = open_study_pools(source, options)
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

    pools = open_study_pools(source, options)
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

    finding = study(open_study_pools(source, options), lambdas, options.draws)
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

    finding = study(open_study_pools(source, options), weight, seed, options.draws)
    return save_finding(history, finding, source, options.out, weight=weight, seed=seed, options=options)
