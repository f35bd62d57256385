"""A dataset on disk as a source of scenes for `prepare`.

>>> source = NavsimSource(Path("openscene"), read_split("train_test_split/navtest.yaml"))
>>> report = prepare(source, "scenes", choose_executor(workers=8))
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import chain
from pathlib import Path
from typing import Any

from world4scorer.datasets.navsim.city_map import CityMap
from world4scorer.datasets.navsim.errors import DatasetError
from world4scorer.datasets.navsim.filters import Split, Window, windows
from world4scorer.datasets.navsim.logs import Log, log_paths, read_log
from world4scorer.datasets.navsim.map_files import LOCATIONS, map_path
from world4scorer.datasets.navsim.map_reader import read_city_map
from world4scorer.datasets.navsim.synthetic import read_synthetic_scene
from world4scorer.datasets.pdm_closed.reference_progress import reference_progress
from world4scorer.datasets.prepare.fill_store import SkippedScenes, SourceFiles
from world4scorer.datasets.prepare.log_samples import POLYLINES, ROUTES, LogSamples, log_samples
from world4scorer.datasets.prepare.log_samples import VERSION as SAMPLES_VERSION
from world4scorer.datasets.prepare.route_points import RouteSource
from world4scorer.datasets.prepare.scene_builder import scene_builder
from world4scorer.datasets.prepare.tracks import FRAMES_V1, FRAMES_V2
from world4scorer.datasets.prepare.traffic_lanes import add_traffic
from world4scorer.datasets.store.shard import Shard
from world4scorer.datasets.store.shard_writer import PreparedScene
from world4scorer.jobs.data_folder import DataFolder


@dataclass(frozen=True)
class NavsimSource:
    """The scenes of a split; scenes that cannot be built are skipped with a reason."""

    root: Path
    """Dataset folder (`OPENSCENE_DATA_ROOT`)."""
    split: Split
    progress: bool = True
    """Store the reference's progress with each scene, as training caches do."""
    synthetic: Path | None = None
    """Folder with the pickles of second-stage scenes. Each is read with the log of the scene that it follows."""
    routes: RouteSource | None = None
    """Routes of the logs, where the dataset knows them: samples then have route points."""

    def log_names(self) -> Sequence[str]:
        """The logs of the split that are on disk, by name."""
        return list(self._limits)

    def missing_logs(self) -> list[str]:
        """Logs of the split that are missing on disk."""
        there = {path.stem for path in log_paths(DataFolder(self.root).logs(self.split.data_split))}
        return sorted(set(self.split.filter.log_names or ()) - there)

    @cached_property
    def _limits(self) -> dict[str, int | None]:
        """Logs, and the maximum number of scenes of each."""
        wanted, most = self.split.filter.log_names, self.split.filter.max_scenes
        paths = log_paths(DataFolder(self.root).logs(self.split.data_split))
        paths = [path for path in paths if wanted is None or path.stem in set(wanted)]
        if not paths:
            folder = DataFolder(self.root).logs(self.split.data_split)
            raise DatasetError(f"{folder}: holds no log of the split {self.split.name!r}")
        if most is None:
            return {path.stem: None for path in paths}
        limits: dict[str, int | None] = {}
        for path in paths:  # the limit holds for all logs together, so they must be counted one after the other
            found = sum(1 for _ in windows(read_log(path), self.split.filter, most))
            limits[path.stem] = found
            most -= found
            if most <= 0:
                break
        return limits

    def read(self, log_name: str) -> Log:
        """Read a log."""
        return read_log(DataFolder(self.root).log(self.split.data_split, log_name))

    def samples(self, log: Log) -> LogSamples:
        """The training samples of a log; a DatasetError where cameras, images or finite numbers are missing."""
        return log_samples(log, self.root, self.split, self.routes, self.sample_options)

    def scenes(self, log_name: str) -> Iterator[PreparedScene | SkippedScenes | LogSamples | SourceFiles]:
        """The source files and training samples of a log, its scenes in time order, and `SkippedScenes`."""
        chosen, history = self.split.filter, self.split.filter.num_history_frames
        log = self.read(log_name)
        yield self._source_files(log)
        try:
            samples = self.samples(log)
        except DatasetError:
            pass  # scores need no images; `Samples.of_split` raises this error where training asks for samples
        else:
            yield samples
        for window in windows(log, chosen, self._limits[log_name]):
            now = window[history - 1]
            yield self._prepare(window, {"scene_token": now.scene_token})
        for path in self._follow_ups(log):
            if not path.is_file():
                yield SkippedScenes(f"no second-stage scene {path.name} in {path.parent}")
                continue
            made = read_synthetic_scene(path)
            try:
                window = made.window(history + FRAMES_V2 - 1)
            except DatasetError as error:
                yield SkippedScenes(str(error).removeprefix(f"synthetic scene {made.token}: "))
            else:
                yield self._prepare(window, {"original_token": made.original_token})

    def upgrade(self, log_name: str, shard: Shard) -> Iterator[PreparedScene | SourceFiles]:
        """The scenes of a log as an older shard has them, with what it lacks, from the log and the map."""
        log = self.read(log_name)
        yield self._source_files(log)
        frames = {frame.token: frame for frame in log.frames}
        files = {path.stem: path for path in self._follow_ups(log)}
        for row, token in enumerate(shard.tokens):
            if token in files:
                now = read_synthetic_scene(files[token]).frames[self.split.filter.num_history_frames - 1]
            elif token in frames:
                now = frames[token]
            else:
                raise DatasetError(f"{shard.path}: scene {token!r} is not in the log; delete the file and prepare anew")
            city = _city(DataFolder(self.root).maps, now.map_location)
            yield PreparedScene(add_traffic(shard.scene(row), city, now), shard.extras(row))

    def _source_files(self, log: Log) -> SourceFiles:
        """The log, the maps of its places, and second-stage scenes below the dataset folder."""
        layout = DataFolder(self.root)
        places = sorted({frame.map_location for frame in log.frames})
        maps = [map_path(layout.maps, place) for place in places]
        paths = [log.path, *maps, *self._follow_ups(log)]
        return SourceFiles(self.root, [path for path in paths if path.is_relative_to(self.root) and path.is_file()])

    def _follow_ups(self, log: Log) -> Iterator[Path]:
        """Files of the second-stage scenes that follow scenes of a log, as the split's mapping lists them."""
        if self.synthetic is None:
            return
        tokens = {frame.token for frame in log.frames}
        for now, _, pairs in self.split.two_stage:
            if now in tokens:
                for token in chain.from_iterable(pairs):
                    yield self.synthetic / f"{token}.pkl"

    def _prepare(self, window: Window, extras: dict[str, Any]) -> PreparedScene | SkippedScenes:
        history = self.split.filter.num_history_frames
        now = window[history - 1]
        city = _city(DataFolder(self.root).maps, now.map_location)
        try:
            scene = scene_builder(city).prepare(window, history).scene
        except DatasetError as error:
            return SkippedScenes(str(error).removeprefix(f"{now.where}: "))
        extras |= {"map_location": now.map_location}
        if now.driver:
            extras |= {"driver": now.driver}
        if self.progress and len(window) - history + 1 >= FRAMES_V1:
            found = reference_progress(scene)
            extras |= {"pdm_progress": found.official, "pdm_progress_published": found.published}
        return PreparedScene(scene, extras)

    @cached_property
    def sample_options(self) -> dict[str, Any]:
        """What training samples depend on."""
        routes = {} if self.routes is None else {ROUTES: POLYLINES}
        return {"version": SAMPLES_VERSION, **routes, **NavsimSource(self.root, self.split).options()}

    def options(self) -> Mapping[str, Any]:
        """The split, with a digest of the tokens and logs it names, and the maps."""
        chosen = self.split.filter
        named = repr((chosen.log_names, None if chosen.tokens is None else sorted(chosen.tokens)))
        return {
            "split": self.split.name,
            "data_split": self.split.data_split,
            "num_history_frames": chosen.num_history_frames,
            "num_future_frames": chosen.num_future_frames,
            "frame_interval": chosen.frame_interval,
            "has_route": chosen.has_route,
            "max_scenes": chosen.max_scenes,
            "names": hashlib.sha256(named.encode()).hexdigest()[:16],
            "progress": self.progress,
            "synthetic": [] if self.synthetic is None else sorted(self.split.second_stage_tokens),
        }


def find_synthetic(root: Path, split: Split, folder: Path | None = None) -> Path | None:
    """The folder of a two-stage split's second-stage scenes; None for other splits.

    It is `<root>/<split>/synthetic_scene_pickles`, as the devkit lays it out, unless another is named.
    """
    if not split.two_stage:
        if folder is not None:
            raise DatasetError(
                f"{folder}: the split {split.name!r} lists no second-stage scenes; leave --synthetic out"
            )
        return None
    found = DataFolder(root).synthetic_scenes(split.name) if folder is None else folder
    if not any(found.glob("*.pkl")):
        raise DatasetError(
            f"{found}: no second-stage scenes (.pkl) of the split {split.name!r}; name their folder by --synthetic"
        )
    return found


@lru_cache(len(LOCATIONS))
def _city(maps: Path, location: str) -> CityMap:
    """The map of a city, read once per process."""
    return read_city_map(maps, location)
