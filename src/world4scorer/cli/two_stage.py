"""Two-stage splits in `w4s evaluate` and `w4s submit`."""

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
    from world4scorer.evaluation.pools.planner_source import PlannerSource
    from world4scorer.evaluation.two_stage.groups import StageGroup


class TwoStageData(NamedTuple):
    """A two-stage split, and where its data lie."""

    split: Split
    root: Path | None
    """Dataset folder; None if only the store is known."""
    store: Path

    def planner_source(self, source: Path, weights: Weights) -> PlannerSource:
        """A planner or a run's planner, asked about this split."""
        from world4scorer.evaluation.pools.planner_source import PlannerSource

        if self.root is None:
            raise UsageError("--data: name the dataset folder; a planner needs its images")
        return PlannerSource.find(source, self.root, self.split.name, self.store, weights)

    @property
    def second_stage(self) -> tuple[Path, Path]:
        """Folders of the second stage's scenes and images."""
        if self.root is None:
            raise UsageError("--data: name the dataset folder; it has the scenes of the second stage")
        data = DataFolder(self.root)
        return data.synthetic_scenes(self.split.name), data.synthetic_sensors(self.split.name)


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
    from world4scorer.evaluation.two_stage.planner_plans import plans_of_planner

    first, second = plans_of_planner(found.planner_source(source, weights), groups, *found.second_stage)
    if not submission_problems(first, second, groups):
        write_two_stage_submission(written, first, second, groups)
        print(f"written: {written}, the plans as a submission")
    return first, second
