"""Do predicted futures of plans that nobody drove come true? (section 4.4 and appendix C of the paper ask, cannot tell)

The paper can compare a predicted future only with what the executed plan led to. The city can be branched: every plan
is driven in traffic that answers to it, and what the front camera sees two seconds later is the truth for that plan.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np

from world4scorer.datasets.store import SceneStore
from world4scorer.drawing.finding import Finding
from world4scorer.evaluation.pools.open import open_pools
from world4scorer.evaluation.pools.planner_source import PlannerSource
from world4scorer.evaluation.pools.scored import ScoredPools, weights_words
from world4scorer.evaluation.scores.bootstrap import LogBootstrap, plain
from world4scorer.jobs.run_folder import RunFolder
from world4scorer.planner.training.run_files import read_run
from world4scorer.studies.branches.make import MadeBranches, make_branches
from world4scorer.studies.counterfactual import reactive_outcomes
from world4scorer.studies.counterfactual import tables as report
from world4scorer.studies.counterfactual.branched_scenes import BranchedScenes, look_at
from world4scorer.studies.counterfactual.checks import check
from world4scorer.studies.counterfactual.figure import draw, draw_reactive
from world4scorer.studies.counterfactual.measures import measures, spread
from world4scorer.studies.counterfactual.models import OWN, WHOLE, predictions, row, train_models
from world4scorer.studies.counterfactual.sheet import draw_sheet
from world4scorer.studies.shared.future_match import unit
from world4scorer.studies.shared.options import BranchOptions
from world4scorer.studies.shared.variant_scores import VariantScores

NAME: Final = "counterfactual"
"""Folder in a run."""


@dataclass(frozen=True, eq=False)
class Counterfactuals:
    """What was looked at, and what was measured of it."""

    scenes: BranchedScenes
    scores: VariantScores
    """Rows of `counterfactual_models`, measures of `counterfactual_measures`."""
    reactive: reactive_outcomes.Reactive
    branches: MadeBranches


def counterfactual(run: Path, options: BranchOptions) -> Finding:
    """Branch what is missing, train what is missing, compare."""
    source = PlannerSource.find(run, split=options.split, weights="last")  # trainings are compared by their last epoch
    executor = check(run, source, options)
    folders = train_models(run, options.training)
    pools = open_pools(run, split=options.split, weights="last")
    folder = RunFolder(run).branches(source.split)
    made = make_branches(pools, source.data, folder, options.scenes, options.plans, executor, show_progress=True)
    scenes = look_at(run, pools, made, options.split, show=True)
    found = predictions(scenes, folders, show=True)
    seeds = tuple(read_run(one)[0].seed for one in folders[WHOLE])
    scores = VariantScores(
        {name: [measures(scenes, one) for one in some] for name, some in found.items()},
        seeds,
        scenes.log_names,
        _describe(scenes, pools, seeds, made.lost),
        options.draws,
    )
    reactive = reactive_outcomes.compare(
        scenes.outcomes, scenes.log_names, options.draws, ~(scenes.unseen | scenes.gone)
    )
    results = Counterfactuals(scenes, scores, reactive, made)
    return describe(results, pools, found[row(OWN, WHOLE)][0])


def describe(results: Counterfactuals, pools: ScoredPools, predicted: Any) -> Finding:
    """The finding; `predicted` (S, K, E) are the run's own readouts, for the pictures."""
    scenes, scores = results.scenes, results.scores
    control = controls(scenes, scores.draws)
    return Finding(
        name=NAME,
        title="Futures that nobody drove",
        question="Does what a planner foresees for a plan that was not executed match what would have been seen?",
        data=scores.data,
        weights=pools.weights,
        numbers={
            "seeds": list(scores.seeds),
            "scenes": len(scenes),
            "scenes_lost": results.branches.lost,
            "plans": int(scenes.chosen.shape[1]),
            "controls": control,
            "rows": _rows(scores),
            "changes": report.changes(scores),
            "reactive": reactive_outcomes.numbers(results.reactive),
        },
        tables=(
            *report.tables(scores, scenes.chosen.shape[1]),
            report.control_table(control),
            reactive_outcomes.table(results.reactive),
        ),
        remarks=(
            *report.remarks(scores),
            reactive_outcomes.remark(results.reactive),
            report.control_remark(control, results.reactive),
            report.seeds_remark(scores),
        ),
        figure=draw(scores),
        pictures={
            "views": draw_sheet(scenes, SceneStore(pools.about["store"]), predicted),
            "reactive": draw_reactive(results.reactive),
        },
    )


def controls(scenes: BranchedScenes, draws: int) -> dict[str, Any]:
    """How branches fare that drive what was driven, and what SUMO does to those that do not."""
    bootstrap = LogBootstrap(scenes.log_names, draws)

    def interval(values: Any) -> Any:
        return plain(bootstrap.mean(values))

    found: dict[str, Any] = {}
    for index, name in enumerate(("logged poses", "logged plan")):
        alike = (scenes.controls[:, index] * scenes.logged).sum(1)
        centred = (unit(scenes.controls[:, index] - scenes.mean) * unit(scenes.logged - scenes.mean)).sum(1)
        found[name] = {
            "same_bytes": interval(scenes.same_bytes[:, index]),
            "cosine": interval(alike),
            "cosine_mean_off": interval(centred),
            "others_moved_m": interval(scenes.moved[:, index]),
        }
    found["plans"] = {
        "lost_sight": interval(scenes.unseen.mean(1)),
        "route_ended": interval(scenes.gone.mean(1)),
        "others_put_here": interval((scenes.jumped > 0).mean(1)),
        "distance_m": {str(q): float(np.percentile(scenes.distance, q)) for q in (5, 25, 50, 75, 95)},
        "spread_of_true_futures": interval(spread(scenes)),
    }
    return found


def _rows(scores: VariantScores) -> dict[str, Mapping[str, Any]]:
    names = list(next(iter(scores.measures.values()))[0])
    return {
        variant: {
            name: {
                **(plain(scores.value(variant, name)) or {}),
                "by_seed": [None if np.isnan(one) else one for one in scores.by_seed(variant, name)],
            }
            for name in names
        }
        for variant in scores.measures
    }


def _describe(scenes: BranchedScenes, pools: ScoredPools, seeds: tuple[int, ...], lost: int) -> str:
    left_out = f"; left out: {lost} in which SUMO crashed" if lost else ""
    few = "seed" if len(seeds) == 1 else "seeds"
    return (
        f"{len(scenes):,} scenes of {len(set(scenes.log_names))} logs of {pools.about['split']}{left_out}; each with "
        f"{scenes.chosen.shape[1]} of its {scenes.pool.shape[1]} plans driven in reactive traffic (the planner's "
        "choice, then always the plan furthest from those taken and from the logged one, three quarters of them on the "
        f"drivable area where there are as many: {scenes.on_road.mean():.0%}) and the logged plan as control; {few} "
        f"{', '.join(map(str, seeds))}; readers fitted to {len(scenes.train):,} training scenes; "
        f"tracker: {pools.about['lqr']}; planner: {pools.about['planner']}{weights_words(pools.about)}."
    )
