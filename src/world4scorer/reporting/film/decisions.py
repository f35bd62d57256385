"""Decisions of a planner in the frames of a log: plans, choice, score and faults.

Shapes: N plans.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from world4scorer.datasets.navsim.splits import find_split
from world4scorer.datasets.store import SceneStore
from world4scorer.drawing import style
from world4scorer.drawing.faults import Fault, faults_of, forgiven_of
from world4scorer.engine.outcomes.results import V2Outcome
from world4scorer.engine.outcomes.v2 import epdms
from world4scorer.engine.scene.scene import Scene
from world4scorer.evaluation.pools.choices import Chosen, Selection, continued, framewise, select
from world4scorer.evaluation.pools.scored import ScoredPools
from world4scorer.jobs.data_folder import DataFolder

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Decision:
    """Decision of one frame."""

    scene: Scene
    outcome: V2Outcome
    """Outcomes of all plans."""
    utilities: Floats
    """(N,)"""
    chosen: int
    framewise: int
    score: float
    """EPDMS of the choice, extended comfort included where there is a frame before."""
    breaks: bool
    """Whether the choice breaks with that of the frame before: extended comfort is 0."""

    @cached_property
    def colours(self) -> list[str]:
        """Colours of the plans, by utility."""
        return style.utility_colours(self.utilities)

    @cached_property
    def order(self) -> list[int]:
        """Plans from the lowest utility to the highest."""
        return [int(plan) for plan in np.argsort(self.utilities, kind="stable")]

    @cached_property
    def faults(self) -> list[Fault]:
        """Metrics of the choice below 1, except those forgiven by the human filter."""
        forgiven = forgiven_of(self.outcome, self.chosen)
        found = [fault for fault in faults_of(self.outcome, self.chosen) if fault.metric not in forgiven]
        return [Fault(n, f.metric, f.value, f.step, f.index, f.name) for n, f in enumerate(found, 1)]


class Decisions:
    """Decisions of a planner's pools by token."""

    def __init__(self, pools: ScoredPools, store: SceneStore, selection: Selection = "reranked") -> None:
        self._pools, self._store = pools, store
        self._alone: Chosen = framewise(pools.utility_v2)
        self._chosen = select(pools, pools.utility_v2, selection)
        self._score = pools.epdms(self._chosen)
        self._continued = continued(pools, self._chosen)
        self._index = {token: index for index, token in enumerate(pools.tokens)}
        self._last: tuple[str, Decision] | None = None

    def of(self, token: str) -> Decision | None:
        """Decision of a frame, or None without a pool; the last one is cached."""
        index = self._index.get(token)
        if index is None:
            return None
        if self._last is None or self._last[0] != token:
            self._last = (token, self._judged(token, index))
        return self._last[1]

    def _judged(self, token: str, index: int) -> Decision:
        scene, pools = self._store[token], self._pools
        return Decision(
            scene=scene,
            outcome=epdms(scene, pools.plans[index], lqr=pools.about["lqr"]),
            utilities=np.asarray(pools.utility_v2[index], np.float64),
            chosen=int(self._chosen[index]),
            framewise=int(self._alone[index]),
            score=float(self._score[index]),
            breaks=bool(self._continued[index] == 0),
        )


def find_log(pools: ScoredPools, log: str | None = None, data: Path | None = None) -> tuple[Path, str, str | None]:
    """Dataset folder of pools, name of the log to film, and its folder of logs if the name is in several.

    Args:
        pools: Pools of the log.
        log: Name of the log; the most dynamic one if None.
        data: Dataset folder, if not the one that the pools name.
    """
    if log is None:
        log = most_dynamic_log(pools)
    elif log not in pools.log_names:
        raise ValueError(f"--log {log}: no pools of it; there are {', '.join(sorted(set(pools.log_names))[:3])}, ...")
    known, split = data or pools.about.get("data"), pools.about.get("split")
    if known is None or not Path(known).is_dir():
        raise ValueError(f"log {log}: the dataset of these pools is unknown or missing; name it with --data")
    root = Path(known)
    ambiguous = split is not None and len(DataFolder(root).find_log(log)) > 1
    return root, log, find_split(str(split), root).data_split if ambiguous else None


def most_dynamic_log(pools: ScoredPools) -> str:
    """The log with the largest mean acceleration of the ego; the first of equal ones."""
    logs = np.array(pools.log_names)
    found = {name: _mean_acceleration(pools, np.flatnonzero(logs == name)) for name in dict.fromkeys(pools.log_names)}
    return max(found, key=lambda name: found[name])


def _mean_acceleration(pools: ScoredPools, indices: NDArray[np.intp]) -> float:
    """m/s^2, from the positions of three frames each."""
    step = np.diff(pools.time_us[indices]) / 1e6
    velocity = np.diff(pools.ego_pose[indices, :2], axis=0) / step[:, None]
    close = pools.paired[indices[2:]] & pools.paired[indices[1:-1]]  # no gap among the three
    change = np.linalg.norm(np.diff(velocity, axis=0), axis=1) / step[1:]
    return float(change[close].mean()) if close.any() else 0.0
