"""`w4s pretrain`: every field of a recipe is a flag; `--recipe` chooses which.

w4s pretrain --data city --out encoder
w4s pretrain --recipe masked --data city --out encoder
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final, Literal

import tyro

from world4scorer.cli.arguments import Encoder, Folder, OptionalCount, OptionalEncoder, Split
from world4scorer.cli.overview import description
from world4scorer.jobs.data_folder import DataFolder
from world4scorer.planner.forecasting.config import ForecastConfig
from world4scorer.planner.pretraining.config import PretrainConfig
from world4scorer.planner.pretraining.dense_config import DensePretrainConfig

if TYPE_CHECKING:
    from world4scorer.planner.pretraining.training_loop import PretrainReport

Recipe = Literal["dense", "forecast", "masked"]
DEFAULT_RECIPE: Final = "dense"


@dataclass(frozen=True)
class DensePretrainCommand:
    """Pretrain an image encoder of the city.

    With maps, classes and depths of rendered frames as labels (`--recipe dense`); then with what happened next, for its
    forecast (`--recipe forecast`); or without labels as a masked autoencoder (`--recipe masked`). Each has options of
    its own: see their --help. Missing dense views are rendered first. Can be interrupted and run again: it ends with
    the same weights.

    Example: w4s pretrain --data city --out encoder
    """

    data: Folder
    """Dataset folder of a city, or of `w4s city dense`."""
    out: Folder
    """Folder of the encoder: config.json, model.safetensors, pretraining.json, history.json, curves.png, checkpoint."""
    recipe: Recipe = "dense"
    """How the encoder learns."""
    split: Split = "city_train"
    """Name of a split: its dense views are trained on."""
    val_split: Split = "city_val"
    """Split that is measured on; nothing is learned from it."""
    start_from: OptionalEncoder = None
    """An encoder whose weights are the first ones, where sizes agree: `city`, or the folder of one."""
    threads: int = 1
    """Threads of torch; the same number gives the same bits."""
    workers: OptionalCount = None
    """Processes that render missing dense views; one for each core unless given."""
    config: Annotated[DensePretrainConfig, tyro.conf.arg(name="")] = field(default_factory=DensePretrainConfig)


@dataclass(frozen=True)
class MaskedPretrainCommand:
    """Pretrain a small ViT without labels, as a masked autoencoder.

    On the views of a split. Can be interrupted and run again: it ends with the same weights.

    Example: w4s pretrain --recipe masked --data city --out encoder
    """

    data: Folder
    """Dataset folder with navsim_logs, maps and sensor_blobs."""
    out: Folder
    """Folder of the encoder: config.json, model.safetensors, pretraining.json, history.json, checkpoint."""
    recipe: Recipe = "masked"
    """How the encoder learns."""
    split: Split = "city_train"
    """Name of a split, or the path of its YAML file; only frames of its logs are used."""
    threads: int = 1
    """Threads of torch; the same number gives the same bits."""
    config: Annotated[PretrainConfig, tyro.conf.arg(name="")] = field(default_factory=PretrainConfig)


@dataclass(frozen=True)
class ForecastPretrainCommand:
    """Teach a dense encoder to forecast where road users will be, from two frames.

    With what happened in the scenes of a split; the encoder's other weights stay as they are. Missing scene stores and
    features are made first. Can be interrupted and run again: it ends with the same weights.

    Example: w4s pretrain --recipe forecast --data city --out encoder
    """

    data: Folder
    """Dataset folder of a city."""
    out: Folder
    """Folder of the encoder: config.json, model.safetensors, pretraining.json, history.json, curves.png, checkpoint."""
    recipe: Recipe = "forecast"
    """How the encoder learns."""
    split: Split = "city_train"
    """Name of a split: its scenes are learned from."""
    val_split: Split = "city_val"
    """Split that is measured on; nothing is learned from it."""
    start_from: Encoder = "city"
    """The encoder that gets a forecast, or another one instead of its own: `city`, or the folder of one."""
    threads: int = 1
    """Threads of torch; the same number gives the same bits."""
    workers: OptionalCount = None
    """Processes that prepare scenes; one for each core unless given."""
    config: Annotated[ForecastConfig, tyro.conf.arg(name="")] = field(default_factory=ForecastConfig)


PretrainCommand = DensePretrainCommand | ForecastPretrainCommand | MaskedPretrainCommand
COMMANDS: Final[dict[str, type[PretrainCommand]]] = {
    "dense": DensePretrainCommand,
    "forecast": ForecastPretrainCommand,
    "masked": MaskedPretrainCommand,
}


def parse(words: Sequence[str]) -> PretrainCommand:
    """Parse a command line; the recipe first, because it decides which options there are."""
    command = COMMANDS[_recipe(words)]
    return tyro.cli(
        command,
        prog="w4s pretrain",
        description=description(command),
        config=(tyro.conf.DisallowNone, tyro.conf.FlagCreatePairsOff),
        args=list(words),
    )


def run(words: Sequence[str]) -> int:
    """Run `w4s pretrain` with the words after it."""
    command = parse(words)
    import torch

    torch.set_num_threads(command.threads)
    if isinstance(command, DensePretrainCommand):
        from world4scorer.planner.model.dense_encoder_files import load_dense_encoder
        from world4scorer.planner.pretraining.dense_pretrain import open_dense_views, pretrain_dense

        prepare_dense_views(command.data, command.workers)
        train, val = (open_dense_views(command.data, split) for split in (command.split, command.val_split))
        start = None if command.start_from is None else load_dense_encoder(command.start_from)
        report = pretrain_dense(train, val, command.out, command.config, start=start, show_progress=True)
    elif isinstance(command, ForecastPretrainCommand):
        report = _pretrain_forecast(command)
    else:
        from world4scorer.planner.pretraining.pretrain import pretrain

        report = pretrain(command.data, command.split, command.out, command.config, show_progress=True)
    assert report is not None
    print(
        f"{command.out}: {report.steps:,} steps on {report.views:,} views in {report.seconds:.0f} s, "
        f"loss {report.first_loss:.3f} -> {report.last_loss:.3f}"
    )
    print(f"next: w4s probe --encoder {command.out} --data {command.data} --out report")
    return 0


def _pretrain_forecast(command: ForecastPretrainCommand) -> PretrainReport | None:
    from world4scorer.cli.data import fill_store
    from world4scorer.jobs.executors import as_executor
    from world4scorer.planner.forecasting.pretrain import SplitScenes, pretrain_forecast
    from world4scorer.planner.model.dense_encoder_files import load_dense_encoder
    from world4scorer.planner.training.split_samples import split_samples

    def prepared(split: str) -> SplitScenes:
        store = DataFolder(command.data).store(split)
        fill_store(command.data, split, store, as_executor(command.workers))
        return SplitScenes(split, split_samples(command.data, split, store), store)

    train, val = prepared(command.split), prepared(command.val_split)
    encoder = load_dense_encoder(command.start_from)
    return pretrain_forecast(command.data, train, val, encoder, command.out, command.config, show_progress=True)


def prepare_dense_views(data: Path, workers: int | None = None) -> None:
    """Render the dense views of a city that are missing; a folder without a city must have all of its own."""
    from world4scorer.city.dense.make import make_dense_views, missing_dense_views
    from world4scorer.city.world.manifest import read_config, read_manifest

    if DataFolder(data).is_city:
        make_dense_views(read_config(read_manifest(data)), data, workers=workers, show_progress=True)
        return
    if not DataFolder(data).dense.is_dir():
        raise ValueError(
            f"{data}: neither a city (`w4s city make`) nor a folder of `w4s city dense`; for other data use "
            "--recipe masked"
        )
    missing = missing_dense_views(data)
    if missing:
        raise ValueError(
            f"{data}: the dense views of {len(missing)} simulations are missing, such as {missing[0]}; run "
            f"`w4s city dense {data}` again with its preset"
        )


def _recipe(words: Sequence[str]) -> str:
    for index, word in enumerate(words):
        name = word.partition("=")[2] if word.startswith("--recipe=") else None
        if word == "--recipe" and index + 1 < len(words):
            name = words[index + 1]
        if name in COMMANDS:
            return name
    return DEFAULT_RECIPE
