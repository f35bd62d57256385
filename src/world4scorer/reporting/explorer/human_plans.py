"""Plans of a scene store, which has none but the human's: pools of one plan."""

from __future__ import annotations

from typing import Any

from world4scorer.datasets.store import SceneStore
from world4scorer.engine.outcomes.batch import map_threads
from world4scorer.evaluation.pools.foreign import single_plans
from world4scorer.evaluation.pools.outcome_files import LogOutcomes, judge_log
from world4scorer.evaluation.pools.pool_files import LogPool
from world4scorer.evaluation.pools.scored import ScoredPools


def human_pools(scenes: SceneStore) -> ScoredPools:
    """The human's plan as a pool of one, in every scene that has one; nothing is kept."""
    driven = {token: scenes[token].human_future for token in scenes}
    plans = {token: plan for token, plan in driven.items() if plan is not None}
    if not plans:
        raise ValueError(f"{scenes.folder}: nobody drove in these scenes, so there is no plan to show; give pools")

    def judged(log: LogPool) -> tuple[LogPool, LogOutcomes]:
        return log, judge_log(log, scenes)

    logs = list(map_threads(judged, single_plans(plans, scenes, list(plans))))
    return ScoredPools.join({**describe_store(scenes), "planner": "human", "lqr": "navsim"}, logs)


def describe_store(scenes: SceneStore) -> dict[str, Any]:
    """What the store knows of itself, as pools would say it."""
    options = scenes.provenance(scenes.logs[0]).get("options", {})
    return {"split": options.get("split"), "store": str(scenes.folder)}
