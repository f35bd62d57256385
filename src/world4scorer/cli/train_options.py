"""`w4s train`: every field of the configuration is a flag; a preset gives the defaults.

w4s train --preset city --data city --out runs/city
w4s train --preset city --data city --out runs/none --auxiliary-target none
w4s train --preset paper --data openscene --split navtrain_train --val-split navtrain_val \
    --vit-weights dinov2-with-registers-small --devices 4
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Annotated, Final, Literal

import tyro

from world4scorer.cli.arguments import Folder, OptionalEncoder, OptionalFolder, OptionalPath, OptionalSplit
from world4scorer.cli.overview import description
from world4scorer.datasets.navsim.splits import check_not_test
from world4scorer.planner.training.config import PRESETS, TrainConfig
from world4scorer.planner.training.prepare_data import DataSources, prepare_data
from world4scorer.planner.training.run import Machine, check_machine, silence_lightning, train

Preset = Literal["city", "city-vit", "paper", "baseline"]

DEFAULT_PRESET: Final = "city"


@dataclass(frozen=True)
class TrainCommand:
    """Train a planner: generator, predictor, score heads, readout.

    Can be interrupted and run again: it ends with the same weights. A missing bank and missing future targets are made
    first. The result is RUN/planner.

    Example: w4s train --preset city --data city --out runs/city
    """

    data: Folder
    """Dataset folder with navsim_logs, maps and sensor_blobs."""
    out: Folder
    """Folder of the run."""
    preset: Preset = "city"
    """What all other settings are unless given."""
    split: OptionalSplit = None
    """Split to train on; the city's presets know theirs."""
    store: OptionalFolder = None
    """Its scene store; DATA/store/SPLIT unless given."""
    val_split: OptionalSplit = None
    """Split to validate on, for example cut out of the training split by `w4s split`; not a test split."""
    val_store: OptionalFolder = None
    """Its scene store; DATA/store/SPLIT unless given."""
    val_data: OptionalFolder = None
    """Dataset folder of the validation split, if another."""
    bank: OptionalFolder = None
    """Candidate bank; DATA/bank/SPLIT unless given, made if it is missing."""
    targets: OptionalPath = None
    """File of future targets, or a released cache; DATA/targets/SPLIT-WHEN.arrow unless given, made if missing."""
    target_encoder: OptionalEncoder = None
    """What missing future targets are made with: `city`, a folder or a file; --vit-weights unless given."""
    i_know_this_is_the_test_split: bool = False
    """Train or validate on a known test split all the same."""
    machine: Annotated[Machine, tyro.conf.arg(name="")] = field(default_factory=Machine)
    config: Annotated[TrainConfig, tyro.conf.arg(name="")] = field(default_factory=TrainConfig)

    def sources(self) -> DataSources:
        """Where the data are, with what the preset knows of them."""
        return DataSources.of_preset(
            self.preset,
            self.data,
            self.split,
            self.val_split,
            self.target_encoder,
            store=self.store,
            val_store=self.val_store,
            val_data=self.val_data,
            bank=self.bank,
            targets=self.targets,
        )


def parse(words: Sequence[str]) -> TrainCommand:
    """Parse a command line; the preset first, because it gives the defaults."""
    preset = _preset(words)
    return tyro.cli(
        TrainCommand,
        prog="w4s train",
        description=description(TrainCommand),
        config=(tyro.conf.DisallowNone,),
        args=list(words),
        default=TrainCommand(
            data=tyro.MISSING, out=tyro.MISSING, preset=preset, machine=_machine(preset), config=PRESETS[preset]()
        ),
    )


def run(words: Sequence[str]) -> int:
    """Run `w4s train` with the words after it."""
    command = parse(words)
    silence_lightning()
    check_machine(command.machine)
    _check_splits(command)
    data = prepare_data(command.sources(), command.config, command.machine.nodes)
    planner = train(command.config, data, command.out, command.machine)
    if int(os.environ.get("LOCAL_RANK", "0")) == 0:  # of several processes, only the first prints
        print(f"planner: {planner}")
    return 0


def _check_splits(command: TrainCommand) -> None:
    """Raise a ValueError for a test split to train or to validate on."""
    if command.i_know_this_is_the_test_split:
        return
    sources = command.sources()
    check_not_test(sources.split, sources.data, "--split")
    check_not_test(sources.val_split, sources.val_data or sources.data, "--val-split")


def _machine(preset: Preset) -> Machine:
    if preset in ("city", "city-vit"):
        return Machine(accelerator="cpu", devices=1)
    return Machine(devices=4, loaders=8, label_threads=8)


def _preset(words: Sequence[str]) -> Preset:
    for index, word in enumerate(words):
        name = word.partition("=")[2] if word.startswith("--preset=") else None
        if word == "--preset" and index + 1 < len(words):
            name = words[index + 1]
        if name in PRESETS:
            return name  # type: ignore[return-value]
    return DEFAULT_PRESET
