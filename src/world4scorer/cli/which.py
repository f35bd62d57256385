"""The command `which`, of `Judge`: one submission under every rule."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import tyro

from world4scorer.cli.arguments import Folder, OptionalCount, OptionalFolder, OptionalSplit, metavar
from world4scorer.cli.command_line import command_line
from world4scorer.cli.exit_codes import UsageError
from world4scorer.cli.two_stage import find_two_stage

SubmissionFile = Annotated[Path, tyro.conf.Positional, metavar("SUBMISSION")]
OptionalScore = Annotated[str | None, metavar("SCORE")]


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
        split: Two-stage split, or its YAML file, for the scores of both stages.
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
