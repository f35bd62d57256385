"""Make a city dataset: networks and maps, simulations, logs with images, splits.

The result is identical to the byte for any number of processes. Finished parts are kept: an interrupted run resumes
when started again.

Example::

    manifest = make_city(preset("tiny"), "city")
    print(manifest["splits"]["city_train"]["situations"]["frames"])
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

from world4scorer import __version__
from world4scorer.city.streets.errors import CityError
from world4scorer.city.streets.map_export import export_map
from world4scorer.city.streets.map_index import MapIndex
from world4scorer.city.streets.network import build_network
from world4scorer.city.streets.places import PLACES, Network
from world4scorer.city.streets.street_map import read_streets
from world4scorer.city.world import manifest as manifest_io
from world4scorer.city.world.commands import RouteReader
from world4scorer.city.world.config import TRAINING_SPLIT, CityConfig, Share, Simulation, plain_config
from world4scorer.city.world.demand import write_demand
from world4scorer.city.world.log_plan import LogPlan, perturbed_logs, plan_log
from world4scorer.city.world.log_renderer import LogRenderer, RenderBatch, RenderTask
from world4scorer.city.world.manifest import DriveEntry, LogEntry, SimulationEntry, is_rendered
from world4scorer.city.world.recording import record
from world4scorer.city.world.segments import FUTURE_FRAMES, PAST_FRAMES, select_segments
from world4scorer.datasets.navsim.filters import SceneFilter, Split, write_split
from world4scorer.datasets.navsim.map_writer import UNFINISHED_MAPS, complete_maps, write_map
from world4scorer.jobs.data_folder import DataFolder
from world4scorer.jobs.executors import Executor, Workers, as_executor
from world4scorer.jobs.progress import JobProgress
from world4scorer.jobs.resumable import check_settings, resumable, run_tasks

STRIP_WIDTH: Final = 250.0
"""Logs are rendered in strips of the map this wide [m]."""
BATCH_LOGS: Final = 10
"""Logs that a process renders at a time."""
ROUND_SIMULATIONS: Final = 30
"""Simulations that are run before their logs are rendered: all their frames are held in memory."""
LOCK: Final = str(DataFolder(Path()).city / ".lock")
_ROOT: Final = DataFolder(Path())
LEFTOVERS: Final = (
    *(f"{folder}/*/.*.tmp" for folder in (_ROOT.all_logs, _ROOT.all_sensors)),
    *(f"{_ROOT.city_manifest.parent}/{below}.*.tmp" for below in ("", "*/")),
    *(f"{_ROOT.splits}/{below}.*.tmp" for below in ("", "*/")),
    f"{_ROOT.maps}/.*.tmp",
    f"{_ROOT.maps}/*/*/{UNFINISHED_MAPS}",
)
"""Unfinished files of a killed run, to be removed: the devkit reads every file among the logs."""
ATTRIBUTION: Final = (
    "Streets: (c) OpenStreetMap contributors, ODbL; crossing in Braunschweig: German Aerospace Center. "
    "Networks from Eclipse SUMO, or generated."
)


@dataclass(frozen=True)
class SimulationRunner:
    """Runs simulations and plans their logs; runs in worker processes."""

    root: Path
    config: CityConfig
    networks: Mapping[str, Path]

    def __call__(self, simulation: Simulation) -> list[LogPlan]:
        """Run one simulation."""
        place = PLACES[simulation.share.place]
        network = self.networks[place.network.name]
        streets = read_streets(network)
        demand = self.write_demand(simulation)
        recording = record(network, demand, simulation.seed, self.config.warm_up, self.config.duration)
        routes = RouteReader(streets)
        segments = select_segments(recording, streets, place, simulation.decisions, simulation.share.selection)
        return [
            plan_log(segment, recording, routes, simulation.name, place.network.name, self.config.seed)
            for segment in segments
        ]

    def write_demand(self, simulation: Simulation) -> Path:
        """Write the trips of a simulation and return their file."""
        place = PLACES[simulation.share.place]
        streets = read_streets(self.networks[place.network.name])
        demand = DataFolder(self.root).city_trips(simulation.name)
        write_demand(streets, place, simulation.seed, self.config.warm_up + self.config.duration, demand)
        return demand


class CityProgress(JobProgress):
    """Simulations done, then frames drawn, with the time left; on standard error."""

    def __init__(self, simulations: int, show: bool) -> None:
        super().__init__("{task.description}", "{task.fields[unit]}", show)
        self._simulating = self._bar.add_task("simulating", total=simulations, unit="simulations")
        self._frames = 0
        self._rendering = self._bar.add_task("drawing   ", total=None, unit="frames")

    def simulated(self) -> None:
        """Add a finished simulation."""
        self._bar.advance(self._simulating, 1)

    def begin_rendering(self, frames: int) -> None:
        """Add frames to render."""
        self._frames += frames
        self._bar.update(self._rendering, total=self._frames)

    def rendered(self, frames: int) -> None:
        """Add rendered frames."""
        self._bar.advance(self._rendering, frames)


def make_city(
    config: CityConfig, root: str | os.PathLike[str], *, workers: Workers = None, show_progress: bool = False
) -> dict[str, Any]:
    """Write the dataset below `root` and return its manifest (`city/city.json`)."""
    root = Path(root)
    _check_folder(config, root)
    with resumable(root, "making this city", CityError, lock=LOCK, leftovers=LEFTOVERS):
        missing = [simulation for simulation in config.simulations if not _is_done(config, root, simulation)]
        if not missing and manifest_io.read_manifest(root).get("complete"):
            return manifest_io.read_manifest(root)
        manifest_io.write_manifest(root, _begun(config))
        return _make(config, root, missing, workers, show_progress)


def make_traffic(config: CityConfig, root: str | os.PathLike[str]) -> None:
    """Write streets, maps and traffic of a city below `root`, without logs: a world to drive in.

    Takes seconds; a folder that is complete is left as it is.
    """
    root = Path(root)
    _check_folder(config, root)
    with resumable(root, "making this traffic", CityError, lock=LOCK, leftovers=LEFTOVERS):
        if DataFolder(root).is_city and manifest_io.read_manifest(root).get("complete"):
            return
        manifest_io.write_manifest(root, _begun(config))
        networks, locations, paths = _write_networks(config, root)
        _write_maps(DataFolder(root).maps, networks, paths, locations, config.devkit_maps)
        for simulation in config.simulations:
            SimulationRunner(root, config, paths).write_demand(simulation)
            _write_simulation_entry(root, simulation, ())
        names = [simulation.name for simulation in config.simulations]
        manifest_io.write_manifest(root, {**_about(config, locations), "splits": {}, "simulations": names})


def _write_networks(config: CityConfig, root: Path) -> tuple[dict[str, Network], dict[str, str], dict[str, Path]]:
    """Networks of a configuration, their map names and their files, by name."""
    networks = {PLACES[share.place].network.name: PLACES[share.place].network for share in config.shares}
    locations = {n: net.devkit_location if config.devkit_maps else net.location for n, net in networks.items()}
    paths = {name: build_network(network, DataFolder(root).city_network(name)) for name, network in networks.items()}
    return networks, locations, paths


def _begun(config: CityConfig) -> dict[str, Any]:
    """The manifest of a city that is not complete: written first, so that its folder is known if work is stopped."""
    return {"config": plain_config(config), "complete": False}


def _about(config: CityConfig, locations: Mapping[str, str]) -> dict[str, Any]:
    """The beginning of the manifest of a complete city."""
    return {
        "config": plain_config(config),
        "complete": True,
        "attribution": ATTRIBUTION,
        "versions": {"world4scorer": __version__} | {name: version(name) for name in ("eclipse-sumo", "libsumo")},
        "locations": dict(locations),
    }


def _make(
    config: CityConfig, root: Path, missing: Sequence[Simulation], workers: Workers, show_progress: bool
) -> dict[str, Any]:
    folder = DataFolder(root)
    executor = as_executor(workers)
    networks, locations, paths = _write_networks(config, root)
    indices = _write_maps(folder.maps, networks, paths, locations, config.devkit_maps)
    with CityProgress(len(missing), show_progress) as progress:
        for begin in range(0, len(missing), ROUND_SIMULATIONS):
            part = missing[begin : begin + ROUND_SIMULATIONS]
            plans = _simulate(executor, SimulationRunner(root, config, paths), part, root, progress)
            plans = {each: [*found, *_perturbed(config, each, found)] for each, found in plans.items()}
            _render(executor, LogRenderer(root, config, paths, locations, indices), plans, root, progress)
    entries = [manifest_io.read_simulation(root, simulation.name) for simulation in config.simulations]
    manifest = {
        **_about(config, locations),
        "splits": {name: _write_split(root, name, entries) for name in dict.fromkeys(s.split for s in config.shares)},
        "places": {share.place: _place_entry(share, entries) for share in config.shares},
        "simulations": [entry.name for entry in entries],
    }
    manifest_io.write_manifest(root, manifest)
    return manifest


def _check_folder(config: CityConfig, root: Path) -> None:
    """Refuse a folder with another dataset, or a city with other settings."""
    if DataFolder(root).is_city:
        check_settings(root, manifest_io.read_manifest(root)["config"], plain_config(config), CityError)
    elif DataFolder(root).maps.exists() or DataFolder(root).all_logs.exists():
        raise CityError(f"{root}: holds a dataset that is no city; choose another folder")


def _is_done(config: CityConfig, root: Path, simulation: Simulation) -> bool:
    """Whether the entry of a simulation, its logs and its images all exist."""
    if not DataFolder(root).city_simulation(simulation.name).exists():
        return False
    entry = manifest_io.read_simulation(root, simulation.name)
    return all(is_rendered(root, entry.data_split, log.name, log.images or log.frames, config) for log in entry.logs)


def _write_maps(
    maps: Path, networks: Mapping[str, Network], paths: Mapping[str, Path], locations: Mapping[str, str], devkit: bool
) -> dict[str, MapIndex]:
    indices = {}
    for name in networks:
        streets = read_streets(paths[name])
        layers, indices[name] = export_map(streets)
        write_map(maps, locations[name], layers, crs=streets.crs)
    if devkit:
        complete_maps(maps)
    return indices


def _simulate(
    executor: Executor, work: SimulationRunner, simulations: Sequence[Simulation], root: Path, progress: CityProgress
) -> dict[Simulation, list[LogPlan]]:
    # The executor runs its first task alone: the smallest.
    tasks = sorted(simulations, key=lambda simulation: PLACES[simulation.share.place].vehicles)
    plans: dict[Simulation, list[LogPlan]] = {}
    for simulation, found in run_tasks(executor, work, tasks, root, "simulations", CityError, stop_at_first=True):
        plans[simulation] = found
        progress.simulated()
    return {simulation: plans[simulation] for simulation in simulations}


def _perturbed(config: CityConfig, simulation: Simulation, plans: Sequence[LogPlan]) -> list[LogPlan]:
    """Perturbed scenes of a simulation's logs; only training streets have any."""
    if not config.perturbed or simulation.share.split != TRAINING_SPLIT:
        return []
    return [log for plan in plans for log in perturbed_logs(plan, config.perturbed)]


