"""Official tables of `w4s evaluate`: one stage, two stages, and agents that need no model."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple

from world4scorer.cli.arguments import Benchmark, Lqr
from world4scorer.cli.exit_codes import UsageError, require_torch
from world4scorer.jobs.data_folder import DataFolder
from world4scorer.jobs.run_folder import RunFolder, Weights
from world4scorer.planner.bundled import planner_folder

if TYPE_CHECKING:
    from world4scorer.datasets.navsim.filters import Split
    from world4scorer.datasets.navsim.submissions import Plans
    from world4scorer.evaluation.two_stage.groups import StageGroup

AgentName = Literal["human", "constant-velocity", "stationary"]


def write_official_table(
    source: Path | None,
    out: Path | None,
    store: Path | None,
    split: str | None,
    agents: tuple[AgentName, ...],
    metric: Benchmark | None,
    official: Path | None,
    allow_missing: bool,
    lqr: Lqr,
) -> int:
    """Write a CSV as the official one-stage scripts do, and print its means."""
    from world4scorer.cli.console_tables import print_official, print_scores, print_tables
    from world4scorer.datasets.navsim.submissions import read_submission
    from world4scorer.datasets.store import SceneStore
    from world4scorer.evaluation.scores.official_scores import compare_with_official
    from world4scorer.evaluation.scores.reports import compare_agents, evaluate_one_stage
    from world4scorer.evaluation.scores.tables import agent_tables

    if out is None or out.suffix != ".csv":
        raise UsageError(f"--out {out}: must end in .csv for --agents and --metric")
    if store is None:
        raise UsageError("--store: name the scene store to evaluate on")
    if agents and (metric is not None or split is not None or allow_missing):
        raise UsageError(
            "--agents: scored by both metrics on all recorded frames; --metric, --split and --allow-missing "
            "belong to submissions"
        )
    if official is not None and agents:
        raise UsageError("--official: compares the table of a submission; leave out --agents")
    if split is not None:
        raise UsageError(f"--split {split}: not a two-stage split; the store says which frames an official table has")
    scenes = SceneStore(store)
    if source is None:
        print_tables(agent_tables(compare_agents(scenes, agents, out, lqr)))
        return 0
    plans = read_submission(source)
    table = evaluate_one_stage(scenes, plans, out, metric or "epdms-v2.2", lqr, allow_missing)
    print_scores(table, out)
    if official is not None:
        print_official(compare_with_official(table, official))
    return 0


class TwoStageData(NamedTuple):
    """A two-stage split, and where its data lie."""

    split: Split
    root: Path | None
    """Dataset folder; None if only the store is known."""
    store: Path


def find_two_stage(source: Path, split: str, data: Path | None, store: Path | None) -> TwoStageData | None:
    """The split, if it has two stages; None for all others, and where it cannot be looked up."""
    from world4scorer.datasets.navsim.filters import read_split
    from world4scorer.datasets.navsim.splits import split_file
    from world4scorer.jobs.files import read_json

    root, run = data, RunFolder(source)
    if root is None and run.data_file.is_file() and not run.trained_on_clips:
        trained = read_json(run.data_file, ValueError)
        known = trained.get("val_data") or trained.get("data")
        root = None if known is None else Path(known)
    if root is None and store is not None and store.parent == DataFolder(store.parent.parent).stores:
        root = store.parent.parent
    if split.endswith((".yaml", ".yml")):
        path: Path | None = Path(split)
    elif root is not None:
        path = split_file(split, root)
    elif run.data_file.is_file():
        return None
    else:
        raise UsageError(
            f"--split {split}: name the dataset folder that has it by --data, or give the path of its file"
        )
    if path is None:
        return None
    found = read_split(path)
    if not found.two_stage:
        return None
    if store is None:
        if root is None:
            raise UsageError("--store: name the scene store of the split, or by --data the dataset folder that has it")
        store = DataFolder(root).store(found.name)
    if not store.is_dir():
        raise UsageError(
            f"{store}: no such scene store; make it: "
            f"w4s prepare --data {root or 'DATA'} --split {split} --store {store}"
        )
    return TwoStageData(found, root, store)


def evaluate_stages(
    source: Path,
    found: TwoStageData,
    out: Path | None,
    metric: Benchmark | None,
    weights: Weights,
    traffic: Literal["reactive", "replay"],
    partial: bool,
    explain_score: bool,
    lqr: Lqr,
) -> int:
    """Evaluate a submission, a run or a planner on a two-stage split; write and print the official table."""
    from world4scorer.cli.console_tables import print_tables
    from world4scorer.datasets.store import SceneStore
    from world4scorer.evaluation.two_stage.evaluate import evaluate_two_stage
    from world4scorer.evaluation.two_stage.explain import cost_tables, write_costs
    from world4scorer.evaluation.two_stage.explain import explain_score as explain
    from world4scorer.evaluation.two_stage.groups import read_groups
    from world4scorer.evaluation.two_stage.score_files import stage_table, verdict, write_scores

    if metric == "pdms-v1.1":
        raise UsageError("--metric: two-stage splits are scored by epdms-v2.2 or epdms-pre151")
    if out is None and RunFolder(source).exists:
        out = RunFolder(source).evaluation / f"{found.split.name}.csv"
    if out is None or out.suffix != ".csv":
        raise UsageError(f"--out {out}: must end in .csv for two-stage splits")
    groups, store = read_groups(found.split), SceneStore(found.store)
    first, second = _plans(source, found, weights, groups, partial, out.with_name(f"{out.stem}_submission.pkl"))
    result = evaluate_two_stage(
        store, first, second, groups, traffic=traffic, metric=metric or "epdms-v2.2", lqr=lqr, partial=partial
    )
    write_scores(result, out)
    print_tables([stage_table(result)])
    if explain_score:
        from world4scorer.drawing.birdseye import save
        from world4scorer.evaluation.two_stage.picture import draw_group

        costs = explain(result)
        print_tables(cost_tables(costs))
        table, picture = (out.with_name(f"{out.stem}_{name}") for name in ("groups.csv", "group.png"))
        write_costs(costs, table)
        save(draw_group(store, result, costs[0], first[costs[0].group.now]), picture)
        print(f"written: {table}, {picture}")
    print(f"{verdict(result)} -> {out}")
    return 0


def _plans(
    source: Path, found: TwoStageData, weights: Weights, groups: list[StageGroup], partial: bool, written: Path
) -> tuple[Plans, Plans]:
    """Plans of both stages: those of a submission, or those that a planner makes, which are `written` as one."""
    from world4scorer.evaluation.pools.open import is_submission
    from world4scorer.evaluation.two_stage.submission import (
        read_two_stage_submission,
        submission_problems,
        write_two_stage_submission,
    )

    source = planner_folder(source)
    if is_submission(source):
        submission = read_two_stage_submission(source, groups, partial)
        return submission.plans, submission.second_stage
    require_torch("w4s evaluate")
    from world4scorer.evaluation.pools.planner_source import PlannerSource
    from world4scorer.evaluation.two_stage.planner_plans import plans_of_planner

    if found.root is None:
        raise UsageError("--data: name the dataset folder; a planner needs its images")
    data = DataFolder(found.root)
    asked = PlannerSource.find(source, found.root, found.split.name, found.store, weights)
    scenes, sensors = data.synthetic_scenes(found.split.name), data.synthetic_sensors(found.split.name)
    first, second = plans_of_planner(asked, groups, scenes, sensors)
    if not submission_problems(first, second, groups):
        write_two_stage_submission(written, first, second, groups)
        print(f"written: {written}, the plans as a submission")
    return first, second
