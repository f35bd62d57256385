from __future__ import annotations

from pathlib import Path

import pytest

from small_training import SMALL, TrainingSet
from world4scorer.datasets.navsim.splits import find_split
from world4scorer.datasets.prepare.fill_store import prepare
from world4scorer.datasets.prepare.samples import Samples
from world4scorer.datasets.prepare.source import NavsimSource
from world4scorer.jobs.executors import SerialExecutor
from world4scorer.planner.bank import BankConfig, make_bank
from world4scorer.planner.targets.make_targets import make_targets
from world4scorer.planner.training.run import TrainData


@pytest.fixture(scope="session")
def training_set(city: Path, tmp_path_factory: pytest.TempPathFactory) -> TrainingSet:
    """The tiny city, ready for training: stores, samples, bank, future targets."""
    root = tmp_path_factory.mktemp("training")
    for split in ("city_train", "city_val"):
        found = find_split(split, city)
        prepare(NavsimSource(city, found), root / split, SerialExecutor(), show_progress=False)
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