def _render(
    executor: Executor, work: LogRenderer, plans: Mapping[Simulation, list[LogPlan]], root: Path, progress: CityProgress
) -> None:
    """Render the logs of some simulations; a simulation's entry is written after its last log."""
    tasks = [RenderTask(plan, simulation.share.data_split) for simulation, found in plans.items() for plan in found]
    tasks.sort(key=_spatial_order)
    progress.begin_rendering(sum(len(task.plan.frames) for task in tasks))
    open_logs = {simulation.name: {plan.name for plan in found} for simulation, found in plans.items()}
    by_name = {simulation.name: simulation for simulation in plans}
    for batch, frames in run_tasks(executor, work, _batches(tasks), root, "logs", CityError):
        progress.rendered(frames)
        for task in batch.tasks:
            name = task.plan.simulation
            open_logs[name].discard(task.plan.name)
            if not open_logs[name]:
                _write_simulation_entry(root, by_name[name], plans[by_name[name]])
    for simulation, found in plans.items():
        if not found:
            _write_simulation_entry(root, simulation, found)


def _batches(tasks: Sequence[RenderTask]) -> list[RenderBatch]:
    """Batches of neighbours; the first has one log, for the executor runs its first task alone."""
    batches: list[list[RenderTask]] = []
    for task in tasks:
        new = len(batches) < 2 or len(batches[-1]) == BATCH_LOGS
        if new or batches[-1][0].plan.network != task.plan.network:
            batches.append([])
        batches[-1].append(task)
    return [RenderBatch(tuple(batch)) for batch in batches]


