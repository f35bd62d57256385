"""Where a planner and its scenes come from: a training run, or a planner with a dataset."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from world4scorer.datasets.prepare.samples import Samples
from world4scorer.evaluation.pools.pool_files import describe_planner
from world4scorer.jobs.data_folder import DataFolder
from world4scorer.jobs.model_folder import ModelFolder
from world4scorer.jobs.run_folder import RunFolder, Weights
from world4scorer.planner.conversion import read_planner
from world4scorer.planner.model.config import EGO_NUMBERS, ModelConfig
from world4scorer.planner.planner import Planner
from world4scorer.planner.training.run_files import looked_at, read_run
from world4scorer.planner.training.split_samples import split_samples


@dataclass(frozen=True)
class PlannerSource:
    """A planner, and the scenes it is asked about."""

    planner: Path
    """Folder of a planner, or a released checkpoint."""
    data: Path
    """Dataset folder with navsim_logs and sensor_blobs."""
    split: str
    store: Path
    """Scene store of the split."""

    @classmethod
    def find(
        cls,
        source: Path,
        data: Path | None = None,
        split: str | None = None,
        store: Path | None = None,
        weights: Weights = "best",
    ) -> PlannerSource:
        """A planner of a run, on its validation split by default; or any planner on a given split."""
        if RunFolder(source).exists:
            planner = RunFolder(source).finished_planner(weights)
            seen = looked_at(read_run(source)[1], data, split, store)
            return cls(planner, seen.val_data or seen.data, seen.val_split, seen.val_store)
        if data is None or split is None:
            raise ValueError(f"{source}: not a training run, so --data and --split must say which scenes to look at")
        return cls(source, data, split, store or DataFolder(data).store(split))

    def samples(self) -> Samples:
        """The scenes."""
        if not self.store.is_dir():
            raise ValueError(
                f"{self.store}: no such scene store; make it: w4s prepare --data {self.data} --split {self.split} "
                f"--store {self.store}"
            )
        return split_samples(self.data, self.split, self.store, self._ego_numbers())

    def _ego_numbers(self) -> int:
        """Numbers of ego status that the planner takes; released checkpoints have no route point."""
        config = ModelFolder(self.planner).config_file
        return ModelConfig.from_json(config.read_bytes(), str(config)).ego_numbers if config.is_file() else EGO_NUMBERS

    def load(self) -> Planner:
        """The planner."""
        return read_planner(self.planner)

    def describe(self) -> dict[str, Any]:
        """What tells pools of this planner on this split from others."""
        return {
            **describe_planner(self.planner),
            "split": self.split,
            "store": str(self.store.resolve()),
            "data": str(self.data.resolve()),
        }
