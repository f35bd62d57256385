from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.support.scenes import make_log, make_plans
from world4scorer.datasets.store import SceneStore, write_shard
from world4scorer.evaluation.pools import LogPool, PoolFolder
from world4scorer.evaluation.pools.pool_files import digest_of_tokens

PLANS = 9


@pytest.fixture(scope="session")
def store(tmp_path_factory: pytest.TempPathFactory) -> SceneStore:
    folder = tmp_path_factory.mktemp("store")
    for number, name in enumerate(["alpha", "beta"]):
        write_shard(folder, name, make_log(name, 5, seed=number))
    write_shard(folder, "gaps", make_log("gaps", 3, seed=2, spacing_us=600_000))
    return SceneStore(folder)


def make_pool(store: SceneStore, log_name: str) -> LogPool:
    """Plans around what was driven, thought of at random."""
    tokens = store.tokens_of(log_name)
    rng = np.random.default_rng(len(log_name))
    plans = np.stack([make_plans(store[token], PLANS, seed=seed) for seed, token in enumerate(tokens)])
    worth = rng.normal(size=(2, len(tokens), PLANS)).astype(np.float32)
    return LogPool(
        log_name,
        tuple(tokens),
        np.array([store.time_us(token) for token in tokens]),
        plans.astype(np.float32),
        worth[0],
        worth[1],
        rng.normal(size=(len(tokens), PLANS, 6)).astype(np.float32),
        rng.normal(size=(len(tokens), PLANS, 16)).astype(np.float32),
    )


@pytest.fixture
def folder(store: SceneStore, tmp_path: Path) -> PoolFolder:
    """Pools of all three logs."""
    about = {"planner": "made up", "weights": "abc", "split": "none", "store": str(store.folder), "frames": len(store)}
    about["tokens"] = digest_of_tokens(store.tokens)
    folder = PoolFolder.begin(tmp_path / "pools", about)
    for name in store.logs:
        folder.write(make_pool(store, name))
    return folder
