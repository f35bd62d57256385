"""Commands of `Judge`: pools, evaluate, compare, report; `drive.py` has those that drive."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final, Literal

import tyro

from world4scorer.cli.arguments import (
    HIDE_DEFAULT,
    AnyPath,
    ExecutorFlags,
    Lqr,
    OptionalBenchmark,
    OptionalCount,
    OptionalFile,
    OptionalFolder,
    OptionalPath,
    OptionalSplit,
    PositionalPath,
    Run,
    RunOrPools,
    metavar,
)
from world4scorer.cli.command_line import command_line
from world4scorer.cli.data import prepare_missing_store
from world4scorer.cli.exit_codes import UsageError, require_device, require_torch
from world4scorer.cli.official_tables import AgentName, write_official_table
from world4scorer.cli.two_stage import evaluate_stages, find_two_stage
from world4scorer.jobs.executor_options import DEFAULT_EXECUTOR_OPTIONS, ExecutorOptions
from world4scorer.jobs.run_folder import RunFolder, Weights
from world4scorer.planner.bundled import planner_folder

if TYPE_CHECKING:
    from world4scorer.evaluation.pools.scored import ScoredPools

Agents = Annotated[tuple[AgentName, ...], HIDE_DEFAULT]
OptionalTraffic = Annotated[Literal["reactive", "replay"] | None, HIDE_DEFAULT]
OptionalSource = Annotated[Path | None, tyro.conf.Positional, metavar("RUN|POOLS|PLANNER|SUBMISSION")]

DRAWS: Final = 10_000
WHERE: Final = "--executor, --workers and --ray-address"


def pools(
    source: PositionalPath,
    /,
    out: OptionalFolder = None,
    data: OptionalFolder = None,
    split: OptionalSplit = None,
    store: OptionalFolder = None,
    weights: Weights = "best",
    plans: OptionalPath = None,
    states: Literal["float32", "float16", "none"] = "float32",
    allow_missing: bool = False,
    device: str = "cpu",
    executor: ExecutorFlags = DEFAULT_EXECUTOR_OPTIONS,
) -> int:
    """Save a planner's pools: all plans, logits, utilities and states.

    One pass over the frames of a split, one file per log. Can be interrupted and run again: finished logs are kept.
    Evaluation and studies work on these files.

    Example: w4s pools runs/city

    Args:
        source: Folder of a training run or of a planner, a released checkpoint, or another planner's dump (.pkl).
        out: Folder of the pools; RUN/pools/SPLIT[-best] for a training run unless given.
        data: Dataset folder of a planner; a training run knows its own.
        split: Name of a split, or its YAML file; a training run's validation split unless given.
        store: Scene store of the split; DATA/store/SPLIT unless given, made if it is missing.
        weights: Planner of a run: the one with the best validation score, or the last.
        plans: Score these plans instead of the planner's own: a folder of pools, or a dump (.pkl).
        states: Number type of saved states, which are most of the size.
        allow_missing: For a dump: leave out frames of the store that it lacks, instead of failing.
        device: Torch device: cpu, cuda, cuda:1, ...
        executor: Where the work runs.
    """
    source = planner_folder(source)
    if source.suffix == ".pkl":
        from world4scorer.evaluation.pools.foreign import import_dump

        if store is None or out is None or plans is not None:
            raise UsageError(f"{source}: a dump needs --store and --out, and brings its own plans")
        folder = import_dump(source, store, out, allow_missing)
    else:
        require_torch("w4s pools")
        require_device(device)
        from world4scorer.evaluation.pools.foreign import read_plans
        from world4scorer.evaluation.pools.make import make_pools
        from world4scorer.evaluation.pools.open import is_planner, pools_of_weights
        from world4scorer.evaluation.pools.planner_source import PlannerSource

        if is_planner(source) and (data is None or split is None):
            raise UsageError(f"{source}: a planner needs --data and --split; a training run knows its own")
        prepare_missing_store(source, split, data, store)
        found = PlannerSource.find(source, data, split, store, weights)
        if out is None:
            if not RunFolder(source).exists or plans is not None:
                raise UsageError("--out: name the folder of these pools")
            out = pools_of_weights(source, found.split, weights)
        given = None if plans is None else read_plans(plans)
        folder = make_pools(
            found,
            out,
            states=states,
            plans=given,
            plans_from=None if plans is None else plans.name,
            device=device,
            executor=executor.choose("serial", device),
            show_progress=True,
        )
    print(f"pools: {folder.folder}, {len(folder.logs)} logs; next: w4s evaluate {_evaluable(source, folder.folder)}")
    return 0


def _evaluable(source: Path, folder: Path) -> Path:
    """What to evaluate next: a run, if `evaluate` would take these pools of it, else the pools."""
    from world4scorer.evaluation.pools.open import pools_of_weights

    run = RunFolder(source)
    if run.exists and folder == pools_of_weights(source, run.validation_split(), "best"):
        return source
    return folder


def evaluate(
    source: OptionalSource = None,
    /,
    *,
    out: OptionalPath = None,
    store: OptionalFolder = None,
    data: OptionalFolder = None,
    split: OptionalSplit = None,
    weights: Weights = "best",
    against: OptionalFolder = None,
    weight: float = 1.0,
    draws: int = DRAWS,
    agents: Agents = (),
    metric: OptionalBenchmark = None,
    traffic: OptionalTraffic = None,
    partial: bool = False,
    explain_score: bool = False,
    official: OptionalFile = None,
    published: bool = False,
    allow_missing: bool = False,
    lqr: Lqr = "navsim",
    threads: OptionalCount = None,
    executor: ExecutorFlags = DEFAULT_EXECUTOR_OPTIONS,
) -> int:
    """Evaluate a run, pools, a planner or a submission.

    Computes PDMS v1.1, EPDMS v2.2, EPDMS pre-151, framewise and re-ranked. Writes a table of frames (Parquet, CSV) and
    a summary (JSON, Markdown, figure) with intervals by bootstrap over logs. A submission with --out FILE.csv gives the
    official table of one metric instead; --agents compares agents that need no model.

    A two-stage split (navhard_two_stage, warmup_two_stage) gives the official table of both stages in reactive traffic,
    for a submission, a run or a planner. Every frame of the split is needed; --partial scores the groups that are
    complete.

    Example: w4s evaluate runs/city

    Args:
        source: Training run, folder of pools, planner or released checkpoint (with --data and --split), or submission.
        out: Folder of the evaluation; SOURCE/evaluation for runs and pools unless given, RUN/evaluation/SPLIT for
            another split. Or a CSV file.
        store: Scene store; by default the one that a run or pools name, for two-stage splits DATA/store/SPLIT.
        data: Dataset folder, for a planner, for a run on other data, or of a two-stage split.
        split: Name of a split, or its YAML file: for a planner, a two-stage evaluation, or a run on another split,
            whose scene store and pools are made if they are missing.
        weights: Planner of a run: the one with the best validation score, or the last.
        against: Folder of another evaluation: adds differences paired by frame, with intervals.
        weight: How much consistency with the last choice counts in re-ranking.
        draws: Number of bootstrap draws over logs.
        agents: Evaluate these instead of a source; --out is a CSV file.
        metric: Metric of the official table; epdms-v2.2 unless given.
        traffic: Traffic of a two-stage evaluation: reactive, as in the benchmark, unless given.
        partial: Two-stage splits: leave out what is missing or fails, instead of failing.
        explain_score: Two-stage splits: show what each group costs; writes OUT_groups.csv and a picture, OUT_group.png.
        official: For a submission: CSV of the official script, to compare with token by token; --out is a CSV file.
        published: Also print Table 1 of the paper with all published methods, on NAVSIM.
        allow_missing: Leave out tokens of the store without a plan, instead of failing.
        lqr: Tracker of the rollouts: as in the official simulator, or with the intended jerk penalty.
        threads: Threads of this process; one for each core unless given.
        executor: Where pools are made and judged; of a run, of pools, of a planner.
    """
    from world4scorer.engine.outcomes.batch import set_threads
    from world4scorer.evaluation.pools.pool_files import is_pools

    if threads is not None:
        set_threads(threads)
    if (source is None) != bool(agents):
        raise UsageError("name what to evaluate: a run, pools, a planner, a submission; or --agents")
    ends_in_csv = out is not None and out.suffix == ".csv"
    folder_options = against is not None or (weight, draws) != (1.0, DRAWS)
    if source is not None and split is not None and not is_pools(source):
        two_stage = find_two_stage(source, split, data, store)
        if two_stage is not None:
            if folder_options or allow_missing or executor.given:
                raise UsageError(
                    f"--against, --weight, --draws, --allow-missing, {WHERE} do not belong to two-stage splits"
                )
            return evaluate_stages(
                source, two_stage, out, metric, weights, traffic or "reactive", partial, explain_score, lqr
            )
    if traffic is not None or partial or explain_score:
        raise UsageError("--traffic, --partial and --explain-score belong to two-stage splits; give --split as well")
    if agents or ends_in_csv or metric is not None or official is not None:
        if folder_options or data is not None or executor.given:
            raise UsageError(f"--against, --data, --weight, --draws, {WHERE} belong to an evaluation into a folder")
        return write_official_table(source, out, store, split, agents, metric, official, allow_missing, lqr)
    assert source is not None
    if out is not None and out.is_file():
        raise ValueError(f"--out {out}: a file; give a folder, or for an official table a name that ends in .csv")
    from world4scorer.cli.console_tables import print_published
    from world4scorer.evaluation.scores.frames import read_frames
    from world4scorer.evaluation.scores.pool_evaluation import evaluate_pools
    from world4scorer.jobs.files import check_folder

    if out is not None or not source.is_file():  # below, an error says what a file lacks
        check_folder(source if out is None else out)
    others = None if against is None else read_frames(against)
    prepare_missing_store(source, split, data, store)
    pools = _pools(source, out, store, data, split, weights, allow_missing, lqr, executor)
    evaluated = evaluate_pools(pools, weight, draws)
    if others is not None and against is not None:
        evaluated = evaluated.against(others, against.name, draws)
    given = {"split": split, "weights": weights, "against": against, "weight": weight, "draws": draws}
    given |= {"allow_missing": allow_missing, "lqr": lqr}
    command = command_line(["w4s", "evaluate"], evaluate, source, given)
    run = RunFolder(source)
    folder = run.results(run.evaluation, split, weights) if out is None else out
    evaluated.save(folder, command)
    print(evaluated.finding.markdown(command))
    if published:
        print_published("table-1")
    print(f"written: {folder}/frames.parquet, frames.csv, evaluation.json, evaluation.md, evaluation.png")
    return 0


def _pools(
    source: Path,
    out: Path | None,
    store: Path | None,
    data: Path | None,
    split: str | None,
    weights: Weights,
    allow_missing: bool,
    lqr: Lqr,
    executor: ExecutorOptions,
) -> ScoredPools:
    """The scored pools of whatever `source` is; options that do not belong to it are errors."""
    from world4scorer.evaluation.pools.open import (
        is_planner,
        is_submission,
        open_pools,
        pools_of_planner,
        pools_of_submission,
    )
    from world4scorer.evaluation.pools.pool_files import is_pools

    source = planner_folder(source)
    if allow_missing and not is_submission(source):
        raise UsageError("--allow-missing: belongs to submissions")
    if is_submission(source):
        if executor.given:
            raise UsageError(f"{WHERE} belong to pools; a submission has one plan a frame")
        if out is None or store is None or data is not None or split is not None:
            raise UsageError(
                f"{source}: a submission needs --store and --out; --data and --split belong to two-stage evaluation"
            )
        return pools_of_submission(source, store, lqr, allow_missing)
    chosen = executor.choose() if executor.given else None
    if is_planner(source):
        require_torch("w4s evaluate")
        if out is None or data is None or split is None:
            raise UsageError(f"{source}: a planner needs --data, --split and --out; a training run knows its own")
        return pools_of_planner(source, data, split, store, RunFolder(out).all_pools, lqr, chosen)
    if is_pools(source):
        if data is not None or split is not None:
            raise UsageError(f"{source}: a folder of pools has its frames already; leave out --data and --split")
        return open_pools(source, store, lqr, executor=chosen)
    if data is not None and out is None:
        raise UsageError("--out: name the folder of an evaluation on other data")
    return open_pools(source, store, lqr, data, split, weights, chosen)


def compare(
    run: Run,
    /,
    out: AnyPath,
    weights: Weights = "best",
    blind_scenes: int = 8192,
    pools: OptionalFile = None,
    min_gap: float = 0.0,
) -> int:
    """Compare a run's planner with simple controls.

    On its validation split. Trains the controls on the same data: a scorer without images on the planner's own pools,
    and an MLP of the ego status. Takes minutes.

    Example: w4s compare runs/city --out table

    Args:
        run: Folder of a finished `w4s train`.
        out: Results without suffix: OUT.md, OUT.json, OUT.png.
        weights: Planner of the run: the one with the best validation score, or the last.
        blind_scenes: Maximum number of training scenes of the scorer without images.
        pools: Also save the planner's plans in these scenes (.npz), for example for `w4s bank histogram`.
        min_gap: Pairs of plans count for ordering accuracy if their PDMS differ by more.
    """
    require_torch("w4s compare")
    from world4scorer.evaluation.scores.comparison import compare as compare_run
    from world4scorer.jobs.files import check_folder

    if pools is not None and pools.suffix != ".npz":
        raise UsageError(f"--pools {pools}: must end in .npz")
    check_folder(out.parent)
    comparison = compare_run(run, blind_scenes, pools_file=pools, weights=weights, min_gap=min_gap)
    given = {"weights": weights, "blind_scenes": blind_scenes, "min_gap": min_gap}
    command = f"{command_line(['w4s', 'compare'], compare, run, given)} --out {out.name}"
    comparison.save(out, command)
    print(comparison.markdown(command))
    return 0


def report(
    source: RunOrPools,
    /,
    out: OptionalFile = None,
    split: OptionalSplit = None,
    weights: Weights = "best",
    store: OptionalFolder = None,
) -> int:
    """Write one HTML page with all results of a run.

    Evaluation, learning curves, studies, frames, configuration. The page stands alone: no other file, no network, no
    script. Missing parts are listed with the command that makes them.

    Example: w4s report runs/city

    Args:
        source: Folder of a training run, or a folder of pools.
        out: The page; SOURCE/report.html unless given.
        split: Whose pools to show; those of the validation split unless given.
        weights: Whose pools of a run: those of the best planner, if there are some, or of the last. Findings of other
            weights are shown with a warning.
        store: Scene store of the pools, if it is not where they say.
    """
    from world4scorer.evaluation.pools.pool_files import is_pools

    if RunFolder(source).exists and not is_pools(source):
        require_torch("w4s report")
    from world4scorer.reporting.report.write import write_report

    path = write_report(source, out, split, store, weights)
    print(f"written: {path}, {path.stat().st_size / 1e6:.1f} MB")
    return 0
