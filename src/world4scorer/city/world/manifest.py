"""Manifest of a city dataset: `city/city.json`, and a file for each simulation."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from world4scorer.city.streets.errors import CityError
from world4scorer.city.world.config import CityConfig, Share
from world4scorer.city.world.log_plan import LogPlan
from world4scorer.jobs.data_folder import DataFolder
from world4scorer.jobs.files import atomic_write, read_json


@dataclass(frozen=True)
class LogEntry:
    """Entry of a log."""

    name: str
    vehicle: str
    """SUMO id of the ego."""
    first_step: int
    """First simulation step (0.1 s each)."""
    frames: int
    weather_seed: int
    route: Sequence[str]
    """Edges of the network."""
    tokens: Sequence[str]
    """Tokens of the frames in the split."""
    situations: Mapping[str, int]

    @classmethod
    def of(cls, plan: LogPlan) -> LogEntry:
        """The entry of a log plan."""
        return cls(
            name=plan.name,
            vehicle=plan.vehicle,
            first_step=plan.frames[0].step,
            frames=len(plan.frames),
            weather_seed=plan.weather_seed,
            route=list(plan.route),
            tokens=[plan.token(int(frame)) for frame in plan.decisions],
            situations=dict(plan.situations),
        )


@dataclass(frozen=True)
class SimulationEntry:
    """Entry of a simulation whose logs are all written."""

    name: str
    place: str
    split: str
    data_split: str
    seed: int
    logs: Sequence[LogEntry]


def write_simulation(root: Path, entry: SimulationEntry) -> None:
    """Record that a simulation is done, below the dataset folder `root`."""
    with atomic_write(DataFolder(root).city_simulation(entry.name)) as stream:
        stream.write(json.dumps(asdict(entry), indent=1).encode())


def read_simulation(root: Path, name: str) -> SimulationEntry:
    """Read the record of a simulation."""
    path = DataFolder(root).city_simulation(name)
    values = read_json(path, CityError, "delete it and make the city again")
    try:
        return SimulationEntry(**{**values, "logs": [LogEntry(**log) for log in values["logs"]]})
    except (KeyError, TypeError) as error:
        raise CityError(f"{path}: not the note of a simulation ({error}); delete it and make the city again") from error


def is_rendered(root: Path, data_split: str, name: str, frames: int, config: CityConfig) -> bool:
    """Whether a log and all its images exist."""
    layout = DataFolder(root)
    folders = [layout.sensors(data_split) / name / camera for camera in config.cameras]
    return layout.log(data_split, name).is_file() and all(
        folder.is_dir() and len(os.listdir(folder)) == frames for folder in folders
    )


def write_manifest(root: Path, values: Mapping[str, Any]) -> None:
    """Write `city/city.json`."""
    with atomic_write(DataFolder(root).city_manifest) as stream:
        stream.write(json.dumps(values, indent=1).encode())


def read_manifest(root: str | os.PathLike[str]) -> dict[str, Any]:
    """Read the manifest of the dataset below `root`."""
    path = DataFolder(Path(root)).city_manifest
    if not path.exists():
        raise CityError(f"{path}: no such file; {root} is no city (`w4s city make --out {root}` makes one)")
    values = read_json(path, CityError, "delete it and make the city again")
    if "config" not in values:
        raise CityError(f"{path}: not a manifest of a city; choose another folder")
    return values


def read_config(manifest: Mapping[str, Any]) -> CityConfig:
    """The configuration in a manifest."""
    values = dict(manifest["config"])
    values["shares"] = tuple(Share(**share) for share in values["shares"])
    values["cameras"] = tuple(values["cameras"])
    return CityConfig(**values)


def find_log(root: str | os.PathLike[str], name: str) -> tuple[SimulationEntry, LogEntry]:
    """The entries of a log and of its simulation."""
    manifest = read_manifest(root)
    for simulation in manifest.get("simulations", ()):
        if name.startswith(simulation):
            entry = read_simulation(Path(root), simulation)
            for log in entry.logs:
                if log.name == name:
                    return entry, log
    raise CityError(f"{root}: no log {name!r}; `w4s city info {root}` lists the simulations")
