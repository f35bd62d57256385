"""What a run needs beside images and scenes, found or made: bank and future targets."""

from __future__ import annotations

import os
import sys

from world4scorer.cli.train_options import ENCODERS, SPLITS, TrainCommand
from world4scorer.jobs.data_folder import DataFolder
from world4scorer.planner.bank import make_bank
from world4scorer.planner.bank.candidate_bank import is_finished
from world4scorer.planner.targets.future_targets import TargetFrame
from world4scorer.planner.targets.make_targets import make_targets
from world4scorer.planner.training.run import TrainData, check_start


def prepare_data(command: TrainCommand) -> TrainData:
    """Say where the data of a run lie, making what is missing."""
    split, val_split = _splits(command)
    store = command.store or DataFolder(command.data).store(split)
    val_store = command.val_store or DataFolder(command.val_data or command.data).store(val_split)
    for folder, name in ((store, split), (val_store, val_split)):
        if not folder.is_dir():
            raise ValueError(
                f"{folder}: no such scene store; make it: w4s prepare --data {command.data} --split {name} "
                f"--store {folder}"
            )
    check_start(command.config)
    weights = command.config.loss_weights
    bank = (command.bank or DataFolder(command.data).bank(split)) if weights.bank else None
    when = command.config.auxiliary_target
    targets = (command.targets or DataFolder(command.data).targets(split, when)) if weights.future else None
    if command.machine.nodes > 1:
        for path in (bank, targets):
            if path is not None and not path.exists():
                raise ValueError(f"{path}: missing; make it before a run on several nodes (`w4s bank`, `w4s targets`)")
    first = int(os.environ.get("LOCAL_RANK", "0")) == 0  # Lightning starts the other processes when this one is ready
    if first and bank is not None and not is_finished(bank):
        print(f"bank: making {bank}", file=sys.stderr)
        make_bank(store, bank, show_progress=True)
    if first and targets is not None and not targets.is_file():
        print(f"future targets: making {targets}", file=sys.stderr)
        encoder = command.target_encoder or ENCODERS.get(command.preset) or command.config.vit_weights
        if not encoder:
            raise ValueError(
                f"{targets}: no such file, and no --target-encoder to make it with; `w4s targets` makes it"
            )
        frame: TargetFrame = "current" if when == "current" else "future"
        make_targets(command.data, split, encoder, targets, frame=frame, store=store, show_progress=True)
    return TrainData(command.data, split, store, val_split, val_store, bank, targets, command.val_data)


def _splits(command: TrainCommand) -> tuple[str, str]:
    known = SPLITS.get(command.preset, (None, None))
    split, val_split = command.split or known[0], command.val_split or known[1]
    if split is None or val_split is None:
        raise ValueError("give --split and --val-split: the splits to train and to validate on")
    return split, val_split
