"""Evaluate plans for both stages of a two-stage split, as the official script does.

>>> groups = read_groups(find_split("navhard_two_stage", Path("openscene")))
>>> result = evaluate_two_stage(SceneStore("scenes"), submission.plans, submission.second_stage, groups)
>>> result.combined, result.stage_one, result.stage_two

In both stages each plan is judged in the traffic that reacts to it, and the extended comfort of a pair of frames goes
to both of them. A frame's score is product * (5 EP + 5 TTC + 2 LK + 2 HC + 2 EC) / 16, in the first stage after the
human filter. A frame of the first stage with score A is followed by scenes whose weighted mean score is B; the combined
score is the mean of A B over all frames, `now` and `previous` alike.

Every frame of the mapping is needed. Where one is missing or fails, the official script ends without any result; here
it ends with an error that names the frames, or, if asked for, with the rest: without the pairs of follow-ups that lack
a frame, and without the groups that lack one of their recorded frames or all follow-ups.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Final, Literal

import numpy as np

from world4scorer.datasets.store import SceneStore
from world4scorer.engine.outcomes.batch import map_threads
from world4scorer.engine.outcomes.results import V2Outcome
from world4scorer.engine.outcomes.v2 import EpdmsVersion, TrafficMode, epdms
from world4scorer.engine.rollout.plans import LqrProfile
from world4scorer.engine.scene.geometry import Floats
from world4scorer.engine.scene.indices import State
from world4scorer.evaluation.scores.pairing import make_pair
from world4scorer.evaluation.scores.submission import V2_NAMES, compare, v2_row
from world4scorer.evaluation.two_stage.groups import (
    FRAMES,
    Frame,
    StageGroup,
    first_stage_tokens,
    second_stage_tokens,
)
from world4scorer.evaluation.two_stage.weights import FollowUpWeights, end_point, follow_up_weights

COLUMNS: Final = (*V2_NAMES[:-2], "two_frame_extended_comfort")
"""Metrics of the official table, by their official names."""
MAX_LISTED: Final = 5
"""Frames named in an error."""
TwoStageMetric = Literal["epdms-v2.2", "epdms-pre151"]


class IncompleteEvaluationError(ValueError):
    """Frames are missing or failed, so that there is no official result."""


@dataclass(frozen=True, eq=False)
class FrameResult:
    """A frame that was judged."""

    row: Mapping[str, Any]
    """Metrics and score by their official names."""
    outcome: V2Outcome
    """Outcome of its one plan."""


@dataclass(frozen=True, eq=False)
class GroupScore:
    """Scores of one frame of a group."""

    group: StageGroup
    frame: Frame
    first: float
    """Score of the recorded frame, A."""
    second: float
    """Weighted mean score of its follow-ups, B."""
    weights: FollowUpWeights
    """Of its follow-ups, in the order of `StageGroup.second`."""


@dataclass(frozen=True, eq=False)
class TwoStageResult:
    """Scores of both stages."""

    metric: str
    lqr: str
    traffic: str
    """`reactive` or `replay`."""
    groups: Sequence[StageGroup]
    """Groups that count, with the follow-ups that count."""
    wanted: Sequence[StageGroup]
    """All groups of the split."""
    frames: Mapping[str, FrameResult]
    """Frames by token."""
    problems: Mapping[str, str]
    """Tokens of frames that are missing or failed, with the reason."""
    weights: Mapping[str, FollowUpWeights]
    """By token of the recorded frame."""

    @property
    def valid(self) -> bool:
        """Whether no frame is missing, so that this is the official result."""
        return not self.problems

    @cached_property
    def by_frame(self) -> list[GroupScore]:
        """Scores of every frame of every group."""
        return [
            GroupScore(group, frame, *self._pair(group, frame, "score"), self.weights[group.first(frame)])
            for group in self.groups
            for frame in FRAMES
        ]

    def _pair(self, group: StageGroup, frame: Frame, column: str) -> tuple[float, float]:
        """A column of a recorded frame, and its weighted mean over the follow-ups."""
        token = group.first(frame)
        values = np.array([self.frames[name].row[column] for name in group.second(frame)])
        weight = self.weights[token].weights
        return float(self.frames[token].row[column]), float((weight * values).sum() / weight.sum())

    def means(self, stage: Literal[1, 2]) -> dict[str, float]:
        """Mean of every metric and of the score over the frames of a stage, the second weighted."""
        return {
            column: float(np.mean([self._pair(g, frame, column)[stage - 1] for g in self.groups for frame in FRAMES]))
            for column in (*COLUMNS, "score")
        }

    @property
    def stage_one(self) -> float:
        """Mean score of the first stage."""
        return float(np.mean([part.first for part in self.by_frame]))

    @property
    def stage_two(self) -> float:
        """Mean of the weighted mean scores of the second stage."""
        return float(np.mean([part.second for part in self.by_frame]))

    @property
    def combined(self) -> float:
        """The benchmark's score."""
        return float(np.mean([part.first * part.second for part in self.by_frame]))


