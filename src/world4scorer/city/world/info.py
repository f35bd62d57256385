"""Summary of a city dataset: places, splits, situations, weather, size, missing parts.

Example::

    info = city_info("city")
    print(info.state, info.splits[0].share("red_light"))
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from world4scorer.city.render.weather import PRESETS as WEATHERS
from world4scorer.city.render.weather import Weather
from world4scorer.city.streets.errors import CityError
from world4scorer.city.streets.network_length import street_km
from world4scorer.city.streets.places import PLACES
from world4scorer.city.world import manifest as manifest_io
from world4scorer.city.world.config import PRESETS, CityConfig, Share
from world4scorer.city.world.manifest import LogEntry, SimulationEntry, is_rendered
from world4scorer.datasets.navsim.errors import DatasetError
from world4scorer.datasets.navsim.map_files import map_path
from world4scorer.jobs.data_folder import DataFolder

SITUATIONS: Final = (
    "left_turn",
    "right_turn",
    "red_light",
    "following",
    "queue",
    "yielding",
    "crossing",
    "cut_in",
    "lane_change",
    "slow",
    "fast",
    "start",
    "stop",
    "standing",
    "uneventful",
    "near_agent",
    "interaction",
    "conflict",
)
"""Situation flags, see `situations.Situations`."""
MAX_EXAMPLES: Final = 3
"""Examples in a line about missing parts."""


@dataclass(frozen=True)
class PlaceInfo:
    """A place of the dataset."""

    name: str
    network: str
    location: str
    """Name of its map."""
    split: str
    network_km: float | None
    """Length of the network's streets for cars, per direction [km]; None if not built yet."""
    place_km: float | None
    """Length inside the place's area [km]."""
    selection: str
    """How its segments are selected, see `config.Share`."""
    decisions: int
    """Frames listed in the split."""
    decisions_wanted: int
    situations: Mapping[str, int]
    """Number of decision frames by situation."""

    def share(self, *situations: str) -> float:
        """Share of decision frames with one of some flags that exclude each other, 0..1."""
        return sum(self.situations.get(name, 0) for name in situations) / max(self.decisions, 1)


@dataclass(frozen=True)
class SplitInfo:
    """A split, possibly incomplete."""

    name: str
    data_split: str
    places: tuple[str, ...]
    simulations: int
    simulations_wanted: int
    logs: int
    frames: int
    decisions: int
    """Frames listed in the split."""
    decisions_wanted: int
    situations: Mapping[str, int]
    """Number of decision frames by situation."""
    weather: Mapping[str, int]
    """Frames by weather."""

    def share(self, situation: str) -> float:
        """Share of decision frames with a flag, 0..1."""
        return self.situations.get(situation, 0) / self.decisions if self.decisions else 0.0


@dataclass(frozen=True)
class CityInfo:
    """Summary of a city dataset."""

    root: str
    preset: str | None
    """Name of the preset; None for a changed configuration."""
    config: Mapping[str, Any]
    complete: bool
    missing: tuple[str, ...]
    """Missing parts, one line each."""
    places: tuple[PlaceInfo, ...]
    splits: tuple[SplitInfo, ...]
    size: Mapping[str, int]
    """Bytes by part."""
    attribution: str

    @property
    def state(self) -> str:
        """State of the dataset as text."""
        if self.complete:
            return "complete"
        return "INCOMPLETE: " + "; ".join(self.missing)


def city_info(root: str | os.PathLike[str]) -> CityInfo:
    """Summarise a dataset, finished or not."""
    root = Path(root)
    folder = DataFolder(root)
    manifest = manifest_io.read_manifest(root)
    try:
        config = manifest_io.read_config(manifest)
    except (KeyError, TypeError) as error:
        raise CityError(
            f"{root}: its manifest has settings that this version does not know ({error}); make the city again"
        ) from error
    entries: dict[str, SimulationEntry] = {}
    waiting: list[str] = []
    for name in [simulation.name for simulation in config.simulations]:
        if folder.city_simulation(name).is_file():
            entries[name] = manifest_io.read_simulation(root, name)
        else:
            waiting.append(name)
    missing = _missing(root, config, entries, waiting, bool(manifest.get("complete")))
    return CityInfo(
        root=str(root),
        preset=_preset_of(config),
        config=manifest["config"],
        complete=not missing,
        missing=tuple(missing),
        places=tuple(_place(root, config, share, entries.values()) for share in config.shares),
        splits=tuple(_split(name, config, entries.values()) for name in dict.fromkeys(s.split for s in config.shares)),
        size={
            "images": folder_size(folder.all_sensors),
            "logs": folder_size(folder.all_logs),
            "maps": folder_size(folder.maps),
            "networks and trips": folder_size(folder.city),
            "splits": folder_size(folder.config),
        },
        attribution=manifest.get("attribution", "; ".join(dict.fromkeys(_credits(config)))),
    )


