"""Scenes of a NAVSIM dataset on disk, log by log, for `prepare`."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

from world4scorer.cache.preparation import build_scene, build_scenes
from world4scorer.cache.prepare import Skipped
from world4scorer.navsim.city_map import CityMap, read_city_map
from world4scorer.navsim.errors import DatasetError
from world4scorer.navsim.filters import Split
from world4scorer.navsim.layout import Layout
from world4scorer.navsim.logs import read_log
from world4scorer.navsim.synthetic import read_synthetic_scene
from world4scorer.store.shard_writer import PreparedScene


@dataclass(frozen=True)
class NavsimSource:
    """The scenes that a split names; one log at a time, with the city's map kept between logs of a process."""

    root: Path
    split: Split
    synthetic: Mapping[str, tuple[Path, ...]] = field(default_factory=dict)
    """Pickles of second-stage scenes by log (see `synthetic_by_log`)."""

    def __post_init__(self) -> None:
        if not self.log_names():
            raise DatasetError(
                f"{Layout(self.root).logs(self.split.data_split)}: none of the {len(self._wanted())} logs of split "
                f"{self.split.name!r} is there; `w4s check-data` tells what is missing"
            )

    def _wanted(self) -> Sequence[str]:
        named = self.split.filter.log_names
        return [path.stem for path in self._paths()] if named is None else named

    def _paths(self) -> list[Path]:
        return Layout(self.root).log_paths(self.split.data_split)

    def log_names(self) -> list[str]:
        """Return the logs of the split that are on disk."""
        there = {path.stem for path in self._paths()}
        return [name for name in dict.fromkeys(self._wanted()) if name in there]

    def missing_logs(self) -> list[str]:
        """Return the logs of the split that are not on disk."""
        there = set(self.log_names())
        return [name for name in dict.fromkeys(self._wanted()) if name not in there]

    def scenes(self, log_name: str) -> Iterator[PreparedScene | Skipped]:
        """Yield the scenes of a log, then the second-stage scenes made from it; what cannot be prepared is counted."""
        log = read_log(Layout(self.root).log(self.split.data_split, log_name))
        city = _city(Layout(self.root).maps, log.frames[0].map_location)
        failed: list[Skipped] = []
        found = 0
        for scene in build_scenes(
            log, city, self.split.filter, lambda token, error: failed.append(Skipped(_reason(error)))
        ):
            found += 1
            yield PreparedScene(scene, {"map_location": city.location})
        yield from failed
        if not found and not failed:
            frames = self.split.filter.num_frames
            yield Skipped(f"log without a window of {frames} frames that the split asks for")
        for path in self.synthetic.get(log_name, ()):
            yield self._second_stage(path)

    def _second_stage(self, path: Path) -> PreparedScene | Skipped:
        synthetic = read_synthetic_scene(path)
        city = _city(Layout(self.root).maps, synthetic.map_location)
        chosen = self.split.filter
        try:
            scene = build_scene(synthetic.window(chosen.num_frames), city, chosen.num_history_frames)
        except DatasetError as error:
            return Skipped(_reason(error))
        return PreparedScene(scene, {"map_location": city.location, "original_token": synthetic.original_token})

    def options(self) -> Mapping[str, Any]:
        """Return what the scenes depend on; lists of logs and tokens as a digest."""
        values = asdict(self.split.filter)
        lists = json.dumps([values.pop("log_names"), values.pop("tokens")]).encode()
        names = [path.name for paths in self.synthetic.values() for path in paths]
        return {
            "split": self.split.name,
            "data_split": self.split.data_split,
            "filter": values,
            "choice": hashlib.sha256(lists).hexdigest()[:16],
            "synthetic_scenes": len(names),
        }


def synthetic_by_log(folder: Path) -> dict[str, tuple[Path, ...]]:
    """Read which log each second-stage scene of a folder was made from."""
    paths = sorted(folder.glob("*.pkl"))
    if not paths:
        raise DatasetError(f"{folder}: no second-stage scenes (.pkl) there")
    by_log: dict[str, list[Path]] = {}
    for path in paths:
        by_log.setdefault(read_synthetic_scene(path).log_name, []).append(path)
    return {name: tuple(found) for name, found in by_log.items()}


def _reason(error: DatasetError) -> str:
    """The part of a message that is the same for all frames with this trouble."""
    return str(error).rsplit(": ", 1)[-1]


@lru_cache(maxsize=4)
def _city(maps: Path, location: str) -> CityMap:
    return read_city_map(maps, location)
