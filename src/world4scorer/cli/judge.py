"""Commands of `Judge`: pools, evaluate, compare, report; `drive.py` has those that drive."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final, Literal

import tyro

from world4scorer.cli.arguments import (
    HIDE_DEFAULT,
    AnyPath,
    Benchmark,
    Lqr,
    OptionalBenchmark,
    OptionalCount,
    OptionalFile,
    OptionalFolder,
    OptionalNumber,
    OptionalPath,
    OptionalSplit,
    PositionalPath,
    Run,
    RunOrPools,
    metavar,
)
from world4scorer.cli.command_line import command_line
from world4scorer.cli.exit_codes import UsageError
from world4scorer.cli.requirements import require_device, require_torch
from world4scorer.jobs.run_folder import RunFolder
from world4scorer.planner.bundled import planner_folder

if TYPE_CHECKING:
    from world4scorer.evaluation.pools.scored import ScoredPools

AgentName = Literal["human", "constant-velocity", "stationary"]
Agents = Annotated[tuple[AgentName, ...], HIDE_DEFAULT]
OptionalSource = Annotated[Path | None, tyro.conf.Positional, metavar("RUN|POOLS|PLANNER|SUBMISSION")]

DRAWS: Final = 10_000


def pools(
    source: PositionalPath,
    /,
    out: OptionalFolder = None,
    data: OptionalFolder = None,
    split: OptionalSplit = None,
    store: OptionalFolder = None,
    plans: OptionalPath = None,
    states: Literal["float32", "float16", "none"] = "float32",
    allow_missing: bool = False,
    device: str = "cpu",
) -> int:
    """Save a planner's pools: all plans, logits, utilities and states.

    One pass over the frames of a split, one file per log. Can be interrupted and run again: finished logs are kept.
    Evaluation and studies work on these files.

    Example: w4s pools runs/city

    Args:
        source: Folder of a training run or of a planner, a released checkpoint, or another planner's dump (.pkl).
        out: Folder of the pools; RUN/pools/SPLIT for a training run unless given.
        data: Dataset folder of a planner; a training run knows its own.
        split: Name of a split, or its YAML file; a training run's validation split unless given.
        store: Scene store of the split; DATA/store/SPLIT unless given.
        plans: Score these plans instead of the planner's own: a folder of pools, or a dump (.pkl).
        states: Number type of saved states, which are most of the size.
        allow_missing: For a dump: leave out frames of the store that it lacks, instead of failing.
        device: Torch device: cpu, cuda, cuda:1, ...
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
        from world4scorer.evaluation.pools.open import is_planner
        from world4scorer.evaluation.pools.planner_source import PlannerSource

        if is_planner(source) and (data is None or split is None):
            raise UsageError(f"{source}: a planner needs --data and --split; a training run knows its own")
        found = PlannerSource.find(source, data, split, store)
        if out is None:
            if not RunFolder(source).exists or plans is not None:
                raise UsageError("--out: name the folder of these pools")
            out = RunFolder(source).pools(found.split)
        given = None if plans is None else read_plans(plans)
        folder = make_pools(
            found,
            out,
            states=states,
            plans=given,
            plans_from=None if plans is None else plans.name,
            device=device,
            show_progress=True,
        )
    print(f"pools: {folder.folder}, {len(folder.logs)} logs; next: w4s evaluate {_evaluable(source, folder.folder)}")
    return 0