def folder_size(folder: Path) -> int:
    """Bytes of all files below a folder."""
    if not folder.is_dir():
        return 0
    with os.scandir(folder) as found:
        return sum(
            folder_size(Path(entry.path)) if entry.is_dir(follow_symlinks=False) else entry.stat().st_size
            for entry in found
        )


def _preset_of(config: CityConfig) -> str | None:
    return next((name for name, known in PRESETS.items() if known == config), None)


def _credits(config: CityConfig) -> list[str]:
    return [PLACES[share.place].network.credit for share in config.shares]


def _place(root: Path, config: CityConfig, share: Share, entries: Iterable[SimulationEntry]) -> PlaceInfo:
    place = PLACES[share.place]
    path = DataFolder(root).city_network(place.network.name)
    whole, part = street_km(path, place.area) if path.is_file() else (None, None)
    logs = [log for entry in entries if entry.place == place.name for log in entry.logs]
    return PlaceInfo(
        name=place.name,
        network=place.network.name,
        location=place.network.devkit_location if config.devkit_maps else place.network.location,
        split=share.split,
        network_km=whole,
        place_km=part,
        selection=share.selection,
        decisions=sum(len(log.tokens) for log in logs),
        decisions_wanted=share.decisions,
        situations=_sums(logs),
    )


def _sums(logs: Sequence[LogEntry]) -> dict[str, int]:
    """Number of decision frames by situation, without those that an older version did not count."""
    counted = {flag for log in logs for flag in log.situations}
    return {flag: sum(log.situations.get(flag, 0) for log in logs) for flag in SITUATIONS if flag in counted}


def _split(name: str, config: CityConfig, entries: Iterable[SimulationEntry]) -> SplitInfo:
    shares = [share for share in config.shares if share.split == name]
    mine = [entry for entry in entries if entry.split == name]
    logs = [log for entry in mine for log in entry.logs]
    weather = dict.fromkeys(WEATHERS, 0)
    for log in logs:
        weather[Weather.draw(log.weather_seed).name] += log.frames
    return SplitInfo(
        name=name,
        data_split=shares[0].data_split,
        places=tuple(share.place for share in shares),
        simulations=len(mine),
        simulations_wanted=sum(share.simulations for share in shares),
        logs=len(logs),
        frames=sum(log.frames for log in logs),
        decisions=sum(len(log.tokens) for log in logs),
        decisions_wanted=sum(share.decisions for share in shares),
        situations=_sums(logs),
        weather=weather,
    )


def _missing(
    root: Path, config: CityConfig, entries: Mapping[str, SimulationEntry], waiting: Sequence[str], finished: bool
) -> list[str]:
    """Parts listed in configuration and manifest that the folder lacks."""
    layout, out = DataFolder(root), []
    networks = {PLACES[share.place].network.name: PLACES[share.place].network for share in config.shares}
    for network in networks.values():
        location = network.devkit_location if config.devkit_maps else network.location
        try:
            there = map_path(layout.maps, location).is_file()
        except DatasetError:
            there = False
        if not there:
            out.append(f"map {location}")
    out += _some("simulations are not done", waiting)
    logs = [(entry, log) for entry in entries.values() for log in entry.logs]
    out += _some("logs", [log.name for entry, log in logs if not layout.log(entry.data_split, log.name).is_file()])
    unrendered = [log.name for e, log in logs if not is_rendered(root, e.data_split, log.name, log.frames, config)]
    out += _some("logs without all images", unrendered)
    splits = dict.fromkeys(share.split for share in config.shares)
    out += _some("split files", [name for name in splits if not (layout.splits / f"{name}.yaml").is_file()])
    if not out and not finished:
        out.append("the manifest is not finished")
    return out


def _some(what: str, names: Sequence[str]) -> list[str]:
    if not names:
        return []
    more = ", ..." if len(names) > MAX_EXAMPLES else ""
    return [f"{len(names)} {what} ({', '.join(names[:MAX_EXAMPLES])}{more})"]
