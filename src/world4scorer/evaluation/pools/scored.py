"""All pools of a split with their outcomes, as one set of arrays: what evaluation and studies work on.

>>> pools = ScoredPools.open("pools/city_val")
>>> chosen = inertial(pools, pools.utility_v2)
>>> pools.epdms(chosen).mean()

Shapes: S frames of all logs, each log in time order; N plans; T poses.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from world4scorer.datasets.store import SceneStore
from world4scorer.engine.outcomes.results import V1_COLUMNS, epdms_of_table
from world4scorer.engine.rollout.plans import LqrProfile
from world4scorer.evaluation.pools.choices import continued
from world4scorer.evaluation.pools.outcome_files import LogOutcomes, judge_pools
from world4scorer.evaluation.pools.pool_files import LogPool, PoolError, PoolFolder, digest_of_tokens
from world4scorer.jobs.executors import Executor

Floats = NDArray[np.float64]

DIGEST_DIGITS: Final = 12
"""Of a digest of weights, in results."""


@dataclass(frozen=True, eq=False)
class ScoredPools:
    """Pools of S frames, what the planner thinks of each plan, and what the simulator says."""

    about: Mapping[str, Any]
    """What made the pools: planner, split, tracker."""
    tokens: tuple[str, ...]
    log_names: tuple[str, ...]
    """(S,)"""
    time_us: NDArray[np.int64]
    """(S,)"""
    plans: NDArray[np.floating[Any]]
    """(S, N, T, 3)"""
    utility_v1: NDArray[np.floating[Any]]
    """(S, N)"""
    utility_v2: NDArray[np.floating[Any]]
    """(S, N)"""
    v1: Floats
    """(S, N, 7) PDMS v1.1, columns `V1_COLUMNS`"""
    v2: Floats
    """(S, N, 10) v2.2 after the human filter, columns `V2_COLUMNS`"""
    v2_raw: Floats
    """(S, N, 10) before the human filter"""
    previous: NDArray[np.int64]
    """(S,) index of the previous frame, always one less; -1 for none"""
    interval: Floats
    """(S,) s since then, NaN for none"""
    continues: NDArray[np.bool_]
    """(S, N, N) [s, i, j]: plan i continues plan j of the frame before"""
    ego_pose: Floats
    """(S, 3) global x, y [m], heading [rad]"""
    human_plan: Floats
    """(S, 8, 3), NaN where nobody drove"""
    human_continues: Floats
    """(S,) whether what was driven continues what was driven before; NaN where there is no such pair"""
    logits: NDArray[np.floating[Any]] | None = None
    """(S, N, 6) of the score heads, in the order of `selection.utility.OUTCOMES`; None where some log lacks them"""

    def __len__(self) -> int:
        return len(self.tokens)

    @classmethod
    def open(
        cls,
        folder: str | os.PathLike[str],
        store: str | os.PathLike[str] | None = None,
        lqr: LqrProfile = "navsim",
        executor: Executor | None = None,
    ) -> ScoredPools:
        """Read a folder of pools; what the simulator says is computed where it is not there yet.

        By threads of this process, unless an executor is given. The scene store is the one that the pools name unless
        given.
        """
        pools = PoolFolder(folder)
        where = store if store is not None else pools.about.get("store")
        if where is None:
            raise PoolError(f"{folder}: these pools do not say which scene store they belong to; give --store")
        if not Path(where).is_dir():
            raise PoolError(f"{folder}: the scene store of these pools is not at {where}; say where with --store")
        scenes = SceneStore(where)
        judged = list(judge_pools(pools, scenes, lqr, executor))
        tokens = [token for log, _ in judged for token in log.tokens]
        whole = pools.about.get("frames")
        if not tokens or (isinstance(whole, int) and len(tokens) < whole):
            raise PoolError(
                f"{folder}: holds {len(tokens)} of {whole} frames; run the same `w4s pools` again to finish it"
            )
        if digest_of_tokens(tokens) != pools.about.get("tokens"):
            raise PoolError(f"{folder}: holds other frames than it was made for; delete it and run `w4s pools` again")
        return cls.join({**pools.about, "lqr": lqr, "store": str(Path(where))}, judged)

    @classmethod
    def join(cls, about: Mapping[str, Any], logs: Iterable[tuple[LogPool, LogOutcomes]]) -> ScoredPools:
        """Put logs, at least one, one after the other."""
        pools, outcomes = zip(*logs, strict=True)
        counts = {log.plans.shape[1] for log in pools}
        if len(counts) > 1:
            raise PoolError(f"pools of {min(counts)} and of {max(counts)} plans; all must have as many")
        interval = np.concatenate([one.interval for one in outcomes])
        logits = [log.logits for log in pools if log.logits is not None]
        indices = np.arange(len(interval))
        return cls(
            about=dict(about),
            tokens=tuple(token for log in pools for token in log.tokens),
            log_names=tuple(log.log_name for log in pools for _ in log.tokens),
            **{name: np.concatenate([getattr(log, name) for log in pools]) for name in _OF_POOLS},
            previous=np.where(np.isnan(interval), -1, indices - 1),
            interval=interval,
            **{name: np.concatenate([getattr(one, name) for one in outcomes]) for name in _OF_OUTCOMES},
            logits=np.concatenate(logits) if len(logits) == len(pools) else None,
        )

    @property
    def logs(self) -> int:
        """How many logs there are."""
        return len(set(self.log_names))

    @property
    def weights(self) -> str:
        """Digest of the planner that made them; empty where none is known."""
        return str(self.about.get("weights", ""))

    @property
    def paired(self) -> NDArray[np.bool_]:
        """(S,) which frames have one before them to be compared with."""
        return self.previous >= 0

    @property
    def pdms(self) -> Floats:
        """(S, N) PDMS v1.1 of every plan."""
        return self.v1[..., V1_COLUMNS.index("PDMS")]

    def describe(self) -> str:
        """The data set in a sentence."""
        about, count = self.about, self.plans.shape[1]
        whose = about["planner"]
        if about.get("plans_from"):
            whose = f"plans of {about['plans_from']}, scored by {whose}"
        plans = "one plan" if count == 1 else f"{count} plans"
        split = f" of {about['split']}" if about.get("split") else ""
        whose += weights_words(about)
        return (
            f"{len(self):,} frames of {self.logs} logs{split} ({int(self.paired.sum()):,} with a frame before to be "
            f"compared with), {plans} each; planner: {whose}; tracker: {about['lqr']}."
        )

    def at(self, table: NDArray[Any], chosen: NDArray[np.int64]) -> NDArray[Any]:
        """Entries (S, ...) of the chosen plans in a table (S, N, ...)."""
        return np.asarray(table[np.arange(len(self)), chosen])

    def epdms(self, chosen: NDArray[np.int64], version: str = "v2.2") -> Floats:
        """(S,) EPDMS of a choice in every frame, extended comfort included where there is a frame before."""
        table = self.v2_raw if version == "pre151" else self.v2
        return epdms_of_table(self.at(table, chosen), continued(self, chosen))


def weights_words(about: Mapping[str, Any]) -> str:
    """Which weights made pools, with the first digits of their digest; empty where nothing is known."""
    if not about.get("weights"):
        return ""
    which = {"best": "best weights", "last": "last weights"}.get(str(about.get("checkpoint")), "weights")
    chosen = f", chosen on {about['selected_on']}" if about.get("selected_on") else ""
    return f" ({which} {str(about['weights'])[:DIGEST_DIGITS]}{chosen})"


_OF_POOLS = ("time_us", "plans", "utility_v1", "utility_v2")
_OF_OUTCOMES = ("v1", "v2", "v2_raw", "continues", "ego_pose", "human_plan", "human_continues")
