"""The plans of both stages under every rule."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from world4scorer.datasets.navsim.submissions import Submission
from world4scorer.datasets.store import SceneStore
from world4scorer.evaluation.rules.rule import (
    LQR_PROFILES,
    PARTS,
    TRAFFIC_MODES,
    Part,
    Rule,
    RuleScore,
    epdms_rules,
    filtered_as,
)
from world4scorer.evaluation.scores.submission import v2_row
from world4scorer.evaluation.two_stage.evaluate import FrameResult, TwoStageResult, evaluate_two_stage
from world4scorer.evaluation.two_stage.groups import StageGroup


def two_stage_scores(
    store: SceneStore, submission: Submission, groups: Sequence[StageGroup], partial: bool = False
) -> list[RuleScore]:
    """Scores of a submission by every rule of two stages; each plan is judged once by tracker and traffic."""
    scores = []
    for traffic in TRAFFIC_MODES:
        for lqr in LQR_PROFILES:
            judged = evaluate_two_stage(
                store, submission.plans, submission.second_stage, groups, traffic=traffic, lqr=lqr, partial=partial
            )
            for rule in epdms_rules("EPDMS, two stages", lqr, traffic):
                result = _by_rule(judged, rule)
                scores += [RuleScore(replace(rule, part=part), _value(result, part)) for part in PARTS]
    return scores


def _by_rule(result: TwoStageResult, rule: Rule) -> TwoStageResult:
    """The same frames and weights, scored by another rule."""
    frames = {}
    for token, frame in result.frames.items():
        outcome = filtered_as(frame.outcome, rule.human_filter)
        comfort = frame.row["two_frame_extended_comfort"] if rule.extended_comfort else np.nan
        frames[token] = FrameResult(v2_row(outcome, comfort), outcome)
    return replace(result, frames=frames)


def _value(result: TwoStageResult, part: Part) -> float:
    return {"combined": result.combined, "stage one": result.stage_one, "stage two": result.stage_two}[part]