def _evaluable(source: Path, folder: Path) -> Path:
    """What to evaluate next: a run, if `evaluate` would take these pools of it, else the pools."""
    run = RunFolder(source)
    if run.exists and folder == run.pools(run.validation_split()):
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
    against: OptionalFolder = None,
    weight: float = 1.0,
    draws: int = DRAWS,
    agents: Agents = (),
    metric: OptionalBenchmark = None,
    kernel_variance: OptionalNumber = None,
    allow_missing: bool = False,
    lqr: Lqr = "navsim",
    threads: OptionalCount = None,
) -> int:
    """Evaluate a run, pools, a planner or a submission.

    Computes PDMS v1.1, EPDMS v2.2, EPDMS pre-151, framewise and re-ranked. Writes a table of frames (Parquet, CSV) and
    a summary (JSON, Markdown, figure) with intervals by bootstrap over logs. A submission with --out FILE.csv gives the
    official table of one metric instead, and for a two-stage split a second one,
    FILE_stage_two.csv; --agents compares agents that need no model.

    Example: w4s evaluate runs/city

    Args:
        source: Training run, folder of pools, planner or released checkpoint (with --data and --split), or submission.
        out: Folder of the evaluation; SOURCE/evaluation for runs and pools unless given. Or a CSV file.
        store: Scene store; by default the one that a run or pools name.
        data: Dataset folder, for a planner, or for a run on other data.
        split: Name of a split, or its YAML file: for a planner, a two-stage submission, or a run on another split.
        against: Folder of another evaluation: adds differences paired by frame, with intervals.
        weight: How much consistency with the last choice counts in re-ranking.
        draws: Number of bootstrap draws over logs.
        agents: Evaluate these instead of a source; --out is a CSV file.
        metric: Metric of the official table; epdms-v2.2 unless given.
        kernel_variance: For two-stage splits [m^2]: weigh second-stage frames by distance, print one score.
        allow_missing: Leave out tokens of the store without a plan, instead of failing.
        lqr: Tracker of the rollouts: as in the official simulator, or with the intended jerk penalty.
        threads: Threads; one for each core unless given.
    """
    from world4scorer.engine.outcomes.batch import set_threads

    if threads is not None:
        set_threads(threads)
    if (source is None) != bool(agents):
        raise UsageError("name what to evaluate: a run, pools, a planner, a submission; or --agents")
    ends_in_csv = out is not None and out.suffix == ".csv"
    if agents or ends_in_csv or metric is not None or kernel_variance is not None:
        if against is not None or data is not None or (weight, draws) != (1.0, DRAWS):
            raise UsageError("--against, --data, --weight and --draws belong to an evaluation into a folder")
        return _official(source, out, store, split, agents, metric, kernel_variance, allow_missing, lqr)
    assert source is not None
    if out is not None and out.is_file():
        raise ValueError(f"--out {out}: a file; give a folder, or for an official table a name that ends in .csv")
    from world4scorer.evaluation.scores.frames import read_frames
    from world4scorer.evaluation.scores.pool_evaluation import evaluate_pools
    from world4scorer.jobs.files import check_folder

    check_folder(source if out is None else out)
    others = None if against is None else read_frames(against)
    pools = _pools(source, out, store, data, split, allow_missing, lqr)
    evaluated = evaluate_pools(pools, weight, draws)
    if others is not None and against is not None:
        evaluated = evaluated.against(others, against.name, draws)
    given = {"split": split, "against": against, "weight": weight, "draws": draws}
    given |= {"allow_missing": allow_missing, "lqr": lqr}
    command = command_line(["w4s", "evaluate"], evaluate, source, given)
    folder = RunFolder(source).evaluation if out is None else out
    evaluated.save(folder, command)
    print(evaluated.finding.markdown(command))
    print(f"written: {folder}/frames.parquet, frames.csv, evaluation.json, evaluation.md, evaluation.png")
    return 0


