"""Batches of all scenes of a split, for asking a planner."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from world4scorer.datasets.prepare.samples import Samples
from world4scorer.planner.features.feature_cache import find_features
from world4scorer.planner.model.network import FrozenSceneEncoder
from world4scorer.planner.planner import Planner
from world4scorer.planner.training.dataset import Batch, PlanningDataset, collate

BATCH: Final = 32
"""Scenes at a time."""


def pool_batches(samples: Samples, planner: Planner) -> Iterator[Batch]:
    """All scenes in order; with features from the cache of a frozen encoder where there is one."""
    encoder = planner.network.encoder
    cache = find_features(encoder.perceiver, samples) if isinstance(encoder, FrozenSceneEncoder) else None
    dataset = PlanningDataset(samples, planner.config, images=planner.config.images, features=cache)
    for start in range(0, len(samples), BATCH):
        yield collate([dataset[index, 0] for index in range(start, min(start + BATCH, len(samples)))])
