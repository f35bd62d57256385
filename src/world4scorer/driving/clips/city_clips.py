"""Clips in Bench2Drive's layout from the embedded city: training without CARLA.

>>> make_city_clips(Path("city"), Path("clips"))
    clips/CityDrive_TownIngolstadt_Route0_Weather3/...
    clips/maps/TownIngolstadt.npz
    clips/city-clips.json

The ego follows the city's logs at 10 Hz; traffic, signals and images come from the simulation. The ego is written as
Bench2Drive's car with the same rear axle; cameras are the city's, calibrated in the annotations. Command points lie on
the centreline of the log's route: where turns begin and end, and at least every 50 m.
"""

from __future__ import annotations

import hashlib
import io
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from world4scorer.city.streets.places import PLACES
from world4scorer.city.streets.street_map import read_streets
from world4scorer.city.world.commands import RouteReader
from world4scorer.city.world.episode import HISTORY_FRAMES
from world4scorer.city.world.global_plan import global_plan
from world4scorer.city.world.manifest import LogEntry, SimulationEntry, read_manifest, read_simulation
from world4scorer.city.world.recording import STEPS_PER_FRAME
from world4scorer.city.world.simulation import CitySimulation
from world4scorer.city.world.traffic import TIME_STEP
from world4scorer.datasets.navsim.cameras import VIEWS
from world4scorer.datasets.navsim.frames import COMMANDS
from world4scorer.datasets.navsim.logs import Log, read_log
from world4scorer.datasets.navsim.map_reader import read_city_map
from world4scorer.driving.clips.clip_writer import RecordedDrive, write_clip
from world4scorer.driving.clips.drivable import city_grid, map_path
from world4scorer.driving.clips.errors import ClipError
from world4scorer.driving.clips.rig import ClipCameras
from world4scorer.engine.routes import RoadOption, Route, RouteCursor
from world4scorer.engine.routes.commands import sparse_nodes
from world4scorer.engine.scene.geometry import direction
from world4scorer.engine.scene.indices import TrackType
from world4scorer.jobs.data_folder import DataFolder
from world4scorer.jobs.executors import Executor, ProcessExecutor
from world4scorer.jobs.files import write_json
from world4scorer.jobs.resumable import Settings, resumable

MAPS: Final = "maps"
OPTIONS_FILE: Final = "city-clips.json"
"""Settings of the clips in a folder."""
FORMAT: Final = "world4scorer-city-clips-1"
POINT_REACHED_DISTANCE: Final = 4.0
"""Distance along the route at which a command point counts as reached [m]."""
CARLA_WEATHERS: Final = 26
"""Number of CARLA's weather presets."""
FIRST_FRAME: Final = HISTORY_FRAMES - 1
"""Log frame at which a clip begins."""
ROAD_OPTIONS: Final = {"left": RoadOption.LEFT, "right": RoadOption.RIGHT}
"""Road options of log commands; all others follow the lane."""

Floats = NDArray[np.float64]


def make_city_clips(
    data: Path,
    out: Path,
    split: str = "city_train",
    clips: int | None = None,
    seconds: float | None = None,
    executor: Executor | None = None,
    show_progress: bool = False,
) -> list[Path]:
    """Write logs of a city's split as clips: all or the first `clips`, whole or their first `seconds`.

    Finished clips are kept; a folder takes clips of one city, split and length. A larger `clips` adds to it.
    """
    manifest = read_manifest(data)
    if split not in manifest.get("splits", {}):
        known = ", ".join(manifest.get("splits", {})) or "none; make the city to its end"
        raise ClipError(f"{data}: no split {split!r}; it has {known}")
    simulations = [read_simulation(data, name) for name in manifest["simulations"]]
    tasks = _tasks([one for one in simulations if one.split == split], clips)
    city = hashlib.sha256(json.dumps(manifest, sort_keys=True).encode()).hexdigest()[:16]
    content = {"format": FORMAT, "city": city, "split": split, "seconds": seconds, "clips": clips}
    settings = Settings(out / OPTIONS_FILE, content, ignored=("clips",))
    _check_folder(settings, out, clips, [name for task in tasks for name in task.logs.values()])
    with resumable(out, "making these clips", ClipError, settings) as job:
        write_json(settings.path, content)  # more clips may be asked for than before
        _write_maps(data, out, {PLACES[task.simulation.place].network.name for task in tasks}, manifest["locations"])
        job.run_missing(
            executor or ProcessExecutor(),
            _DriveClips(data, out, seconds),
            tasks,
            "clips",
            "simulations",
            unit="clips",
            size=lambda task: len(task.logs),
            show=show_progress,
        )
    return [out / name for task in tasks for name in task.logs.values()]


