"""Outcome labels of generated plans, computed in threads concurrently with the model.

>>> pending = maker.submit(tokens, plans)     # returns at once
>>> ...                                       # the predictor runs
>>> labels = pending.result()                 # (B, N, 7)

Shapes: B scenes, N plans, T poses.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from world4scorer.datasets.store import SceneStore
from world4scorer.engine.outcomes.v1 import label
from world4scorer.engine.rollout.plans import LqrProfile


class LabelError(ValueError):
    """An unusable plan or label; the message names the token."""


class PlanLabeller(Protocol):
    """Labels plans of scenes. Must be thread-safe."""

    def label(self, token: str, plans_NT3: NDArray[np.float64]) -> NDArray[np.float64]:
        """Labels (N, 7) of plans, in the order of `V1_COLUMNS`."""
        ...


@dataclass(frozen=True, eq=False)
class SceneLabeller:
    """Labels plans by NAVSIM's metrics in the scenes of a store."""

    store: SceneStore
    lqr: LqrProfile = "navsim"

    def label(self, token: str, plans_NT3: NDArray[np.float64]) -> NDArray[np.float64]:
        """Labels (N, 7) of plans."""
        return label(self.store[token], plans_NT3, lqr=self.lqr).table


@dataclass
class LabelTimes:
    """Time spent on labels [s]."""

    worked: float = 0.0
    """CPU time of label threads."""
    waited: float = 0.0
    """Time the model waited for labels."""
    scenes: int = 0

    def clear(self) -> None:
        """Reset."""
        self.worked, self.waited, self.scenes = 0.0, 0.0, 0


@dataclass
class PendingLabels:
    """Labels being computed."""

    futures: Sequence[Future[tuple[NDArray[np.float32], float]]]
    times: LabelTimes

    def result(self) -> Tensor:
        """Wait for the labels (B, N, 7), in the order of `V1_COLUMNS`."""
        start = time.perf_counter()
        tables = []
        for future in self.futures:
            table, seconds = future.result()
            tables.append(table)
            self.times.worked += seconds
        self.times.waited += time.perf_counter() - start
        self.times.scenes += len(tables)
        return torch.from_numpy(np.stack(tables))


@dataclass
class LabelThreads:
    """Labels plans in threads."""

    labeller: PlanLabeller
    threads: int = 1
    times: LabelTimes = field(default_factory=LabelTimes)

    def __post_init__(self) -> None:
        self._pool = ThreadPoolExecutor(self.threads, thread_name_prefix="w4s-labels")

    def submit(self, tokens: Sequence[str], plans_BNT3: Tensor) -> PendingLabels:
        """Start labelling the plans of each scene."""
        plans = plans_BNT3.detach().cpu().numpy().astype(np.float64)
        futures = [self._pool.submit(self._label, token, poses) for token, poses in zip(tokens, plans, strict=True)]
        return PendingLabels(futures, self.times)

    def _label(self, token: str, plans_NT3: NDArray[np.float64]) -> tuple[NDArray[np.float32], float]:
        start = time.thread_time()
        if not np.isfinite(plans_NT3).all():
            raise LabelError(f"scene {token!r}: the model generated plans that are not finite; lower the learning rate")
        table = self.labeller.label(token, plans_NT3)
        if not np.isfinite(table).all():
            raise LabelError(f"scene {token!r}: a label is not finite; prepare this scene again")
        return table.astype(np.float32), time.thread_time() - start
