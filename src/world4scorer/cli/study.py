"""The verbs of `w4s study`, one for each study. Heavy imports happen inside the verb that needs them.

w4s study reranking runs/city
w4s study interventions pools --out findings
w4s study label-pairing runs/city --seeds 3 4
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Final, Literal

import tyro

from world4scorer.cli.arguments import Run, RunOrPools, called
from world4scorer.cli.learn import needs_torch
from world4scorer.cli.save_finding import keep
from world4scorer.cli.study_representations import (
    counterfactual,
    readouts,
    stability,
    state_geometry,
    target_geometry,
)
from world4scorer.studies.shared.options import (
    AS_IN_THE_PAPER,
    AS_THE_RUN,
    REPEATED,
    USUAL,
    StudyOptions,
    TrainingOptions,
)

Labelled = Annotated[tuple[str, ...], called("[LABEL=]FOLDER [...]")]
Options = Annotated[StudyOptions, tyro.conf.arg(name="")]
Training = Annotated[TrainingOptions, tyro.conf.arg(name="")]


def auxiliary_target(run: Run, /, training: Training = AS_THE_RUN) -> int:
    """No, current or future view as auxiliary target (Table 2a).

    Trains what is missing of the three.

    Example: w4s study auxiliary-target runs/city

    Args:
        run: Folder of a finished training run; variants go to RUN/variants.
        training: How the variants are trained.
    """
    needs_torch("w4s study auxiliary-target")
    from world4scorer.studies.auxiliary_target.study import auxiliary_target as study

    return keep(auxiliary_target, study(run, training), run, training.out, training=training)


def label_pairing(run: Run, /, training: Training = AS_IN_THE_PAPER) -> int:
    """Outcome labels paired with their plans, or shuffled (Table 2b).

    Trains what is missing of the three.

    Example: w4s study label-pairing runs/city --seeds 3 4

    Args:
        run: Folder of a finished training run; variants go to RUN/variants.
        training: How the variants are trained; few scenes and many epochs, as in the paper.
    """
    needs_torch("w4s study label-pairing")
    from world4scorer.studies.label_pairing.study import label_pairing as study

    return keep(label_pairing, study(run, training), run, training.out, training=training)


def reranking(source: RunOrPools, /, weight: float = 1.0, options: Options = USUAL) -> int:
    """Inertial re-ranking off and on (Table 2c).

    Extended comfort, progress, EPDMS.

    Example: w4s study reranking runs/city

    Args:
        source: Folder of a training run, whose pools are made if they are missing, or a folder of pools.
        weight: How much consistency with the last choice counts; 0 turns re-ranking off.
        options: Where, and how intervals are made.
    """
    from world4scorer.evaluation.pools.open import open_pools
    from world4scorer.studies.reranking.study import reranking as study

    finding = study(open_pools(source, options.store), weight, options.draws)
    return keep(reranking, finding, source, options.out, weight=weight, options=options)


def interventions(
    source: RunOrPools,
    /,
    foreign: Labelled = (),
    baseline: Labelled = (),
    repeats: int = 100,
    first_seed: int = 20260909,
    options: Options = REPEATED,
) -> int:
    """Choices with own, deranged and mean states (Table 4, D.1).

    Example: w4s study interventions runs/city

    Args:
        source: Folder of a training run, whose pools are made if they are missing, or a folder of pools.
        foreign: More pools, of other planners' plans scored by this one (`w4s pools RUN --plans`).
        baseline: Runs or pools of other planners, for example of one that predicts no future.
        repeats: Derangements.
        first_seed: Of the first derangement; each takes the next.
        options: Where, and how intervals are made.
    """
    from world4scorer.datasets.store import SceneStore
    from world4scorer.evaluation.pools.open import open_pools
    from world4scorer.studies.interventions.study import Block, labelled
    from world4scorer.studies.interventions.study import interventions as study

    own = open_pools(source, options.store)
    blocks = [Block("own pools", "own", own)]
    for text in foreign:
        label, folder = labelled(text)
        blocks.append(Block(label, "foreign", open_pools(folder, options.store)))
    for text in baseline:
        label, folder = labelled(text)
        blocks.append(Block(label, "baseline", open_pools(folder, options.store)))
    finding = study(blocks, options.draws, repeats, first_seed, SceneStore(own.about["store"]))
    given = {"foreign": foreign, "baseline": baseline, "repeats": repeats, "first_seed": first_seed}
    return keep(interventions, finding, source, options.out, **given, options=options)


def disagreement(source: RunOrPools, /, options: Options = USUAL) -> int:
    """Where v1 and v2 as objectives choose different plans (B.2).

    And because of what.

    Example: w4s study disagreement runs/city

    Args:
        source: Folder of a training run, whose pools are made if they are missing, or a folder of pools.
        options: Where, and how intervals are made.
    """
    _needs_torch_of_a_run("w4s study disagreement", source)
    from world4scorer.evaluation.pools.open import open_pools
    from world4scorer.studies.disagreement.study import disagreement as study
    from world4scorer.studies.shared.scene_change import scene_change

    pools = open_pools(source, options.store)
    finding = study(pools, scene_change(source, pools), options.draws)
    return keep(disagreement, finding, source, options.out, options=options)


def taxonomy(source: RunOrPools, /, near_tie: float = 4.1e-5, weight: float = 1.0, options: Options = USUAL) -> int:
    """Why consecutive choices fail extended comfort (E.1).

    And which failures re-ranking repairs.

    Example: w4s study taxonomy runs/city

    Args:
        source: Folder of a training run, whose pools are made if they are missing, or a folder of pools.
        near_tie: Utilities this near count as equal.
        weight: How much consistency with the last choice counts; 0 turns re-ranking off.
        options: Where, and how intervals are made.
    """
    _needs_torch_of_a_run("w4s study taxonomy", source)
    from world4scorer.evaluation.pools.open import open_pools
    from world4scorer.studies.shared.scene_change import scene_change
    from world4scorer.studies.taxonomy.study import taxonomy as study

    pools = open_pools(source, options.store)
    finding = study(pools, near_tie, weight, options.draws, scene_change(source, pools))
    return keep(taxonomy, finding, source, options.out, near_tie=near_tie, weight=weight, options=options)


def consecutive(source: RunOrPools, /, weight: float = 1.0, options: Options = USUAL) -> int:
    """How much less consecutive plans differ with re-ranking (E.2).

    Example: w4s study consecutive runs/city

    Args:
        source: Folder of a training run, whose pools are made if they are missing, or a folder of pools.
        weight: How much consistency with the last choice counts; 0 turns re-ranking off.
        options: Where, and how intervals are made.
    """
    from world4scorer.evaluation.pools.open import open_pools
    from world4scorer.studies.consecutive.study import consecutive as study

    finding = study(open_pools(source, options.store), weight, options.draws)
    return keep(consecutive, finding, source, options.out, weight=weight, options=options)


def lambda_weight(
    source: RunOrPools, /, weights: tuple[float, ...] = (0.25, 0.5, 1.0, 2.0), options: Options = USUAL
) -> int:
    """How much the weight of re-ranking matters (E.3).

    Example: w4s study lambda runs/city

    Args:
        source: Folder of a training run, whose pools are made if they are missing, or a folder of pools.
        weights: Weights to re-rank with; framewise choices are always there.
        options: Where, and how intervals are made.
    """
    from world4scorer.evaluation.pools.open import open_pools
    from world4scorer.studies.lambda_weight.study import lambda_weight as study

    finding = study(open_pools(source, options.store), weights, options.draws)
    return keep(lambda_weight, finding, source, options.out, weights=weights, options=options)


def history(source: RunOrPools, /, weight: float = 1.0, seed: int = 0, options: Options = USUAL) -> int:
    """Whether re-ranking needs the plan really taken (E.4).

    Or whether a wrong, old or copied history does as well.

    Example: w4s study history runs/city

    Args:
        source: Folder of a training run, whose pools are made if they are missing, or a folder of pools.
        weight: How much consistency with the last choice counts; 0 turns re-ranking off.
        seed: Draws the plans of other logs.
        options: Where, and how intervals are made.
    """
    from world4scorer.evaluation.pools.open import open_pools
    from world4scorer.studies.history.study import history as study

    finding = study(open_pools(source, options.store), weight, seed, options.draws)
    return keep(history, finding, source, options.out, weight=weight, seed=seed, options=options)


def coverage(run: Run, /, training: Training = AS_THE_RUN) -> int:
    """A generator that also covers good bank plans (E.3).

    And re-ranking with several weights on its pools.

    Example: w4s study coverage runs/city

    Args:
        run: Folder of a finished training run; the variant goes to RUN/variants.
        training: How the variant is trained.
    """
    needs_torch("w4s study coverage")
    from world4scorer.studies.coverage.study import coverage as study

    return keep(coverage, study(run, training), run, training.out, training=training)


def parts(
    run: Run,
    /,
    which: tuple[Literal["bank", "plan-sampling", "images"], ...] = ("bank", "plan-sampling", "images"),
    training: Training = AS_THE_RUN,
) -> int:
    """The method without its bank, plan sampling, or images.

    Trains what is missing.

    Example: w4s study parts runs/city

    Args:
        run: Folder of a finished training run; variants go to RUN/variants.
        which: Parts to leave out, one at a time.
        training: How the variants are trained.
    """
    needs_torch("w4s study parts")
    from world4scorer.studies.parts.study import parts as study

    return keep(parts, study(run, which, training), run, training.out, which=which, training=training)


def _needs_torch_of_a_run(verb: str, source: Path) -> None:
    """Of a run, its encoder is asked how much scenes change; a folder of pools has no images."""
    from world4scorer.evaluation.pools.open import is_pools, is_run_folder

    if is_run_folder(source) and not is_pools(source):
        needs_torch(f"{verb} of a run (not of a folder of pools)")


VERBS: Final[dict[str, Callable[..., int]]] = {
    "auxiliary-target": auxiliary_target,
    "label-pairing": label_pairing,
    "reranking": reranking,
    "interventions": interventions,
    "disagreement": disagreement,
    "target-geometry": target_geometry,
    "state-geometry": state_geometry,
    "stability": stability,
    "readouts": readouts,
    "counterfactual": counterfactual,
    "taxonomy": taxonomy,
    "consecutive": consecutive,
    "lambda": lambda_weight,
    "history": history,
    "coverage": coverage,
    "parts": parts,
}
"""In the paper's order."""