def _check_folder(settings: Settings, out: Path, clips: int | None, names: Sequence[str]) -> None:
    """A folder takes clips made in one way, and is not asked for fewer of them later."""
    path, known = settings.path, settings.check(ClipError)
    if known is None:
        if any((out / name).is_dir() for name in names):
            raise ClipError(
                f"{out}: holds clips, but no {path.name} that says how they were made; choose another folder"
            )
        return
    count = known.get("clips")
    if not isinstance(count, int | None):
        raise ClipError(f"{path}: not what city-clips writes; choose another folder")
    if clips is not None and (count is None or count > clips):
        asked = "all" if count is None else count
        raise ClipError(f"{path}: this folder is for {asked} clips, more than {clips}; choose another folder")


@dataclass(frozen=True)
class _Task:
    """Logs of one simulation, in the order of time."""

    simulation: SimulationEntry
    logs: dict[str, str]
    """The clip of each log."""

    def __str__(self) -> str:
        return self.simulation.name


def _tasks(simulations: Sequence[SimulationEntry], clips: int | None) -> list[_Task]:
    tasks, number = [], 0
    for simulation in simulations:
        logs, town = {}, town_name(PLACES[simulation.place].network.name)
        for entry in sorted(simulation.logs, key=lambda entry: entry.first_step):
            if clips is None or number < clips:
                weather = entry.weather_seed % CARLA_WEATHERS
                logs[entry.name] = f"CityDrive_{town}_Route{number}_Weather{weather}"
                number += 1
        if logs:
            tasks.append(_Task(simulation, logs))
    return tasks


def town_name(network: str) -> str:
    """CARLA-style town name of a network."""
    return f"Town{re.sub('[^0-9A-Za-z]', '', network.title())}"


def _write_maps(data: Path, out: Path, networks: set[str], locations: dict[str, str]) -> None:
    for name in sorted(networks):
        town = town_name(name)
        path = map_path(out / MAPS, town)
        if not path.is_file():
            city_grid(read_city_map(DataFolder(data).maps, locations[name]), town).save(path)


@dataclass(frozen=True)
class _DriveClips:
    """Task of a worker process: the clips of one simulation."""

    data: Path
    out: Path
    seconds: float | None

    def __call__(self, task: _Task) -> int:
        entries = {entry.name: entry for entry in task.simulation.logs}
        missing = {log: name for log, name in task.logs.items() if not (self.out / name).is_dir()}
        if missing:
            network = DataFolder(self.data).city_network(PLACES[task.simulation.place].network.name)
            streets = read_streets(network)
            reader = RouteReader(streets)
            with CitySimulation(self.data) as city:
                for log, name in missing.items():
                    drive = self._drive(city, task.simulation, entries[log], reader, streets.offset)
                    write_clip(self.out / name, drive)
        return len(missing)

    def _drive(
        self, city: CitySimulation, simulation: SimulationEntry, entry: LogEntry, reader: RouteReader, offset: Floats
    ) -> RecordedDrive:
        log = read_log(DataFolder(self.data).log(simulation.data_split, entry.name))
        ego = _at_ten_hertz(log, self.seconds)
        city.reset(entry.name, FIRST_FRAME, images=False)
        looks = dict.fromkeys(range(len(ego.poses)), VIEWS)
        seen = city.drive(ego.poses[1:], ego.velocity[1:], ego.acceleration[1:], looks)
        near, far = _command_points(reader, entry.route, ego.poses, offset)
        images = [[seen.files[step][name] for name in VIEWS] for step in range(len(ego.poses))]
        return RecordedDrive(
            poses=ego.poses,
            speed=ego.velocity[:, 0],
            acceleration=ego.acceleration,
            yaw_rate=np.gradient(np.unwrap(ego.poses[:, 2]), TIME_STEP),
            commands=ego.commands,
            near=near,
            far=far,
            users=seen.poses,
            there=seen.valid,
            sizes=seen.sizes,
            types=[TrackType(kind) for kind in seen.types],
            cameras=_cameras(log, images[0][0]),
            images=images,
        )


