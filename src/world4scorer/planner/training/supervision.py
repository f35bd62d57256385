"""Training scenes of a run as supervision for `planner.stability`.

>>> trained = TrainedScenes.of_run(Path("runs/city"))
>>> geometry = Geometry.of(trained.supervision(planner, trained.draw(16)))

Plans, bank draws of the last epoch and weights are those of training; its augmentations are left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
import torch

from world4scorer.datasets.store import SceneStore
from world4scorer.engine.outcomes.results import V1_COLUMNS
from world4scorer.planner.planner import Planner
from world4scorer.planner.stability import LossWeights, SupervisedScenes, Supervision
from world4scorer.planner.training.config import TrainConfig
from world4scorer.planner.training.dataset import PlanningDataset, collate
from world4scorer.planner.training.inputs import open_bank, open_targets
from world4scorer.planner.training.labels import LabelThreads, SceneLabeller
from world4scorer.planner.training.losses import INVALID_TTC
from world4scorer.planner.training.run import subsample
from world4scorer.planner.training.run_files import read_run
from world4scorer.planner.training.split_samples import split_samples

BATCH: Final = 16
"""Scenes at a time."""


@dataclass(frozen=True, eq=False)
class TrainedScenes:
    """Training scenes of a run."""

    config: TrainConfig
    dataset: PlanningDataset
    labels: LabelThreads

    @classmethod
    def of_run(cls, run: Path) -> TrainedScenes:
        """Those of a training run, with bank and targets where its losses have a weight."""
        config, data = read_run(run)
        samples = subsample(split_samples(data.data, data.split, data.store, config.model.ego_numbers), config)
        dataset = PlanningDataset(
            samples,
            config.model,
            bank=open_bank(config, data.bank, samples),
            targets=open_targets(config, data.targets, samples),
            seed=config.seed,
            images=config.model.images,
        )
        return cls(config, dataset, LabelThreads(SceneLabeller(SceneStore(data.store))))

    def draw(self, count: int, seed: int = 0) -> list[int]:
        """Indices of `count` scenes, from as many logs as possible."""
        names = self.dataset.samples.log_names
        if not 0 < count <= len(names):
            raise ValueError(f"supervised: {count} scenes wanted; the run was trained on {len(names)}")
        order = np.random.default_rng(seed).permutation(len(names)).tolist()
        taken: dict[str, int] = {}
        turns = []
        for index in order:
            taken[names[index]] = taken.get(names[index], 0) + 1
            turns.append(taken[names[index]])
        return [order[i] for i in np.argsort(turns, kind="stable")[:count]]

    @torch.no_grad()
    def scenes(self, planner: Planner, indices: Sequence[int]) -> SupervisedScenes:
        """Some scenes as training saw them."""
        batch = collate([self.dataset[index, self.config.epochs - 1] for index in indices])
        image = batch.image
        plans = planner(image, batch.ego_status, batch.cameras).plans
        table = self.labels.submit(batch.tokens, plans).result()
        return SupervisedScenes(
            image,
            batch.ego_status,
            batch.cameras,
            table[..., V1_COLUMNS.index("TTC")] != INVALID_TTC,
            batch.bank,
            batch.bank_valid,
            batch.trajectory if batch.future is not None else None,
            batch.future_valid,
        )

    @property
    def weights(self) -> LossWeights:
        """Of the run's losses."""
        losses = self.config.loss_weights
        return LossWeights(losses.score, losses.bank, losses.future)

    def supervision(self, planner: Planner, indices: Sequence[int], dtype: torch.dtype = torch.float32) -> Supervision:
        """Supervision by the labels and futures of these scenes."""
        batches = (self.scenes(planner, indices[start : start + BATCH]) for start in range(0, len(indices), BATCH))
        return Supervision.of(planner.network, batches, self.weights, dtype)
