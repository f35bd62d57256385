"""Data loaders of both splits, for one or several processes."""

from __future__ import annotations

import lightning.pytorch as pl
from torch.utils.data import DataLoader

from world4scorer.datasets.prepare.samples import Samples
from world4scorer.planner.training.batches import EpochBatches, TrainingLoader
from world4scorer.planner.training.config import TrainConfig
from world4scorer.planner.training.dataset import (
    Batch,
    FeatureSource,
    Negatives,
    PlanningDataset,
    TargetSource,
    collate,
)


class PlanningDataModule(pl.LightningDataModule):
    """Training and validation data of a run."""

    def __init__(
        self,
        config: TrainConfig,
        samples: Samples,
        val: Samples,
        bank: Negatives | None = None,
        targets: TargetSource | None = None,
        loaders: int = 0,
        features: tuple[FeatureSource, FeatureSource] | None = None,
    ) -> None:
        super().__init__()
        images = config.model.images
        self.config, self.loaders = config, loaders
        self._start = 0
        cached, val_cached = features or (None, None)
        self.training = PlanningDataset(
            samples, config.model, bank=bank, targets=targets, seed=config.seed, images=images, features=cached
        )
        self.validation = PlanningDataset(val, config.model, seed=config.seed, images=images, features=val_cached)

    def train_dataloader(self) -> TrainingLoader:
        """Batches of the epoch that comes next."""
        assert self.trainer is not None
        batches = EpochBatches(
            len(self.training),
            self.config.batch,
            seed=self.config.seed,
            rank=self.trainer.global_rank,
            processes=self.trainer.world_size,
        )
        batches.start = self._start
        return TrainingLoader(self.training, batches, self.loaders)

    def state_dict(self) -> dict[str, int]:
        """How many batches were trained on: what a checkpoint keeps of the data."""
        assert self.trainer is not None
        return {"batches": self.trainer.global_step}

    def load_state_dict(self, state_dict: dict[str, int]) -> None:
        """Resume from a checkpoint."""
        self._start = state_dict["batches"]

    def val_dataloader(self) -> DataLoader[Batch]:
        """Every validation scene once, shared by the processes."""
        assert self.trainer is not None
        indices = range(self.trainer.global_rank, len(self.validation), self.trainer.world_size)
        size = max(1, self.config.batch // self.trainer.world_size)
        keys = [[(index, 0) for index in indices[start : start + size]] for start in range(0, len(indices), size)]
        return DataLoader(
            self.validation,  # type: ignore[arg-type]
            batch_sampler=keys,
            collate_fn=collate,
            num_workers=self.loaders,
            multiprocessing_context="spawn" if self.loaders else None,
            persistent_workers=self.loaders > 0,
        )
