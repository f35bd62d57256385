"""Submissions for two stages: checked against the split before they are written, and after they are read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from world4scorer.datasets.navsim.submissions import Submission, read_submission, write_submission
from world4scorer.datasets.store import SceneStore
from world4scorer.evaluation.scores.check_submission import SubmissionReport, examine
from world4scorer.evaluation.two_stage.evaluate import IncompleteEvaluationError, TwoStageResult, evaluate_two_stage
from world4scorer.evaluation.two_stage.groups import StageGroup, first_stage_tokens, second_stage_tokens

MAX_LISTED: Final = 5
"""Tokens named in a message."""


def submission_problems(first: Mapping[str, Any], second: Mapping[str, Any], groups: Sequence[StageGroup]) -> list[str]:
    """What keeps the plans of both stages from an official score, in words; nothing if they are complete."""
    problems = []
    stages = (("first", first, first_stage_tokens(list(groups))), ("second", second, second_stage_tokens(list(groups))))
    for name, plans, wanted in stages:
        missing = [token for token in wanted if token not in plans]
        extra = sorted(set(plans) - set(wanted))
        if missing:
            problems.append(f"{name} stage: {len(missing)} of {len(wanted)} tokens have no plan ({_listed(missing)})")
        if extra:
            problems.append(f"{name} stage: {len(extra)} tokens are in no group of the split ({_listed(extra)})")
    return problems


def read_two_stage_submission(path: Path, groups: Sequence[StageGroup], partial: bool = False) -> Submission:
    """Read a submission; a ValueError that says what is missing or too much, unless it may be `partial`."""
    submission = read_submission(path)
    if not submission.second_stage:
        raise ValueError(f"{path}: has no plans for the second stage (second_stage_predictions); the split needs both")
    problems = submission_problems(submission.plans, submission.second_stage, groups)
    if problems and not partial:
        raise ValueError(
            f"{path}: {'; '.join(problems)}. The official evaluation gives no result then; --partial scores the groups "
            "that are complete"
        )
    return submission


def write_two_stage_submission(
    path: Path, first: Mapping[str, Any], second: Mapping[str, Any], groups: Sequence[StageGroup], **header: str
) -> None:
    """Write a submission that has exactly one plan (8, 3) for every token of the split; `header` as `write_submission`.

    A ValueError says what is missing or too much.
    """
    problems = submission_problems(first, second, groups)
    if problems:
        raise ValueError(f"{path}: {'; '.join(problems)}; the official evaluation needs every token once")
    write_submission(path, first, version="v2.2", second_stage=second, **header)


def check_two_stage_submission(
    path: Path, groups: Sequence[StageGroup], store: SceneStore | None = None
) -> SubmissionReport:
    """Check a file as `check_submission` does, against the groups of a two-stage split; a store also scores it."""
    submission, report = examine(path)
    if submission is None:
        return report
    if submission.version != "v2.2":
        return report.plus(errors=[f"form {submission.version} has one stage; a two-stage split needs form v2.2"])
    report = report.plus(errors=submission_problems(submission.plans, submission.second_stage, groups))
    if store is None or report.errors:
        return report
    try:
        result = evaluate_two_stage(store, submission.plans, submission.second_stage, groups)
    except IncompleteEvaluationError as error:
        return report.plus(warnings=[str(error)])
    return report.plus([f"expected {name}: {score:.4f}" for name, score in scores_of(result).items()])


def scores_of(result: TwoStageResult) -> dict[str, float]:
    """The benchmark's score, and those of both stages, by name."""
    return {
        result.metric: result.combined,
        f"{result.metric} stage one": result.stage_one,
        f"{result.metric} stage two": result.stage_two,
    }


def _listed(tokens: Sequence[str]) -> str:
    return ", ".join(tokens[:MAX_LISTED]) + (", ..." if len(tokens) > MAX_LISTED else "")