@dataclass(frozen=True, eq=False)
class _EgoTrajectory:
    """Ego trajectory of a log at 10 Hz."""

    poses: Floats
    velocity: Floats
    acceleration: Floats
    commands: NDArray[np.int64]


def _at_ten_hertz(log: Log, seconds: float | None) -> _EgoTrajectory:
    """Upsample frames 0.5 s apart: positions by cubic Hermite splines, the rest linearly."""
    frames = log.frames[FIRST_FRAME:]
    if seconds is not None:
        frames = frames[: max(2, round(seconds / (STEPS_PER_FRAME * TIME_STEP)) + 1)]
    known: Floats = np.arange(len(frames), dtype=np.float64) * STEPS_PER_FRAME * TIME_STEP
    time: Floats = np.arange((len(frames) - 1) * STEPS_PER_FRAME + 1, dtype=np.float64) * TIME_STEP
    poses = np.stack([frame.ego_pose for frame in frames])
    heading = np.unwrap(poses[:, 2])
    velocity = np.stack([frame.velocity for frame in frames])
    acceleration = np.stack([frame.acceleration for frame in frames])
    rates = velocity[:, :1] * direction(heading)
    lines = [np.interp(time, known, column) for column in (heading, *velocity.T, *acceleration.T)]
    last = np.minimum(np.arange(len(time)) // STEPS_PER_FRAME, len(frames) - 1)
    names = [COMMANDS[int(np.argmax(frame.command))] for frame in frames]
    options = np.array([ROAD_OPTIONS.get(name, RoadOption.LANE_FOLLOW) for name in names], np.int64)
    return _EgoTrajectory(
        poses=np.column_stack([_cubic(time, known, poses[:, :2], rates), lines[0]]),
        velocity=np.column_stack(lines[1:3]),
        acceleration=np.column_stack(lines[3:]),
        commands=options[last],
    )


def _cubic(time: Floats, known: Floats, values: Floats, rates: Floats) -> Floats:
    """Cubic Hermite interpolation (n, 2) of values with known rates."""
    left = np.clip(np.searchsorted(known, time, side="right") - 1, 0, len(known) - 2)
    span = (known[left + 1] - known[left])[:, None]
    t = (time[:, None] - known[left][:, None]) / span
    return np.asarray(
        (2 * t**3 - 3 * t**2 + 1) * values[left]
        + (t**3 - 2 * t**2 + t) * span * rates[left]
        + (3 * t**2 - 2 * t**3) * values[left + 1]
        + (t**3 - t**2) * span * rates[left + 1]
    )


def _command_points(reader: RouteReader, route: Sequence[str], poses: Floats, offset: Floats) -> tuple[Floats, Floats]:
    """(F, 2) next command point of each frame, and (F, 2) the one after it."""
    found = global_plan(reader, route, poses[0] - np.append(offset, 0.0))
    if found is None:  # no lane path along the route: use the ego's path
        line, options = poses[:, :2], [RoadOption.LANE_FOLLOW] * len(poses)
    else:
        line, options = found[0] + offset, found[1]
    nodes, _ = sparse_nodes(line, options)
    cursor = RouteCursor(Route(line))
    places = [_distance_along(cursor.route, node) for node in nodes]
    near = np.empty((len(poses), 2))
    far = np.empty((len(poses), 2))
    for frame, pose in enumerate(poses):
        here = cursor.route.distance[cursor.advance(pose[:2])]
        following = min(int(np.searchsorted(places, here + POINT_REACHED_DISTANCE, side="right")), len(nodes) - 1)
        near[frame], far[frame] = nodes[following], nodes[min(following + 1, len(nodes) - 1)]
    return near, far


def _distance_along(route: Route, node: Floats) -> float:
    """Distance of a node along the route [m]."""
    return float(route.distance[np.argmin(((route.points - node) ** 2).sum(1))])


def _cameras(log: Log, image: bytes) -> ClipCameras:
    cameras = [log.frames[FIRST_FRAME].cameras[name] for name in VIEWS]
    with Image.open(io.BytesIO(image)) as opened:
        size = opened.size
    return ClipCameras(
        np.stack([camera.intrinsics for camera in cameras]),
        np.stack([camera.rotation for camera in cameras]),
        np.stack([camera.translation for camera in cameras]),
        np.array(size, np.int32),
    )
