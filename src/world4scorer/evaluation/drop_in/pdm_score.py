"""`pdm_score`: one trajectory against one metric cache, as the official evaluation scores it."""

from __future__ import annotations

from typing import Any

from world4scorer.datasets.metric_cache.read import MetricCache
from world4scorer.engine.outcomes.v1 import pdms
from world4scorer.engine.outcomes.v2 import epdms
from world4scorer.engine.rollout.plans import LqrProfile
from world4scorer.evaluation.scores.submission import V1_NAMES, V2_NAMES


def pdm_score(
    metric_cache: MetricCache, model_trajectory: Any, *, human_filter: bool = True, lqr: LqrProfile = "navsim"
) -> dict[str, float]:
    """Metrics and score of a trajectory by their official names, by the rules of the cache's version.

    The trajectory is (8, 3), or an object with `poses`. For v2.2 `score` is EPDMS without EC, after the human filter;
    `pdm_score` is what the devkit reports under that name, before it.
    """
    plan = getattr(model_trajectory, "poses", model_trajectory)
    if metric_cache.version == "v1.1":
        return dict(zip(V1_NAMES, pdms(metric_cache.scene, [plan], lqr=lqr).table[0].tolist(), strict=True))
    outcome = epdms(metric_cache.scene, [plan], human_filter=human_filter, lqr=lqr)
    return {**dict(zip(V2_NAMES, outcome.table[0].tolist(), strict=True)), "score": float(outcome.score[0])}