def _pools(
    source: Path,
    out: Path | None,
    store: Path | None,
    data: Path | None,
    split: str | None,
    allow_missing: bool,
    lqr: Lqr,
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
        if out is None or store is None or data is not None or split is not None:
            raise UsageError(
                f"{source}: a submission needs --store and --out, and no --data; --split belongs to official tables of "
                "two stages (--out FILE.csv)"
            )
        return pools_of_submission(source, store, lqr, allow_missing)
    if is_planner(source):
        require_torch("w4s evaluate")
        if out is None or data is None or split is None:
            raise UsageError(f"{source}: a planner needs --data, --split and --out; a training run knows its own")
        return pools_of_planner(source, data, split, store, RunFolder(out).all_pools, lqr)
    if is_pools(source):
        if data is not None or split is not None:
            raise UsageError(f"{source}: a folder of pools has its frames already; leave out --data and --split")
        return open_pools(source, store, lqr)
    if (data is not None or split is not None) and out is None:
        raise UsageError("--out: name the folder of an evaluation on other data or another split")
    return open_pools(source, store, lqr, data, split)


def _official(
    source: Path | None,
    out: Path | None,
    store: Path | None,
    split: str | None,
    agents: tuple[AgentName, ...],
    metric: Benchmark | None,
    kernel_variance: float | None,
    allow_missing: bool,
    lqr: Lqr,
) -> int:
    """Write a CSV as the official scripts do, and print its means."""
    from world4scorer.cli.console_tables import print_scores, print_tables
    from world4scorer.datasets.navsim.submissions import read_submission
    from world4scorer.datasets.store import SceneStore
    from world4scorer.evaluation.scores.reports import (
        compare_agents,
        evaluate_both_stages,
        evaluate_one_stage,
        stage_two_file,
    )
    from world4scorer.evaluation.scores.tables import agent_tables

    if out is None or out.suffix != ".csv":
        raise UsageError(f"--out {out}: must end in .csv for --agents, --metric and two-stage splits")
    if store is None:
        raise UsageError("--store: name the scene store to evaluate on")
    if kernel_variance is not None and split is None:
        raise UsageError("--kernel-variance: belongs to two-stage evaluation; give --split as well")
    if agents and (metric is not None or split is not None or allow_missing):
        raise UsageError(
            "--agents: scored by both metrics on all recorded frames; --metric, --split and --allow-missing "
            "belong to submissions"
        )
    scenes = SceneStore(store)
    if source is None:
        print_tables(agent_tables(compare_agents(scenes, agents, out, lqr)))
        return 0
    plans = read_submission(source)
    metric = metric or "epdms-v2.2"
    if split is None:
        print_scores(evaluate_one_stage(scenes, plans, out, metric, lqr, allow_missing), out)
        return 0
    result, combined = evaluate_both_stages(
        scenes, plans, Path(split), out, metric, lqr, allow_missing, kernel_variance
    )
    print_scores(result.first, out)
    print_scores(result.second, stage_two_file(out))
    if combined is not None:
        print(f"combined, kernel variance {kernel_variance:g} m^2: {combined:.4f}")
    return 0


def compare(run: Run, /, out: AnyPath, blind_scenes: int = 8192, pools: OptionalFile = None) -> int:
    """Compare a run's planner with simple controls.

    On its validation split. Trains the controls on the same data: a scorer without images on the planner's own pools,
    and an MLP of the ego status. Takes minutes.

    Example: w4s compare runs/city --out table

    Args:
        run: Folder of a finished `w4s train`.
        out: Results without suffix: OUT.md, OUT.json, OUT.png.
        blind_scenes: Maximum number of training scenes of the scorer without images.
        pools: Also save the planner's plans in these scenes (.npz), for example for `w4s bank histogram`.
    """
    require_torch("w4s compare")
    from world4scorer.evaluation.scores.comparison import compare as compare_run
    from world4scorer.jobs.files import check_folder

    if pools is not None and pools.suffix != ".npz":
        raise UsageError(f"--pools {pools}: must end in .npz")
    check_folder(out.parent)
    comparison = compare_run(run, blind_scenes, pools_file=pools)
    command = f"w4s compare {run.name} --out {out.name}"
    comparison.save(out, command)
    print(comparison.markdown(command))
    return 0


def report(
    source: RunOrPools, /, out: OptionalFile = None, split: OptionalSplit = None, store: OptionalFolder = None
) -> int:
    """Write one HTML page with all results of a run.

    Evaluation, learning curves, studies, frames, configuration. The page stands alone: no other file, no network, no
    script. Missing parts are listed with the command that makes them.

    Example: w4s report runs/city

    Args:
        source: Folder of a training run, or a folder of pools.
        out: The page; SOURCE/report.html unless given.
        split: Whose pools to show; those of the validation split unless given.
        store: Scene store of the pools, if it is not where they say.
    """
    from world4scorer.evaluation.pools.pool_files import is_pools

    if RunFolder(source).exists and not is_pools(source):
        require_torch("w4s report")
    from world4scorer.reporting.report.write import write_report

    path = write_report(source, out, split, store)
    print(f"written: {path}, {path.stat().st_size / 1e6:.1f} MB")
    return 0
