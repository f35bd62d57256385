"""What the extended-comfort check says when it is given another history than the plan taken before.

The check sees rollouts only, so each plan is rolled out in the scene it was made for, whatever it is compared with.
Copied plans are rolled out and scored in the scene into which they are copied.

Shapes: S frames of all logs, F frames of one, N plans.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from world4scorer.datasets.store import SceneStore
from world4scorer.engine.outcomes.batch import map_threads
from world4scorer.engine.outcomes.extended_comfort import extended_comfort, extended_comfort_pairs
from world4scorer.engine.outcomes.results import V2_COLUMNS
from world4scorer.engine.outcomes.v2 import epdms
from world4scorer.engine.rollout.plans import LqrProfile, roll_out
from world4scorer.evaluation.pools.choices import framewise
from world4scorer.evaluation.pools.scored import ScoredPools

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]


class OtherHistories(NamedTuple):
    """Flags of the check under each history, and outcomes of copied plans."""

    wrong_log: Flags
    """(S, N) which plans continue the foreign one"""
    has_two_before: Flags
    """(S,) which frames have a frame before that has one, too"""
    two_before: Flags
    """(S, N, N) [s, i, j]: plan i continues plan j of the frame two before, taken as if it were the one before"""
    two_before_aligned: Flags
    """(S, N, N) the same at its true age"""
    copied: Floats
    """(S, 10) outcomes of the framewise choice of the frame before, submitted now; of the frame's own without one"""
    copied_comfort: Floats
    """(S,) extended comfort of consecutive copies, NaN where there is no frame before"""


def foreign_indices(log_names: Any, seed: int = 0) -> NDArray[np.int64]:
    """(S,) for every frame the index of a frame of another log, all of them equally likely."""
    logs = np.asarray(log_names)
    if len(set(log_names)) < 2:
        raise ValueError(f"log {log_names[0]!r} is the only one; a plan of another log needs pools of two logs or more")
    rng = np.random.default_rng(seed)
    indices = np.empty(len(logs), np.int64)
    for name in dict.fromkeys(log_names):
        indices[logs == name] = rng.choice(np.flatnonzero(logs != name), int((logs == name).sum()))
    return indices


def has_two_before(pools: ScoredPools) -> Flags:
    """(S,) which frames have a frame before that has one, too."""
    return np.asarray(pools.paired & pools.paired[pools.previous])


def other_histories(pools: ScoredPools, store: SceneStore, seed: int = 0) -> OtherHistories:
    """Roll out what each history needs, log by log in threads."""
    lqr: LqrProfile = pools.about["lqr"]
    best = framewise(pools.utility_v2)
    chosen = pools.at(pools.plans, best)
    taken = np.stack(
        list(map_threads(lambda s: roll_out(store[pools.tokens[s]], chosen[s : s + 1], lqr)[0], range(len(pools))))
    )
    foreign = taken[foreign_indices(pools.log_names, seed)]
    logs = np.asarray(pools.log_names)
    parts = [np.flatnonzero(logs == name) for name in dict.fromkeys(pools.log_names)]
    done = map_threads(lambda indices: _of_log(pools, store, indices, foreign, chosen, lqr), parts)
    return OtherHistories(*(np.concatenate(one) for one in zip(*done, strict=True)))


def _of_log(
    pools: ScoredPools, store: SceneStore, indices: NDArray[np.int64], foreign: Floats, chosen: Any, lqr: LqrProfile
) -> OtherHistories:
    frames, plans = len(indices), pools.plans.shape[1]
    wrong = np.zeros((frames, plans), np.bool_)
    older, aligned = np.zeros((2, frames, plans, plans), np.bool_)
    copied, comfort = np.empty((frames, len(V2_COLUMNS))), np.full(frames, np.nan)
    two = has_two_before(pools)[indices]
    rollouts: list[Floats] = []
    copy_before: Floats | None = None
    for f, s in enumerate(indices):
        scene, since = store[pools.tokens[s]], float(pools.interval[s])
        rollouts = [*rollouts[-2:], roll_out(scene, pools.plans[s], lqr)]
        outcome = epdms(scene, chosen[s - 1 if pools.paired[s] else s][None], lqr=lqr)
        copied[f], copy = outcome.table[0], outcome.rollouts[0].copy()
        if pools.paired[s] and copy_before is not None:
            wrong[f] = extended_comfort(rollouts[-1], foreign[s], since) == 1
            comfort[f] = extended_comfort(copy[None], copy_before, since)[0]
        if two[f]:
            older[f] = extended_comfort_pairs(rollouts[-1], rollouts[0], since)
            aligned[f] = extended_comfort_pairs(rollouts[-1], rollouts[0], since + float(pools.interval[s - 1]))
        copy_before = copy
    return OtherHistories(wrong, two, older, aligned, copied, comfort)
