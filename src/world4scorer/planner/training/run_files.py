"""Reads the files of a training run."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from world4scorer.jobs.data_folder import DataFolder
from world4scorer.jobs.files import read_json, read_json_lines
from world4scorer.jobs.run_folder import RunFolder
from world4scorer.planner.model.config import EGO_NUMBERS, ROUTE_NUMBERS, ModelConfig
from world4scorer.planner.training.config import TrainConfig
from world4scorer.planner.training.rollouts import RolloutData
from world4scorer.planner.training.run import TrainData


def read_run(run: Path, split: str | None = None) -> tuple[TrainConfig, TrainData]:
    """The configuration and the data of a run; with a split, that one in place of the one it is validated on."""
    folder = RunFolder(run)
    for path in (folder.config_file, folder.data_file):
        if not path.is_file():
            raise ValueError(f"{path}: no such file; {run} is not the folder of a training run")
    if folder.trained_on_clips:
        raise ValueError(
            f"{run}: was trained on clips (`w4s b2d train`); give {folder.planner}, and say which data to use"
        )
    config = read_config(run)
    try:
        raw = read_json(folder.data_file, remedy="give the same `w4s train` command another --out")
        data = TrainData(**{name: _as_read(name, value) for name, value in raw.items()})
    except (AttributeError, TypeError) as error:
        raise ValueError(f"{folder.data_file}: not what a training run writes ({error})") from error
    return config, data if split is None else looked_at(data, None, split)


def looked_at(data: TrainData, root: Path | None, split: str | None, store: Path | None = None) -> TrainData:
    """The data of a run with another split, dataset or store in place of those it is validated on."""
    name = split or data.val_split
    known = {data.val_split: data.val_store, data.split: data.store}
    folder = root or data.val_data or data.data
    default = DataFolder(folder).store(name)
    found = store or (known.get(name, default) if root is None else default)
    return replace(data, val_split=name, val_store=found, val_data=folder)


def read_config(run: Path) -> TrainConfig:
    """The configuration of a run, whatever it was trained on."""
    path = RunFolder(run).config_file
    if not path.is_file():
        raise ValueError(f"{path}: no such file; {run} is not the folder of a training run")
    return TrainConfig.from_json(path.read_bytes(), str(path))


def has_direction_labels(folder: Path, model: ModelConfig) -> bool:
    """Whether the planner of a folder was trained for driving direction compliance.

    Read from the configuration of its run. Without it, a planner with a route point alone counts as Bench2Drive's,
    whose training leaves that prediction untrained.
    """
    run = RunFolder(folder.absolute().parent)
    if run.exists:
        return read_config(run.root).losses.driving_direction
    return model.ego_numbers != EGO_NUMBERS + ROUTE_NUMBERS


def _as_read(name: str, value: Any) -> Any:
    if name == "rollouts":
        return tuple(RolloutData(**{key: _as_read(key, part) for key, part in one.items()}) for one in value)
    return value if value is None or name.endswith("split") or name == "imitation" else Path(value)


def read_history(run: Path) -> tuple[dict[str, float], ...]:
    """The validations of a run."""
    path = RunFolder(run).history_file
    if not path.is_file():
        raise ValueError(f"{path}: no such file; this run has not come to its first validation")
    remedy = "delete it; the next validation of `w4s train` writes it again"
    return tuple(read_json_lines(path, remedy))


def read_losses(run: Path) -> dict[str, Any]:
    """Steps and values of all that a run logged in training, by name."""
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    events = EventAccumulator(str(RunFolder(run).tensorboard), size_guidance={"scalars": 0})
    events.Reload()
    found = {}
    for name in events.Tags()["scalars"]:
        logged = events.Scalars(name)
        found[name] = np.array([one.step for one in logged]), np.array([one.value for one in logged])
    return found
