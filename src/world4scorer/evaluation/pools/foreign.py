"""Pools of other planners: dumps with their own scores, submissions of one plan per frame, plans to be scored by ours.

A dump is a pickled dict by token, read without running code: plans (N, 8, 3) with logits of six outcomes under
`subscores` (N, 6), or with a utility for each plan.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from world4scorer.datasets.navsim.pools import PlanPool, read_pools
from world4scorer.datasets.navsim.submissions import tokens_with_plan
from world4scorer.datasets.navsim.synthetic import SYNTHETIC_TOKEN_LENGTH
from world4scorer.datasets.store import SceneStore
from world4scorer.engine.selection.utility import OUTCOMES, Benchmark, utility_of_logits
from world4scorer.evaluation.pools.pool_files import (
    ACTIVITY,
    LogPool,
    PoolError,
    PoolFolder,
    digest_of_planner,
    digest_of_tokens,
    is_pools,
)
from world4scorer.jobs.resumable import resumable

BENCHMARKS: Final[tuple[Benchmark, Benchmark]] = ("v1", "v2")
LOGITS: Final = "subscores"
UTILITY: Final = "pdm_score"
"""What released dumps call the planner's own score of each plan."""


def import_dump(dump: Path, store: Path, out: Path, allow_missing: bool = False) -> PoolFolder:
    """Make a folder of pools from a dump, with the scores that it holds.

    All recorded frames of the store must have pools, unless some may be missing.
    """
    pools = read_pools(dump)
    scenes = SceneStore(store)
    known = tokens_with_plan([token for token in scenes if len(token) != SYNTHETIC_TOKEN_LENGTH], pools, allow_missing)
    counts = {len(pools[token].plans) for token in known}
    if len(counts) > 1:
        raise PoolError(f"{dump}: pools of {min(counts)} and of {max(counts)} plans; all must have as many")
    about = {
        "planner": dump.name,
        "store": str(store.resolve()),
        "weights": digest_of_planner(dump),
        "frames": len(known),
        "tokens": digest_of_tokens(known),
    }
    folder = PoolFolder.begin(out, about)
    with resumable(out, ACTIVITY, PoolError):
        for log in by_log(scenes, known):
            folder.write(_log_pool(dump, log, [pools[token] for token in log], scenes))
    return folder


def read_plans(source: Path) -> dict[str, NDArray[np.floating[Any]]]:
    """Plans (N, 8, 3) by token, of a folder of pools or a dump."""
    if is_pools(source):
        folder = PoolFolder(source)
        logs = (folder.read(name, states=False) for name in folder.logs)
        return {token: plans for log in logs for token, plans in zip(log.tokens, log.plans, strict=True)}
    return {token: pool.plans for token, pool in read_pools(source).items()}


def single_plans(plans: Mapping[str, Any], store: SceneStore, tokens: Sequence[str]) -> list[LogPool]:
    """One plan for each token, as pools without a choice."""
    found = []
    for log in by_log(store, tokens):
        poses = np.stack([np.asarray(plans[token])[None] for token in log])
        no_choice = np.zeros(poses.shape[:2], np.float32)
        found.append(LogPool(store.log_of(log[0]), tuple(log), _times(store, log), poses, no_choice, no_choice))
    return found


def by_log(store: SceneStore, tokens: Sequence[str]) -> list[list[str]]:
    """The tokens of each log in time order."""
    logs: dict[str, list[str]] = {}
    for token in store.in_time_order(list(tokens)):
        logs.setdefault(store.log_of(token), []).append(token)
    return list(logs.values())


def _log_pool(dump: Path, tokens: Sequence[str], pools: Sequence[PlanPool], store: SceneStore) -> LogPool:
    logits = [_logits(pool) for pool in pools]
    plans = np.stack([pool.plans for pool in pools]).astype(np.float32)
    name, times = store.log_of(tokens[0]), _times(store, tokens)
    if all(one is not None for one in logits):
        known = np.stack([one for one in logits if one is not None]).astype(np.float32)
        first, second = (utility_of_logits(known, benchmark) for benchmark in BENCHMARKS)
        return LogPool(name, tuple(tokens), times, plans, first, second, known)
    utility = []
    for token, pool in zip(tokens, pools, strict=True):
        worth = pool.utilities if pool.utilities is not None else pool.others.get(UTILITY)
        if worth is None or np.shape(worth) != (len(pool.plans),):
            raise PoolError(
                f"{dump}: {token!r} holds neither logits ({LOGITS!r}) nor a utility for each plan; score its plans "
                f"with a planner of ours: w4s pools PLANNER --plans {dump.name}"
            )
        utility.append(np.asarray(worth))
    return LogPool(name, tuple(tokens), times, plans, np.stack(utility), np.stack(utility))


def _logits(pool: PlanPool) -> NDArray[np.floating[Any]] | None:
    logits = pool.others.get(LOGITS)
    if logits is None or np.shape(logits) != (len(pool.plans), len(OUTCOMES)):
        return None
    return np.asarray(logits)


def _times(store: SceneStore, tokens: Sequence[str]) -> NDArray[np.int64]:
    return np.array([store.time_us(token) for token in tokens])
