"""A training run that takes a second: a small model on the tiny city."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from world4scorer.city.world.global_plan import CityRoutes
from world4scorer.datasets.navsim.splits import find_split
from world4scorer.datasets.prepare.fill_store import prepare
from world4scorer.datasets.prepare.samples import Samples
from world4scorer.datasets.prepare.source import NavsimSource
from world4scorer.jobs.executors import SerialExecutor
from world4scorer.planner.bank import BankConfig, make_bank
from world4scorer.planner.model import city as dense_city_model
from world4scorer.planner.model import city_vit as city_model
from world4scorer.planner.targets.make_targets import make_targets
from world4scorer.planner.training.augmentation import AugmentationConfig
from world4scorer.planner.training.config import OptimiserConfig, TrainConfig
from world4scorer.planner.training.grid_mask import GridMaskConfig
from world4scorer.planner.training.run import Machine, TrainData

SMALL = TrainConfig(
    model=replace(
        city_model(),
        image_height=28,
        image_width=56,
        crop_top=0,
        patch=14,
        vit_width=24,
        vit_layers=2,
        vit_heads=2,
        scene_queries=2,
        width=32,
        heads=2,
        feed_forward=32,
        generator_layers=1,
        predictor_layers=1,
        proposals=8,
        dropout=0.1,
        drop_path=0.1,
        sampling_width=4,
        sampling_fine=4,
    ),
    optimiser=OptimiserConfig(learning_rate=4e-3, clip=1.0),
    augmentation=AugmentationConfig(mirror=0.5, light=0.2),
    grid_mask=GridMaskConfig(probability=0.5),
    epochs=2,
    batch=16,
    seed=5,
)
"""67 scenes: four batches an epoch."""

SMALL_DENSE = replace(
    SMALL,
    model=replace(
        dense_city_model(),
        scene_queries=2,
        width=32,
        heads=2,
        feed_forward=32,
        predictor_layers=1,
        proposals=8,
        vocabulary=24,
        sampling_width=4,
    ),
    augmentation=AugmentationConfig(),
    grid_mask=GridMaskConfig(probability=0.0),
    vit_weights="city",
)
"""The same around the frozen encoder."""

MACHINE = Machine(accelerator="cpu", label_threads=1, threads=1, checkpoint_every=3)


@dataclass(frozen=True)
class TrainingSet:
    data: TrainData
    config: TrainConfig


def prepare_training_set(city: Path, root: Path) -> TrainingSet:
    """Stores, samples, bank and future targets of a city."""
    for split in ("city_train", "city_val"):
        found = find_split(split, city)
        prepare(NavsimSource(city, found, routes=CityRoutes(city)), root / split, SerialExecutor(), show_progress=False)
        Samples.of_split(city, found, root / split, SerialExecutor())
    make_bank(root / "city_train", root / "bank", BankConfig(proposals=80), SerialExecutor())
    make_targets(city, "city_train", "city", root / "future.arrow", executor=SerialExecutor())
    data = TrainData(
        data=city,
        split="city_train",
        store=root / "city_train",
        val_split="city_val",
        val_store=root / "city_val",
        bank=root / "bank",
        targets=root / "future.arrow",
    )
    return TrainingSet(data, SMALL)