def _spatial_order(task: RenderTask) -> tuple[str, int, float]:
    """Sort key that keeps neighbours together, so that each process paints the ground of an area once."""
    x, y, _ = task.plan.frames[len(task.plan.frames) // 2].ego_pose
    strip = int(x // STRIP_WIDTH)
    return task.plan.network, strip, float(y if strip % 2 else -y)


def _write_simulation_entry(root: Path, simulation: Simulation, plans: Sequence[LogPlan]) -> None:
    share = simulation.share
    entry = SimulationEntry(
        name=simulation.name,
        place=share.place,
        split=share.split,
        data_split=share.data_split,
        seed=simulation.seed,
        logs=[LogEntry.of(plan) for plan in plans],
    )
    manifest_io.write_simulation(root, entry)


def _place_entry(share: Share, entries: Sequence[SimulationEntry]) -> dict[str, int]:
    """Number of scenes of a place, and how many were wanted: more than its traffic offers are not found."""
    found = sum(len(log.tokens) for entry in entries if entry.place == share.place for log in entry.logs)
    return {"scenes": found, "wanted": share.decisions}


def write_city_split(root: Path, name: str, data_split: str, logs: Sequence[LogEntry | DriveEntry]) -> None:
    """Write the split file of some logs, whose scenes are their tokens, in the devkit's format."""
    scene_filter = SceneFilter(
        num_history_frames=PAST_FRAMES + 1,
        num_future_frames=FUTURE_FRAMES,
        frame_interval=1,
        has_route=True,
        log_names=tuple(log.name for log in logs),
        tokens=tuple(token for log in logs for token in log.tokens),
    )
    write_split(DataFolder(root).splits, Split(name, data_split, scene_filter))


def _write_split(root: Path, name: str, entries: Sequence[SimulationEntry]) -> dict[str, Any]:
    """Write a split file in the devkit's format; returns the split's entry in the manifest."""
    mine = [entry for entry in entries if entry.split == name]
    logs = [log for entry in mine for log in entry.logs]
    write_city_split(root, name, mine[0].data_split, logs)
    situations: dict[str, int] = {}
    for log in logs:
        for situation, count in log.situations.items():
            situations[situation] = situations.get(situation, 0) + count
    return {
        "data_split": mine[0].data_split,
        "places": sorted({entry.place for entry in mine}),
        "logs": len(logs),
        "frames": sum(log.images or log.frames for log in logs),
        "situations": situations,
    }
