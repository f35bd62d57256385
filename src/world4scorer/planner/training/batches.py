"""Batch sampler and resumable loader.

Epoch e is a permutation by (seed, e), cut into global batches; each process takes its share of every batch. Incomplete
batches are dropped.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from torch.utils.data import DataLoader, Sampler

from world4scorer.planner.training.dataset import Batch, Key, PlanningDataset, collate


def check_batch(samples: int, batch: int, processes: int) -> None:
    """Raise a ValueError unless batches of this size can be made of the samples and shared by the processes."""
    if batch % processes:
        raise ValueError(f"batch: {batch} scenes cannot be shared evenly by {processes} processes")
    if samples < batch:
        raise ValueError(f"batch: {batch} scenes, but the split has only {samples}; use a smaller batch")


class EpochBatches(Sampler[list[Key]]):
    """Batches of (index, epoch) from batch `start` to the end of its epoch."""

    def __init__(self, samples: int, batch: int, *, seed: int, rank: int = 0, processes: int = 1) -> None:
        check_batch(samples, batch, processes)
        self.samples, self.batch, self.seed, self.rank, self.processes = samples, batch, seed, rank, processes
        self.start = 0
        """Number of the next batch, counted over all epochs."""

    def __len__(self) -> int:
        """Batches per epoch."""
        return self.samples // self.batch

    def __iter__(self) -> Iterator[list[Key]]:
        epoch, first = divmod(self.start, len(self))
        order = np.random.default_rng((self.seed, epoch)).permutation(self.samples)
        for number in range(first, len(self)):
            indices = order[number * self.batch : (number + 1) * self.batch]
            yield [(int(index), epoch) for index in indices[self.rank :: self.processes]]


class TrainingLoader(DataLoader[Batch]):
    """A loader that counts its batches, so that each pass resumes after the last one."""

    def __init__(self, dataset: PlanningDataset, batches: EpochBatches, workers: int) -> None:
        super().__init__(
            dataset,  # type: ignore[arg-type]
            batch_sampler=batches,
            collate_fn=collate,
            num_workers=workers,
            multiprocessing_context="spawn" if workers else None,  # children exit when their parent is killed
            persistent_workers=workers > 0,
        )
        self.batches = batches

    def __iter__(self) -> Any:
        for batch in super().__iter__():
            self.batches.start += 1
            yield batch
