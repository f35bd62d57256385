"""Find the data of a training run, and make bank and future targets where they are missing."""

from __future__ import annotations

import logging
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Self

from world4scorer.datasets.store import SceneStore
from world4scorer.jobs.data_folder import DataFolder
from world4scorer.jobs.executors import as_executor
from world4scorer.jobs.sources import check_source
from world4scorer.planner.bank import make_bank
from world4scorer.planner.bank.candidate_bank import is_finished
from world4scorer.planner.bank.make import check_bank
from world4scorer.planner.pretrained.image_encoder import load_encoder
from world4scorer.planner.targets.future_targets import MAKE_AGAIN, FutureTargets, TargetError, TargetFrame
from world4scorer.planner.targets.make_targets import make_targets
from world4scorer.planner.training.config import TrainConfig
from world4scorer.planner.training.run import TrainData, check_start

logger = logging.getLogger(__name__)

PRESET_SPLITS: Final = dict.fromkeys(("city", "city-vit"), ("city_train", "city_val"))
"""Splits to train and validate on, for presets that know their data."""
PRESET_ENCODERS: Final = {"city": "city", "city-vit": "city-masked"}
"""Encoders of future targets, for presets that know theirs."""


@dataclass(frozen=True)
class DataSources:
    """Where the data of a run are; None is the default place."""

    data: Path
    """Dataset folder with navsim_logs, maps and sensor_blobs."""
    split: str
    """Split to train on."""
    val_split: str
    """Split to validate on."""
    store: Path | None = None
    """Scene store of the training split; DATA/store/SPLIT by default."""
    val_store: Path | None = None
    """Scene store of the validation split; DATA/store/SPLIT by default."""
    val_data: Path | None = None
    """Dataset folder of the validation split, if another."""
    bank: Path | None = None
    """Pack of candidates; DATA/bank/SPLIT by default, made if it is missing."""
    targets: Path | None = None
    """File of future targets; DATA/targets/SPLIT-WHEN.arrow by default, made if it is missing."""
    target_encoder: str | None = None
    """Encoder of missing targets: `city`, a folder or a file; the weights that the ViT starts from by default."""

    @classmethod
    def of_preset(
        cls,
        preset: str,
        data: Path,
        split: str | None,
        val_split: str | None,
        target_encoder: str | None,
        **given: Path | None,
    ) -> Self:
        """Sources with the splits and the encoder of a preset where none are given."""
        known = PRESET_SPLITS.get(preset, (None, None))
        split, val_split = split or known[0], val_split or known[1]
        if split is None or val_split is None:
            raise ValueError("give --split and --val-split: the splits to train and to validate on")
        return cls(data, split, val_split, target_encoder=target_encoder or PRESET_ENCODERS.get(preset), **given)


def prepare_data(sources: DataSources, config: TrainConfig, nodes: int = 1) -> TrainData:
    """Paths of a run's data; makes a missing bank or missing targets, unless several nodes train together."""
    data, split, val_split = sources.data, sources.split, sources.val_split
    layout, when = DataFolder(data), config.auxiliary_target
    store = sources.store or layout.store(split)
    val_store = sources.val_store or DataFolder(sources.val_data or data).store(val_split)
    for folder, name in ((store, split), (val_store, val_split)):
        if not folder.is_dir():
            raise ValueError(
                f"{folder}: no such scene store; make it: w4s prepare --data {data} --split {name} --store {folder}"
            )
    check_start(config)
    bank = (sources.bank or layout.bank(split)) if config.loss_weights.bank else None
    targets = (sources.targets or layout.targets(split, when)) if config.loss_weights.future else None
    if nodes > 1:
        for path in (bank, targets):
            if path is not None and not path.exists():
                raise ValueError(f"{path}: missing; make it before a run on several nodes (`w4s bank`, `w4s targets`)")
    first = int(os.environ.get("LOCAL_RANK", "0")) == 0  # Lightning starts the other processes when this one is ready
    if first and bank is not None and not is_finished(bank):
        logger.info("bank: making %s", bank)
        make_bank(store, bank, show_progress=True)
    if bank is not None:
        check_bank(bank, SceneStore(store))
    if first and targets is not None and not targets.is_file():
        logger.info("future targets: making %s", targets)
        encoder = sources.target_encoder or config.vit_weights
        if not encoder:
            raise ValueError(
                f"{targets}: no such file, and no --target-encoder to make it with; `w4s targets` makes it"
            )
        frame: TargetFrame = "current" if when == "current" else "future"
        executor = as_executor(None)  # threads of one process would wait for each other
        make_targets(data, split, encoder, targets, frame=frame, store=store, executor=executor, show_progress=True)
    if targets is not None:
        check_targets(targets, store, sources.target_encoder)
    return TrainData(data, split, store, val_split, val_store, bank, targets, sources.val_data)


def check_targets(path: Path, store: Path, encoder: str | None) -> None:
    """Raise a TargetError if targets were made from other scenes than those of a store, or by another encoder."""
    notes = FutureTargets.open(path).notes
    check_source(path, "scenes", notes.scenes, SceneStore(store).digest, TargetError, MAKE_AGAIN)
    if encoder is not None:
        check_source(
            path,
            f"features (encoder {encoder})",
            notes.encoder,
            load_encoder(encoder).digest(),
            TargetError,
            MAKE_AGAIN,
        )
