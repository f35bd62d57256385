"""Commands of `With plans of any planner`: score, rerank; and `submit` and `which`, of `Judge`."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import tyro

from world4scorer.cli.arguments import (
    HIDE_DEFAULT,
    Folder,
    Lqr,
    OptionalCount,
    OptionalFile,
    OptionalFolder,
    OptionalSplit,
    PositionalPaths,
    metavar,
)
from world4scorer.cli.command_line import command_line
from world4scorer.cli.data import prepare_missing_store
from world4scorer.cli.exit_codes import INPUT_ERROR, UsageError, require_torch
from world4scorer.cli.two_stage import TwoStageData, find_two_stage
from world4scorer.jobs.run_folder import Weights
from world4scorer.planner.bundled import planner_folder

if TYPE_CHECKING:
    from world4scorer.evaluation.pools.choices import Selection
    from world4scorer.evaluation.scores.submit import ChosenPlans

Metric = Literal["labels-v1", "pdms-v1.1", "epdms-v2.2", "epdms-pre151", "all"]
OptionalRunOrPools = Annotated[Path | None, tyro.conf.Positional, metavar("RUN|POOLS")]
SubmissionFile = Annotated[Path, tyro.conf.Positional, metavar("SUBMISSION")]
OptionalScore = Annotated[str | None, metavar("SCORE")]
OptionalSelection = Annotated[Literal["reranked", "framewise"] | None, HIDE_DEFAULT]


def score(
    files: PositionalPaths, /, out: Folder, metric: Metric = "all", lqr: Lqr = "navsim", threads: OptionalCount = None
) -> int:
    """Score every plan of exchange files.

    Writes one result file for each, and prints a table of means.

    Example: w4s score scenes/ --metric all --out scores

    Args:
        files: Exchange files (.npz), or folders of them.
        out: Folder for the results, one .npz of the same name for each file.
        metric: Which outcomes to compute.
        lqr: Tracker of the rollouts: as in the official simulator, or with the intended jerk penalty.
        threads: Files at a time; one for each core unless given.
    """
    from world4scorer.cli.console_tables import print_tables
    from world4scorer.engine.outcomes.batch import set_threads
    from world4scorer.evaluation.scores.exchange_files import exchange_files, score_files
    from world4scorer.evaluation.scores.tables import mean_tables

    _check_given(files)
    if threads is not None:
        set_threads(threads)
    scored = list(score_files(exchange_files(files), metric, out, lqr))
    print_tables(mean_tables(scored), total=True)
    return _report_failures([result.error for result in scored if result.error is not None], len(scored))


def rerank(files: PositionalPaths, /, out: Folder, weight: float = 1.0, lqr: Lqr = "navsim") -> int:
    """Select plans along logs with inertial re-ranking.

    Each exchange file holds the frames of a log in time order, with utilities of their plans.

    Example: w4s rerank logs/ --weight 1.0 --out choices

    Args:
        files: Exchange files (.npz) with utilities, or folders of them.
        out: Folder for the choices, one .npz of the same name for each file.
        weight: How much consistency with the last choice counts; 0 turns re-ranking off.
        lqr: Tracker of the rollouts: as in the official simulator, or with the intended jerk penalty.
    """
    from world4scorer.cli.console_tables import print_tables
    from world4scorer.evaluation.scores.exchange_files import exchange_files, rerank_files
    from world4scorer.evaluation.scores.tables import reranked_tables

    _check_given(files)
    results = list(rerank_files(exchange_files(files), weight, out, lqr))
    print_tables(reranked_tables(results, weight))
    return _report_failures([result.error for result in results if result.error is not None], len(results))


def _check_given(files: Sequence[Path]) -> None:
    if not files:
        raise UsageError("no exchange files given; name .npz files, or folders of them")


def _report_failures(errors: Sequence[str], total: int) -> int:
    for error in errors:
        print(f"w4s: {error}", file=sys.stderr)
    if errors and total > 1:
        print(f"w4s: {len(errors)} of {total} files could not be used; the others are done", file=sys.stderr)
    return INPUT_ERROR if errors else 0


def submit(
    source: OptionalRunOrPools = None,
    /,
    *,
    out: OptionalFile = None,
    check: OptionalFile = None,
    split: OptionalSplit = None,
    weights: Weights = "best",
    form: Literal["v1.1", "v2.2"] = "v2.2",
    selection: OptionalSelection = None,
    weight: float = 1.0,
    store: OptionalFolder = None,
    data: OptionalFolder = None,
    team_name: str = "",
    authors: str = "",
    email: str = "",
    institution: str = "",
    country: str = "",
) -> int:
    """Write a planner's choices as a NAVSIM submission; or check one.

    Scene store and pools of a run are made where they are missing. A two-stage split gives plans for both stages, each
    pair of frames re-ranked by itself. --check FILE examines a file before the day's only
    upload: keys, metadata, tokens, shapes, numbers, sampling, expected score; exit code 1 unless it is ready.

    Example: w4s submit runs/navsim --split navtest --out submission.pkl --team-name us

    Args:
        source: Training run, or folder of pools; for a two-stage split also a planner with --data.
        out: The submission (.pkl); a JSON file beside it says how it was made.
        check: Check this submission instead: against --split with --data, or --store, whose scenes also score it.
        split: Name of a split, or its YAML file; a run's validation split unless given.
        weights: Planner of a run: the one with the best validation score, or the last.
        form: Official script that reads it; its benchmark's utility chooses.
        selection: How plans are chosen; reranked for v2.2 and framewise for v1.1 unless given.
        weight: How much consistency with the last choice counts in re-ranking.
        store: Scene store, if it is not where the pools say; for --check, scenes to score on.
        data: Dataset folder: of the split for --check, or of a run on other data.
        team_name: Metadata that leaderboards ask for.
        authors: Likewise.
        email: Likewise.
        institution: Likewise.
        country: Likewise.
    """
    if check is not None:
        if source is not None or out is not None:
            raise UsageError("--check: examines a file; leave out the source and --out")
        return _check(check, split, store, data)
    if source is None or out is None:
        raise UsageError("name a run or pools, and --out; or --check FILE")
    if out.suffix != ".pkl":
        raise UsageError(f"--out {out}: must end in .pkl")
    from world4scorer.evaluation.pools.open import open_pools
    from world4scorer.evaluation.pools.pool_files import is_pools
    from world4scorer.evaluation.scores.submit import submit as choose
    from world4scorer.jobs.files import check_file

    check_file(out)
    selection = selection or ("framewise" if form == "v1.1" else "reranked")
    stages = None if split is None or is_pools(source) else find_two_stage(source, split, data, store)
    if stages is not None:
        made = _submit_two_stage(source, stages, form, selection, weight, weights)
        print(f"{stages.split.name}: {len(made.plans):,} plans, {len(made.second_stage):,} of the second stage")
        against = f"--split {split} --data {stages.root} --store {stages.store}"
    else:
        prepare_missing_store(source, split, data, store)
        pools = open_pools(source, store, data=data, split=split, weights=weights)
        made = choose(pools, form, selection, weight)
        print(pools.describe())
        against = f"--store {pools.about['store']}"
    notes = made.save(out, team_name, authors, email, institution, country)
    expected = ", ".join(f"{name} {score:.4f}" for name, score in made.scores.items())
    print(f"{made.selection}, form {made.version}; expected here: {expected}")
    print(f"written: {out}, {notes}; next: w4s submit --check {out} {against}")
    return 0


def _submit_two_stage(
    source: Path, stages: TwoStageData, form: str, selection: Selection, weight: float, weights: Weights
) -> ChosenPlans:
    from world4scorer.evaluation.two_stage.groups import read_groups

    require_torch("w4s submit")
    from world4scorer.evaluation.two_stage.submit import submit_two_stage

    if form == "v1.1":
        raise UsageError(f"--form v1.1: has one stage; {stages.split.name} needs v2.2")
    asked = stages.planner_source(planner_folder(source), weights)
    return submit_two_stage(asked, read_groups(stages.split), *stages.second_stage, selection, weight)


def _check(path: Path, split: str | None, store: Path | None, data: Path | None) -> int:
    from world4scorer.datasets.navsim.splits import find_split
    from world4scorer.datasets.store import SceneStore
    from world4scorer.evaluation.scores.check_submission import check_submission
    from world4scorer.evaluation.two_stage.groups import read_groups
    from world4scorer.evaluation.two_stage.submission import check_two_stage_submission

    wanted, scenes = None, None if store is None else SceneStore(store)
    if split is not None:
        if data is None and not split.endswith((".yaml", ".yml")):
            raise UsageError("--split: needs --data, which knows it; or give the path of its YAML file")
        wanted = find_split(split, Path() if data is None else data)
        if wanted.filter.tokens is None and store is None:
            raise UsageError(f"--split {split}: lists no tokens; give --store with its prepared scenes")
    if wanted is not None and wanted.two_stage:
        report = check_two_stage_submission(path, read_groups(wanted), scenes)
    else:
        report = check_submission(path, None if wanted is None else wanted.filter.tokens, scenes)
    *found, verdict = report.lines()
    print("\n".join(found))
    print(verdict if report.is_ready else f"w4s: {verdict}", file=sys.stdout if report.is_ready else sys.stderr)
    return 0 if report.is_ready else INPUT_ERROR


def which(
    submission: SubmissionFile,
    /,
    store: Folder,
    score: OptionalScore = None,
    out: OptionalFolder = None,
    split: OptionalSplit = None,
    data: OptionalFolder = None,
    allow_missing: bool = False,
    threads: OptionalCount = None,
) -> int:
    """Score a submission by every rule; find the one behind a score.

    PDMS v1.1, and EPDMS by human filter (v2.2, before its fix, off), traffic (replay, reactive), two-frame EC (with,
    without) and LQR profile, side by side, with what the differences come from. A two-stage split adds the scores of
    both stages.

    Example: w4s which submission.pkl --store scenes --score 88.1

    Args:
        submission: Submission of either form, or a pickled dict token -> (8, 3).
        store: Scene store whose frames are scored.
        score: Reported score, as printed: 51.5 and 51.50 are rounded differently. Above 1 it is in percent.
        out: Folder of which.json and which.md; only printed unless given.
        split: Name of a split with two stages, or its YAML file, for the scores of both.
        data: Dataset folder that knows the split, if it is not the store's.
        allow_missing: Leave out frames without a plan, instead of failing.
        threads: Threads; one for each core unless given.
    """
    from world4scorer.cli.console_tables import print_tables
    from world4scorer.datasets.store import SceneStore
    from world4scorer.engine.outcomes.batch import set_threads
    from world4scorer.evaluation.rules.finding import which_rule
    from world4scorer.evaluation.rules.reported import ReportedScore
    from world4scorer.evaluation.two_stage.groups import StageGroup, read_groups
    from world4scorer.jobs.files import check_folder

    if threads is not None:
        set_threads(threads)
    reported = None if score is None else ReportedScore.parse(score)
    groups: list[StageGroup] = []
    if split is not None:
        stages = find_two_stage(submission, split, data, store)
        if stages is None:
            raise UsageError(f"--split {split}: not a two-stage split; the store says which frames are scored")
        groups = read_groups(stages.split)
    if out is not None:
        check_folder(out)
    finding = which_rule(SceneStore(store), submission, groups, reported, allow_missing)
    print(finding.data)
    print_tables([(table.title, table.columns, table.rows) for table in finding.tables])
    for remark in finding.remarks:
        print(f"- {remark}")
    if out is not None:
        given = {"score": score, "split": split, "allow_missing": allow_missing}
        path = finding.save(out, command_line(["w4s", "which"], which, submission, given))
        print(f"written: {path}.json, {path}.md")
    return 0
