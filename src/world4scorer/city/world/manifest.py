"""Manifest of a city dataset: `city/city.json`, and a file for each simulation and each drive written as a log."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from world4scorer.city.streets.errors import CityError
from world4scorer.city.world.config import CityConfig, Share
from world4scorer.city.world.log_plan import LogPlan
from world4scorer.jobs.data_folder import DataFolder
from world4scorer.jobs.files import read_json, write_json


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
    images: int | None = None
    """Frames with images of their own; None for all. Others show those of the log that was perturbed."""

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
            images=None if plan.source is None else len(plan.own_frames),
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


@dataclass(frozen=True)
class DriveEntry:
    """Entry of a drive that was written as a log: another driver than the expert, in traffic that reacted to it."""

    name: str
    """Name of the log."""
    driver: str
    """Name of the driver."""
    route_name: str
    """Name of the closed-loop route."""
    simulation: str
    place: str
    frames: int
    weather_seed: int
    route: Sequence[str]
    """Edges of the network."""
    points: Sequence[Sequence[float]]
    """Points x, y of the route that the driver was given, global [m]."""
    tokens: Sequence[str]
    """Tokens of the frames in the split."""
    status: str
    """How the drive ended."""
    infractions: Sequence[Sequence[Any]] = ()
    """Kind, time since the start [s], x, y [m, global] of each; none in entries of earlier versions."""


def write_drive(root: Path, split: str, entry: DriveEntry) -> None:
    """Record that a drive is written as a log."""
    write_json(DataFolder(root).city_drive(split, entry.name), asdict(entry), None)


def read_drives(root: Path, split: str) -> list[DriveEntry]:
    """The drives of a split, by name."""
    return [_read_drive(path) for path in sorted(DataFolder(root).city_drives(split).glob("*.json"))]


def find_drive(root: str | os.PathLike[str], log: str) -> DriveEntry | None:
    """The entry of a log, if it is that of a drive."""
    path = DataFolder(Path(root)).find_city_drive(log)
    return None if path is None else _read_drive(path)


def _read_drive(path: Path) -> DriveEntry:
    try:
        return DriveEntry(**read_json(path, CityError, "delete it and drive again"))
    except TypeError as error:
        raise CityError(f"{path}: not the record of a drive ({error}); delete it and drive again") from error


def write_simulation(root: Path, entry: SimulationEntry) -> None:
    """Record that a simulation is done, below the dataset folder `root`."""
    write_json(DataFolder(root).city_simulation(entry.name), _without_none(asdict(entry)))


def _without_none(entry: dict[str, Any]) -> dict[str, Any]:
    """An entry whose logs have no fields without a value."""
    logs = [{name: value for name, value in log.items() if value is not None} for log in entry["logs"]]
    return {**entry, "logs": logs}


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
    write_json(DataFolder(root).city_manifest, values)


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


def weather_of_log(root: str | os.PathLike[str], name: str) -> tuple[str, int]:
    """Place and weather seed of a log, whoever drove it."""
    driven = find_drive(root, name)
    if driven is not None:
        return driven.place, driven.weather_seed
    simulation, log = find_log(root, name)
    return simulation.place, log.weather_seed


def find_log(root: str | os.PathLike[str], name: str) -> tuple[SimulationEntry, LogEntry]:
    """The entries of a log and of its simulation; not of drives, whose traffic no simulation repeats by itself."""
    manifest = read_manifest(root)
    if find_drive(root, name) is not None:
        raise CityError(f"{root}: log {name!r} is a drive, in traffic that reacted to it; choose a log of the expert")
    for simulation in manifest.get("simulations", ()):
        if name.startswith(simulation):
            entry = read_simulation(Path(root), simulation)
            for log in entry.logs:
                if log.name == name:
                    return entry, log
    raise CityError(f"{root}: no log {name!r}; `w4s city info {root}` lists the simulations")
