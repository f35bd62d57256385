"""The plans of recorded frames under every rule: each plan is judged once by tracker and traffic."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import product
from typing import Any, Final

import numpy as np

from world4scorer.datasets.store import SceneStore
from world4scorer.engine.outcomes.batch import map_threads
from world4scorer.engine.outcomes.results import V1_COLUMNS, V2_COLUMNS, V1Outcome, V2Outcome
from world4scorer.engine.outcomes.v1 import pdms
from world4scorer.engine.outcomes.v2 import TrafficMode, epdms
from world4scorer.engine.rollout.plans import LqrProfile
from world4scorer.engine.scene.checks import SceneError
from world4scorer.evaluation.rules.rule import LQR_PROFILES, TRAFFIC_MODES, Rule, RuleScore, epdms_rules, filtered_as
from world4scorer.evaluation.scores.pairing import pairs_within_logs
from world4scorer.evaluation.scores.submission import compare

Plans = Mapping[str, Any]
SUB_SCORES: Final = V2_COLUMNS[:-2]


def one_stage_scores(store: SceneStore, plans: Plans, tokens: Sequence[str]) -> list[RuleScore]:
    """Scores of plans, token -> (8, 3), on tokens in time order, by every rule of one stage."""
    scores = []
    for lqr in LQR_PROFILES:
        scores += _or_missing([Rule("PDMS v1.1", lqr)], partial(_pdms, store, plans, tokens, lqr))
    for traffic, lqr in product(TRAFFIC_MODES, LQR_PROFILES):
        scores += _or_missing(epdms_rules("EPDMS", lqr, traffic), partial(_epdms, store, plans, tokens, lqr, traffic))
    return scores


def _or_missing(rules: Sequence[Rule], judge: Callable[[], list[RuleScore]]) -> list[RuleScore]:
    """Scores, or what the scenes lack for them, such as lanes for reactive traffic in an old store."""
    try:
        return judge()
    except SceneError as error:
        return [RuleScore(rule, None, str(error)) for rule in rules]


def _pdms(store: SceneStore, plans: Plans, tokens: Sequence[str], lqr: LqrProfile) -> list[RuleScore]:
    def judge(token: str) -> V1Outcome:
        return pdms(store[token], [plans[token]], lqr=lqr)

    table = np.stack([outcome.table[0] for outcome in map_threads(judge, tokens)])
    *means, score = table.mean(axis=0).tolist()
    return [RuleScore(Rule("PDMS v1.1", lqr), score, means=dict(zip(V1_COLUMNS[:-1], means, strict=True)))]


def _epdms(
    store: SceneStore, plans: Plans, tokens: Sequence[str], lqr: LqrProfile, traffic: TrafficMode
) -> list[RuleScore]:
    outcomes, comfort = zip(*_judged(store, plans, tokens, lqr, traffic), strict=True)
    continued = np.array(comfort)
    scores = []
    for rule in epdms_rules("EPDMS", lqr, traffic):
        kind = [filtered_as(outcome, rule.human_filter) for outcome in outcomes]
        counted = continued if rule.extended_comfort else np.full(len(kind), np.nan)
        score = np.mean([one.score_with(counted[i : i + 1])[0] for i, one in enumerate(kind)])
        means = np.stack([one.table[0] for one in kind]).mean(axis=0)[: len(SUB_SCORES)]
        paired = counted[~np.isnan(counted)]
        named = dict(zip(SUB_SCORES, means.tolist(), strict=True)) | (
            {"EC": float(paired.mean())} if len(paired) else {}
        )
        scores.append(RuleScore(rule, float(score), means=named))
    return scores


def _judged(
    store: SceneStore, plans: Plans, tokens: Sequence[str], lqr: LqrProfile, traffic: TrafficMode
) -> Iterator[tuple[V2Outcome, float]]:
    """Outcomes of v2.2, and the extended comfort of each frame, NaN where it has no predecessor."""

    def judge(token: str) -> V2Outcome:
        return epdms(store[token], [plans[token]], lqr=lqr, traffic=traffic)

    pairs = pairs_within_logs(store, tokens)
    before = None
    for token, outcome in zip(tokens, map_threads(judge, tokens), strict=True):
        pair = pairs.get(token)
        yield outcome, np.nan if pair is None else compare(pair, outcome.rollouts[0], before)
        before = outcome.rollouts[0]
