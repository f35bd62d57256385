"""Scored pools drawn by seed, for tests of what is computed from them: no scene, no simulator."""

from __future__ import annotations

import numpy as np

from world4scorer.engine.outcomes.results import V1_COLUMNS, V2_COLUMNS
from world4scorer.evaluation.pools.scored import ScoredPools

INTERVAL = 0.5


def random_pools(seed: int = 0, logs: int = 4, frames: int = 6, plans: int = 7, passing: float = 0.4) -> ScoredPools:
    """Outcomes are 0, 0.5 or 1 as in a simulator, progress anything between; the third frame of a log follows a gap."""
    rng = np.random.default_rng(seed)
    count = logs * frames
    place_in_log = np.tile(np.arange(frames), logs)
    interval = np.where((place_in_log == 0) | (place_in_log == 2), np.nan, INTERVAL)

    def flags(*shape: int, share: float = 0.7) -> np.ndarray:
        return (rng.random(shape) < share).astype(np.float64)

    v1 = flags(count, plans, len(V1_COLUMNS))
    v1[..., V1_COLUMNS.index("EP")] = rng.random((count, plans))
    nc, dac, ep, ttc, comfort, _, _ = np.moveaxis(v1, -1, 0)
    v1[..., -1] = nc * dac * (5 * ep + 5 * ttc + 2 * comfort) / 12
    raw = flags(count, plans, len(V2_COLUMNS))
    raw[..., V2_COLUMNS.index("EP")] = rng.random((count, plans))
    filtered = raw.copy()
    forgiven = rng.random((count, 1, 4)) < 0.1
    filtered[..., :4] = np.where(forgiven, 1.0, filtered[..., :4])
    for table in (raw, filtered):
        table[..., V2_COLUMNS.index("product")] = table[..., :4].prod(-1)
    utility = rng.normal(size=(count, plans)).astype(np.float32)
    return ScoredPools(
        about={"planner": "drawn", "split": "nowhere", "lqr": "navsim", "plans_from": None},
        tokens=tuple(f"t{place:04d}" for place in range(count)),
        log_names=tuple(f"log{place // frames}" for place in range(count)),
        time_us=np.arange(count, dtype=np.int64) * 500_000 + 1,
        plans=rng.normal(size=(count, plans, 8, 3)).cumsum(2).astype(np.float32),
        utility_v1=utility,
        utility_v2=(utility + 0.3 * rng.normal(size=utility.shape)).astype(np.float32),
        v1=v1,
        v2=filtered,
        v2_raw=raw,
        previous=np.where(np.isnan(interval), -1, np.arange(count) - 1),
        interval=interval,
        continues=rng.random((count, plans, plans)) < passing,
        ego_pose=rng.normal(size=(count, 3)),
        human_plan=rng.normal(size=(count, 8, 3)).cumsum(1),
        human_continues=np.where(np.isnan(interval), np.nan, flags(count, share=0.9)),
    )
