"""Two-stage evaluation (navhard): plans of the recorded frames, then plans of synthetic frames around where they led.

The split's mapping lists groups: a recorded frame, its predecessor, and synthetic frames with theirs. In both stages a
frame and its predecessor are compared, and both receive the extended comfort that results. A frame's score is
product * (5 EP + 5 TTC + 2 LK + 2 HC + 2 EC) / 16, or / 14 without EC; a stage's score is the mean over its frames.
Synthetic frames have no human, so nothing is forgiven there.

How much each synthetic frame of a group counts depends on how near it starts to where the plan of stage one led. The
weights are an input (`TwoStageEvaluation.combined`); `gaussian_weights` makes them from a kernel of given width.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from world4scorer.datasets.navsim.submissions import tokens_with_plan
from world4scorer.datasets.store import SceneStore
from world4scorer.engine.outcomes.results import V2Outcome
from world4scorer.engine.rollout.plans import LqrProfile, roll_out
from world4scorer.evaluation.scores.pairing import FramePair, make_pair
from world4scorer.evaluation.scores.score_table import ScoreTable
from world4scorer.evaluation.scores.submission import Metric, compare, judge_v2, make_table, v2_row

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class StageGroup:
    """One entry of a two-stage split's mapping."""

    token: str
    previous: str
    second: tuple[tuple[str, str], ...]
    """Synthetic tokens with their predecessors."""


def read_groups(mapping: Iterable[Any]) -> list[StageGroup]:
    """Read `reactive_all_mapping` of a split: [token, previous, [[synthetic, its previous], ...]] each."""
    groups = []
    for number, entry in enumerate(mapping):
        try:
            token, previous, second = entry
            pairs = tuple((str(a), str(b)) for a, b in second)
        except (TypeError, ValueError) as error:
            raise ValueError(
                f"reactive_all_mapping: entry {number} is not [token, previous, [[synthetic, previous], ...]]: {error}"
            ) from error
        groups.append(StageGroup(str(token), str(previous), pairs))
    if not groups:
        raise ValueError("reactive_all_mapping: no entries; this split has no second stage")
    return groups


@dataclass(frozen=True, eq=False)
class TwoStageEvaluation:
    """Scores of both stages."""

    groups: Sequence[StageGroup]
    first: ScoreTable
    second: ScoreTable

    def combined(self, weights: Mapping[str, Any]) -> float:
        """Return the mean over groups of stage one's score times the weighted mean of stage two's.

        `weights` gives, for the token of each group, one number for each of its synthetic frames, in the order of
        the mapping.
        """
        first = dict(zip(self.first.tokens, self.first.columns["score"].tolist(), strict=True))
        second = dict(zip(self.second.tokens, self.second.columns["score"].tolist(), strict=True))
        scores = []
        for group in self.groups:
            weight = np.asarray(weights.get(group.token, ()), np.float64)
            if weight.shape != (len(group.second),) or not (weight >= 0).all() or not weight.sum() > 0:
                raise ValueError(
                    f"weights of {group.token!r}: {len(group.second)} numbers are needed, none negative, not all 0; "
                    f"got {weight.tolist()}"
                )
            follow = np.array([second[token] for token, _ in group.second])
            scores.append(first[group.token] * float(weight @ follow / weight.sum()))
        return float(np.mean(scores))


def gaussian_weights(
    store: SceneStore,
    first: Mapping[str, Any],
    groups: Sequence[StageGroup],
    variance: float,
    lqr: LqrProfile = "navsim",
) -> dict[str, Floats]:
    """Weigh synthetic frames by exp(-d^2 / (2 variance)), d [m] from where the first-stage rollout ends to their start.

    `variance` [m^2] has no default: it belongs to the benchmark's configuration.
    """
    if not variance > 0:
        raise ValueError(f"variance: {variance}; a positive number of square metres is needed")
    weights = {}
    for group in groups:
        end = roll_out(store[group.token], np.asarray(first[group.token])[None], lqr)[0, -1, :2]
        starts = np.array([store[token].ego_state[:2] for token, _ in group.second])
        squares = ((starts - end) ** 2).sum(axis=1)
        weights[group.token] = np.exp(-(squares - squares.min()) / (2 * variance))  # scaled, lest all vanish
    return weights


def evaluate_two_stage(
    store: SceneStore,
    first: Mapping[str, Any],
    second: Mapping[str, Any],
    groups: Sequence[StageGroup],
    *,
    metric: Metric = "epdms-v2.2",
    lqr: LqrProfile = "navsim",
    allow_missing: bool = False,
) -> TwoStageEvaluation:
    """Score the plans of both stages, token -> (8, 3), on the frames that the groups name."""
    if metric == "pdms-v1.1":
        raise ValueError("metric: two-stage evaluation belongs to v2; choose 'epdms-v2.2' or 'epdms-pre151'")
    stage_one = [(group.token, group.previous) for group in groups]
    stage_two = [pair for group in groups for pair in group.second]
    return TwoStageEvaluation(
        groups,
        _evaluate_stage(store, first, stage_one, metric, lqr, allow_missing),
        _evaluate_stage(store, second, stage_two, metric, lqr, allow_missing),
    )


def _evaluate_stage(
    store: SceneStore,
    plans: Mapping[str, Any],
    couples: Sequence[tuple[str, str]],
    metric: Metric,
    lqr: LqrProfile,
    allow_missing: bool,
) -> ScoreTable:
    wanted = list(dict.fromkeys(token for couple in couples for token in couple))
    unknown = [token for token in wanted if token not in store]
    if unknown:
        raise ValueError(
            f"{len(unknown)} of {len(wanted)} tokens of the mapping are not in {store.folder}: {unknown[:5]}"
        )
    present = tokens_with_plan(wanted, plans, allow_missing)
    outcomes: dict[str, V2Outcome] = dict(judge_v2(store, plans, present, metric, lqr))
    continued = dict.fromkeys(present, np.nan)
    for pair in _pairs(store, couples, outcomes):
        value = compare(pair, outcomes[pair.token].rollouts[0], outcomes[pair.previous].rollouts[0])
        continued[pair.token] = continued[pair.previous] = value
    rows = [v2_row(outcomes[token], continued[token]) for token in present]
    columns = {name: np.array([row[name] for row in rows]) for name in rows[0]}
    return make_table(metric, lqr, wanted, present, columns)


def _pairs(store: SceneStore, couples: Sequence[tuple[str, str]], outcomes: Mapping[str, Any]) -> list[FramePair]:
    made = (
        make_pair(store, token, previous) for token, previous in couples if token in outcomes and previous in outcomes
    )
    return [pair for pair in made if pair is not None]
