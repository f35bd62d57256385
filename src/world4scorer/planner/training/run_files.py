"""What a training run left in its folder, read again."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

import numpy as np

from world4scorer.planner.model.config import EGO_NUMBERS, ModelConfig
from world4scorer.planner.training.config import TrainConfig
from world4scorer.planner.training.run import CONFIG, DATA, HISTORY, PLANNER, TrainData

CLIPS: Final = "clips"
"""What data of a run on clips have, and others have not."""


def read_run(run: Path) -> tuple[TrainConfig, TrainData]:
    """The configuration and the data of a run."""
    for name in (CONFIG, DATA):
        if not (run / name).is_file():
            raise ValueError(f"{run / name}: no such file; {run} is not the folder of a training run")
    if trained_on_clips(run):
        raise ValueError(
            f"{run}: was trained on clips (`w4s b2d train`); give {run / PLANNER}, and say which data to use"
        )
    config = TrainConfig.from_json((run / CONFIG).read_text(), str(run / CONFIG))
    try:
        raw = json.loads((run / DATA).read_text())
        return config, TrainData(**{name: _as_read(name, value) for name, value in raw.items()})
    except (json.JSONDecodeError, AttributeError, TypeError) as error:
        raise ValueError(f"{run / DATA}: not what a training run writes ({error})") from error


def trained_on_clips(run: Path) -> bool:
    """Whether a folder is that of a run of `w4s b2d train`: its data are clips, of which no split or store is known."""
    try:
        raw = json.loads((run / DATA).read_bytes())
    except (OSError, ValueError):
        return False
    return isinstance(raw, dict) and CLIPS in raw and "data" not in raw


def knows_directions(folder: Path, model: ModelConfig) -> bool:
    """Whether the planner of a folder was trained for driving direction compliance.

    The configuration of its run says so. Without it, a planner that takes a route point is taken for one of
    Bench2Drive, whose training leaves that prediction as it began.
    """
    run = folder.absolute().parent
    if (run / CONFIG).is_file() and (run / DATA).is_file():
        return TrainConfig.from_json((run / CONFIG).read_text(), str(run / CONFIG)).losses.driving_direction
    return model.ego_numbers == EGO_NUMBERS


def _as_read(name: str, value: str | None) -> Any:
    return value if value is None or name.endswith("split") else Path(value)


def read_history(run: Path) -> tuple[dict[str, float], ...]:
    """The validations of a run."""
    path = run / HISTORY
    if not path.is_file():
        raise ValueError(f"{path}: no such file; this run has not come to its first validation")
    try:
        return tuple(json.loads(line) for line in path.read_text().splitlines())
    except json.JSONDecodeError as error:
        raise ValueError(f"{path}: not JSON line by line ({error})") from error


def read_losses(run: Path) -> dict[str, Any]:
    """Steps and values of all that a run logged in training, by name."""
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    events = EventAccumulator(str(run / "tensorboard"), size_guidance={"scalars": 0})
    events.Reload()
    found = {}
    for name in events.Tags()["scalars"]:
        logged = events.Scalars(name)
        found[name] = np.array([one.step for one in logged]), np.array([one.value for one in logged])
    return found
