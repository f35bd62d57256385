"""Evaluate a submission or built-in agents and write the CSV and summary files of the official scripts."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from world4scorer.datasets.navsim.submissions import Submission
from world4scorer.datasets.navsim.synthetic import SYNTHETIC_TOKEN_LENGTH
from world4scorer.datasets.store import SceneStore
from world4scorer.engine.rollout.plans import LqrProfile
from world4scorer.evaluation.scores.agent_scores import AgentScores, evaluate_agents
from world4scorer.evaluation.scores.score_table import ScoreTable
from world4scorer.evaluation.scores.submission import Metric, evaluate_plans


def evaluate_one_stage(
    store: SceneStore, submission: Submission, out: Path, metric: Metric, lqr: LqrProfile, allow_missing: bool
) -> ScoreTable:
    """Evaluate the plans of all recorded frames of a store."""
    tokens = [token for token in store if len(token) != SYNTHETIC_TOKEN_LENGTH]
    table = evaluate_plans(store, submission.plans, metric=metric, lqr=lqr, tokens=tokens, allow_missing=allow_missing)
    table.save(out)
    return table


def compare_agents(store: SceneStore, agents: Sequence[str], out: Path, lqr: LqrProfile) -> AgentScores:
    """Evaluate built-in agents on all recorded frames of a store, one row for each."""
    scores = evaluate_agents(store, agents, lqr=lqr)
    scores.save(out)
    return scores
