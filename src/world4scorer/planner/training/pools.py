"""The pools that a planner proposes for a split: plans and logits of every scene.

Shapes: S scenes, N plans, T poses.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from world4scorer.datasets.prepare.samples import Samples
from world4scorer.planner.model.components import COMPONENTS
from world4scorer.planner.model.images import normalise
from world4scorer.planner.model.utility import Benchmark
from world4scorer.planner.planner import Planner, ScoredPlans
from world4scorer.planner.training.dataset import Batch, PlanningDataset, collate

BATCH: Final = 32
"""Scenes at a time."""


class Pools(NamedTuple):
    """Plans of scenes with the planner's logits and utilities."""

    tokens: tuple[str, ...]
    plans: NDArray[np.float32]
    """(S, N, T, 3)"""
    logits: NDArray[np.float32]
    """(S, N, 6) in the order of `COMPONENTS`"""
    utility: NDArray[np.float32]
    """(S, N)"""


def make_pools(planner: Planner, samples: Samples, benchmark: Benchmark = "v1") -> Pools:
    """Generate the pools of all scenes."""
    plans, logits, worth = [], [], []
    for batch in pool_batches(samples, planner):
        scored: ScoredPlans = planner(normalise(batch.views), batch.ego_status, batch.cameras)
        plans.append(scored.plans.numpy())
        logits.append(torch.stack([scored.logits[name] for name in COMPONENTS], -1).numpy())
        worth.append(scored.utility(benchmark).numpy())
    return Pools(samples.tokens, *(np.concatenate(parts).astype(np.float32) for parts in (plans, logits, worth)))


def pool_batches(samples: Samples, planner: Planner) -> Iterator[Batch]:
    """All scenes in order."""
    dataset = PlanningDataset(samples, planner.config, images=planner.config.images)
    for start in range(0, len(samples), BATCH):
        yield collate([dataset[index, 0] for index in range(start, min(start + BATCH, len(samples)))])