def evaluate_two_stage(
    store: SceneStore,
    first: Mapping[str, Any],
    second: Mapping[str, Any],
    groups: Sequence[StageGroup],
    *,
    traffic: TrafficMode = "reactive",
    metric: TwoStageMetric = "epdms-v2.2",
    lqr: LqrProfile = "navsim",
    partial: bool = False,
) -> TwoStageResult:
    """Score the plans of both stages, token -> (8, 3), on the frames that the groups name.

    With `partial`, frames that are missing or fail are left out instead of ending in an error.
    """
    wanted = list(groups)
    plans = {token: first[token] for token in first_stage_tokens(wanted) if token in first}
    plans |= {token: second[token] for token in second_stage_tokens(wanted) if token in second}
    version: EpdmsVersion = "pre151" if metric == "epdms-pre151" else "v2.2"
    problems = dict(_missing(store, plans, wanted))
    judged: dict[str, V2Outcome] = {}
    present = [token for token in plans if token not in problems]

    def judge(token: str) -> V2Outcome | str:
        try:
            return epdms(store[token], [plans[token]], version=version, lqr=lqr, traffic=traffic)
        except (ValueError, ArithmeticError) as error:
            return str(error)

    for token, outcome in zip(present, map_threads(judge, present), strict=True):
        if isinstance(outcome, str):
            problems[token] = outcome
        else:
            judged[token] = outcome
    frames = dict(_compared(store, judged, wanted, problems))
    problems = {token: problems[token] for token in _all_tokens(wanted) if token in problems}
    kept = list(_complete(wanted, frames))
    if problems and not partial:
        raise IncompleteEvaluationError(_verdict(problems, wanted))
    if not kept:
        raise IncompleteEvaluationError(f"no group is complete. {_verdict(problems, wanted)}")
    weights = {group.first(frame): _weights(store, plans, group, frame) for group in kept for frame in FRAMES}
    return TwoStageResult(metric, lqr, traffic, kept, wanted, frames, problems, weights)


def _all_tokens(groups: Sequence[StageGroup]) -> list[str]:
    return [token for group in groups for pair in group.pairs for token in pair]


def _missing(store: SceneStore, plans: Mapping[str, Any], groups: Sequence[StageGroup]) -> Iterator[tuple[str, str]]:
    for token in _all_tokens(groups):
        if token not in store:
            yield token, f"not in the store {store.folder}"
        elif token not in plans:
            yield token, "has no plan"


def _compared(
    store: SceneStore, judged: Mapping[str, V2Outcome], groups: Sequence[StageGroup], problems: dict[str, str]
) -> Iterator[tuple[str, FrameResult]]:
    """Rows of the frames of complete pairs, with the extended comfort that both share."""
    for group in groups:
        for now, previous in group.pairs:
            if now not in judged or previous not in judged:
                continue
            try:
                pair = make_pair(store, now, previous)
                reason = f"more than 0.55 s from {previous!r}, the frame before it in the mapping"
            except ValueError as error:
                pair, reason = None, str(error)
            if pair is None:
                problems[now] = reason
                continue
            comfort = compare(pair, judged[now].rollouts[0], judged[previous].rollouts[0])
            for token in (now, previous):
                yield token, FrameResult(v2_row(judged[token], comfort), judged[token])


def _complete(groups: Sequence[StageGroup], frames: Mapping[str, Any]) -> Iterator[StageGroup]:
    """Groups whose recorded frames are there, with those pairs of follow-ups that are."""
    for group in groups:
        pairs = tuple(pair for pair in group.follow_ups if all(token in frames for token in pair))
        if pairs and group.now in frames and group.previous in frames:
            yield replace(group, follow_ups=pairs)


def _weights(store: SceneStore, plans: Mapping[str, Any], group: StageGroup, frame: Frame) -> FollowUpWeights:
    token = group.first(frame)
    starts: Floats = np.array([store[name].ego_state[[State.X, State.Y]] for name in group.second(frame)])
    return follow_up_weights(end_point(store[token], plans[token]), starts)


def _verdict(problems: Mapping[str, str], groups: Sequence[StageGroup]) -> str:
    listed = "; ".join(f"{token}: {reason}" for token, reason in list(problems.items())[:MAX_LISTED])
    more = f"; and {len(problems) - MAX_LISTED} more" if len(problems) > MAX_LISTED else ""
    return (
        f"no score: {len(problems)} of {len(_all_tokens(groups))} frames are missing or failed ({listed}{more}). "
        "The official evaluation gives no result then; --partial scores the groups that are complete"
    )
