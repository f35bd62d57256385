"""A small scene store and a folder of pools on it: real outcomes; drawn utilities, logits and states."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from tests.support.scenes import make_log, make_plans
from world4scorer.datasets.store import write_shard
from world4scorer.engine.selection.utility import OUTCOMES
from world4scorer.evaluation.pools import LogPool, PoolFolder
from world4scorer.evaluation.pools.pool_files import digest_of_tokens

LOGS = ("alpha", "beta", "gamma")
STATE_WIDTH = 8


def write_pools(folder: Path, store: Path, logs: Sequence[LogPool]) -> Path:
    """A finished folder of pools."""
    tokens = [token for log in logs for token in log.tokens]
    about = {"planner": "drawn", "split": "mini", "store": str(store), "weights": "drawn"}
    opened = PoolFolder.begin(folder, about | {"frames": len(tokens), "tokens": digest_of_tokens(tokens)})
    for log in logs:
        opened.write(log)
    return folder


def store_pools(
    root: Path, frames: int = 5, plans: int = 6, seed: int = 0, logits: bool = False, states: bool = False
) -> Path:
    """Write ROOT/store and ROOT/pools, which have no logits and states unless wanted; returns the latter."""
    rng = np.random.default_rng(seed)
    logs = []
    for number, name in enumerate(LOGS):
        scenes = make_log(name, frames, seed=number)
        write_shard(root / "store", name, scenes, {"options": {"split": "mini"}})
        utility = rng.normal(size=(frames, plans)).astype(np.float32)
        logs.append(
            LogPool(
                name,
                tuple(scene.token for scene in scenes),
                np.array([scene.time_us for scene in scenes]),
                np.stack([make_plans(scene, plans, seed + place) for place, scene in enumerate(scenes)]).astype("f4"),
                utility,
                utility + rng.normal(0, 0.3, utility.shape).astype(np.float32),
                _draw([seed, number], (frames, plans, len(OUTCOMES))) if logits else None,
                _draw([seed, number], (frames, plans, STATE_WIDTH)) if states else None,
            )
        )
    return write_pools(root / "pools", root / "store", logs)


def _draw(seed: Sequence[int], shape: tuple[int, ...]) -> np.ndarray:
    return np.random.default_rng(seed).normal(1, 2, shape).astype(np.float32)
