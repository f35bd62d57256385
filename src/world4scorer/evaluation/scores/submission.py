"""Evaluate one plan per token against a store, as the official one-stage scripts do.

>>> table = evaluate_plans(SceneStore("scenes"), read_submission("s.pkl").plans, metric="epdms-v2.2")
>>> table.score
>>> table.save("scores.csv")
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from world4scorer.datasets.navsim.submissions import tokens_with_plan
from world4scorer.datasets.store import SceneStore
from world4scorer.engine.outcomes.batch import map_threads
from world4scorer.engine.outcomes.extended_comfort import extended_comfort
from world4scorer.engine.outcomes.results import V2_COLUMNS, V2Outcome
from world4scorer.engine.outcomes.v1 import pdms
from world4scorer.engine.outcomes.v2 import epdms
from world4scorer.engine.rollout.plans import LqrProfile
from world4scorer.evaluation.scores.pairing import FramePair, pairs_within_logs
from world4scorer.evaluation.scores.score_table import ScoreTable

Metric = Literal["pdms-v1.1", "epdms-v2.2", "epdms-pre151"]
Floats = NDArray[np.float64]

V1_NAMES: Final = (
    "no_at_fault_collisions",
    "drivable_area_compliance",
    "ego_progress",
    "time_to_collision_within_bound",
    "comfort",
    "driving_direction_compliance",
    "score",
)
"""Official names of `V1_COLUMNS`."""

V2_NAMES: Final = (
    "no_at_fault_collisions",
    "drivable_area_compliance",
    "driving_direction_compliance",
    "traffic_light_compliance",
    "ego_progress",
    "time_to_collision_within_bound",
    "lane_keeping",
    "history_comfort",
    "multiplicative_metrics_prod",
    "pdm_score",
)
"""Official names of `V2_COLUMNS`."""

WEIGHTED: Final = ("EP", "TTC", "LK", "HC")
"""What the official vector `weighted_metrics` holds; its fifth entry, for extended comfort, is always 0."""


def evaluate_plans(
    store: SceneStore,
    plans: Mapping[str, Any],
    *,
    metric: Metric,
    lqr: LqrProfile = "navsim",
    tokens: Iterable[str] | None = None,
    allow_missing: bool = False,
) -> ScoreTable:
    """Score `plans`, token -> (8, 3), on the given tokens, or on all of the store.

    A token without a plan is an error, or, with `allow_missing`, a row that is not valid and does not count. Plans for
    other tokens are left aside.
    """
    if metric not in get_args(Metric):
        raise ValueError(f"metric: unknown metric {metric!r}; choose from {', '.join(get_args(Metric))}")
    wanted = store.tokens if tokens is None else store.in_time_order(list(dict.fromkeys(tokens)))
    present = tokens_with_plan(wanted, plans, allow_missing)
    if metric == "pdms-v1.1":
        columns = _evaluate_v1(store, plans, present, lqr)
    else:
        columns = _evaluate_v2(store, plans, present, metric, lqr)
    return make_table(metric, lqr, wanted, present, columns)


def make_table(
    metric: str, lqr: str, wanted: Sequence[str], present: Sequence[str], columns: Mapping[str, Floats]
) -> ScoreTable:
    """Put the columns of the tokens that are present into a table of all that were wanted."""
    there = set(present)
    valid = np.array([token in there for token in wanted], np.bool_)
    spread = {}
    for name, values in columns.items():
        spread[name] = np.full((len(wanted), *values.shape[1:]), np.nan)
        spread[name][valid] = values
    return ScoreTable(metric, lqr, wanted, valid, spread)


def _evaluate_v1(
    store: SceneStore, plans: Mapping[str, Any], tokens: Sequence[str], lqr: LqrProfile
) -> dict[str, Floats]:
    def judge(token: str) -> Floats:
        return np.asarray(pdms(store[token], [plans[token]], lqr=lqr).table[0])

    table = np.stack(list(map_threads(judge, tokens)))
    return dict(zip(V1_NAMES, table.T, strict=True))


def _evaluate_v2(
    store: SceneStore, plans: Mapping[str, Any], tokens: Sequence[str], metric: Metric, lqr: LqrProfile
) -> dict[str, Floats]:
    pairs = pairs_within_logs(store, tokens)
    rows: list[dict[str, Any]] = []
    before: Floats | None = None
    for token, outcome in judge_v2(store, plans, tokens, metric, lqr):
        rollout = outcome.rollouts[0]
        pair = pairs.get(token)
        continued = np.nan if pair is None else compare(pair, rollout, before)
        rows.append(v2_row(outcome, continued))
        before = rollout
    return {name: np.array([row[name] for row in rows]) for name in rows[0]}


def judge_v2(
    store: SceneStore, plans: Mapping[str, Any], tokens: Sequence[str], metric: Metric, lqr: LqrProfile
) -> Iterator[tuple[str, V2Outcome]]:
    """Yield each token with the outcome of its plan, in order, computed ahead in threads."""
    version: Literal["pre151", "v2.2"] = "pre151" if metric == "epdms-pre151" else "v2.2"

    def judge(token: str) -> V2Outcome:
        return epdms(store[token], [plans[token]], version=version, lqr=lqr)

    return zip(tokens, map_threads(judge, tokens), strict=True)


def compare(pair: FramePair, rollout: Floats, before: Floats | None) -> float:
    """Return 1.0 if the rollout (41, 11) of the later frame continues that of the earlier, else 0.0."""
    if before is None:
        raise ValueError(f"the rollout of {pair.previous!r} is needed before {pair.token!r}")
    return float(extended_comfort(rollout[None], before, pair.interval)[0])


def v2_row(outcome: V2Outcome, continued: float) -> dict[str, Any]:
    """Return a frame's row; `continued` is its extended comfort, NaN where it has none."""
    used = outcome.raw[0] if outcome.metric == "epdms-pre151" else outcome.table[0]
    weighted = [used[V2_COLUMNS.index(name)] for name in WEIGHTED]
    return {
        **dict(zip(V2_NAMES, outcome.table[0].tolist(), strict=True)),
        "weighted_metrics": np.array([*weighted, 0.0]),
        "two_frame_extended_comfort": continued,
        "score": float(outcome.score_with(np.array([continued]))[0]),
    }
