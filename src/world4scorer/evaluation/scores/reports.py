"""Evaluate a submission or built-in agents and write the CSV and summary files of the official scripts."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from world4scorer.datasets.navsim.filters import read_split
from world4scorer.datasets.navsim.submissions import Submission
from world4scorer.datasets.navsim.synthetic import SYNTHETIC_TOKEN_LENGTH
from world4scorer.datasets.store import SceneStore
from world4scorer.engine.rollout.plans import LqrProfile
from world4scorer.evaluation.scores.agent_scores import AgentScores, evaluate_agents
from world4scorer.evaluation.scores.score_table import ScoreTable
from world4scorer.evaluation.scores.submission import Metric, evaluate_plans
from world4scorer.evaluation.scores.two_stage import (
    TwoStageEvaluation,
    evaluate_two_stage,
    gaussian_weights,
    read_groups,
)


def evaluate_one_stage(
    store: SceneStore, submission: Submission, out: Path, metric: Metric, lqr: LqrProfile, allow_missing: bool
) -> ScoreTable:
    """Evaluate the plans of all recorded frames of a store."""
    tokens = [token for token in store if len(token) != SYNTHETIC_TOKEN_LENGTH]
    table = evaluate_plans(store, submission.plans, metric=metric, lqr=lqr, tokens=tokens, allow_missing=allow_missing)
    table.save(out)
    return table


def evaluate_both_stages(
    store: SceneStore,
    submission: Submission,
    split: Path,
    out: Path,
    metric: Metric,
    lqr: LqrProfile,
    allow_missing: bool,
    kernel_variance: float | None,
) -> tuple[TwoStageEvaluation, float | None]:
    """Evaluate both stages of a two-stage split; the second goes into `stage_two_file(out)`.

    Returns:
        The evaluation, and with a kernel variance [m^2] the combined score.
    """
    groups = read_groups(read_split(split).two_stage)
    result = evaluate_two_stage(
        store, submission.plans, submission.second_stage, groups, metric=metric, lqr=lqr, allow_missing=allow_missing
    )
    result.first.save(out)
    result.second.save(stage_two_file(out))
    if kernel_variance is None:
        return result, None
    return result, result.combined(gaussian_weights(store, submission.plans, groups, kernel_variance, lqr))


def stage_two_file(out: Path) -> Path:
    """Table of the second stage, beside that of the first."""
    return out.with_name(f"{out.stem}_stage_two{out.suffix}")


def compare_agents(store: SceneStore, agents: Sequence[str], out: Path, lqr: LqrProfile) -> AgentScores:
    """Evaluate built-in agents on all recorded frames of a store, one row for each."""
    scores = evaluate_agents(store, agents, lqr=lqr)
    scores.save(out)
    return scores
