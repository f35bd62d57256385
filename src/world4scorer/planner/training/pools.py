"""Batches of all scenes of a split, for asking a planner."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from world4scorer.datasets.prepare.samples import Samples
from world4scorer.planner.planner import Planner
from world4scorer.planner.training.dataset import Batch, PlanningDataset, collate

BATCH: Final = 32
"""Scenes at a time."""


def pool_batches(samples: Samples, planner: Planner) -> Iterator[Batch]:
    """All scenes in order."""
    dataset = PlanningDataset(samples, planner.config, images=planner.config.images)
    for start in range(0, len(samples), BATCH):
        yield collate([dataset[index, 0] for index in range(start, min(start + BATCH, len(samples)))])
