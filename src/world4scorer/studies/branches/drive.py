"""Drive plans in the city: what a worker process does with the scenes of some logs.

The undisturbed traffic of a simulation is advanced once: scenes of all its logs are taken in the order of their time,
and every branch starts as a copy of the traffic at that moment. One branch lives at a time.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from world4scorer.city.streets.errors import CityError
from world4scorer.city.streets.map_export import export_map
from world4scorer.city.streets.map_index import MapIndex
from world4scorer.city.streets.places import PLACES
from world4scorer.city.streets.street_map import read_streets
from world4scorer.city.world.manifest import find_log
from world4scorer.city.world.simulation import CitySimulation, SimulationLost
from world4scorer.city.world.trace import Trace
from world4scorer.datasets.navsim.cameras import FRONT, VIEWS
from world4scorer.datasets.navsim.logs import Log, read_log
from world4scorer.datasets.prepare.tracks import STEPS_PER_FRAME
from world4scorer.datasets.store import SceneStore
from world4scorer.engine.rollout.plans import LqrProfile, roll_out
from world4scorer.engine.scene.indices import State
from world4scorer.engine.scene.scene import Scene
from world4scorer.jobs.data_folder import DataFolder
from world4scorer.studies.branches.ego_trajectory import (
    CAMERA_STEP,
    EgoTrajectory,
    logged_trajectory,
    rollout_trajectories,
)
from world4scorer.studies.branches.records import AskedScene, Branch, SceneBranches, kept_scenes, lose, write_log

CAMERA = VIEWS[FRONT]


@dataclass(frozen=True, eq=False)
class BranchTask:
    """Logs of one simulation."""

    simulation: str
    logs: Mapping[str, Sequence[AskedScene]]

    def __str__(self) -> str:
        return f"{self.simulation}, {', '.join(self.logs)}"


class _BranchLost(Exception):
    """SUMO crashed in a branch, as it does now and then where the ego drives as no driver would; the others live on."""


@dataclass(frozen=True)
class Branching:
    """Drives tasks and writes a file for each log as soon as its last scene is done; what the file has stays in it."""

    data: Path
    store: SceneStore
    out: Path
    suffix: str
    lqr: LqrProfile

    def __call__(self, task: BranchTask) -> int:
        """Drive everything that a task asks for; returns the number of scenes."""
        entries = {name: find_log(self.data, name) for name in task.logs}
        logs = {
            name: read_log(DataFolder(self.data).log(simulation.data_split, name))
            for name, (simulation, _) in entries.items()
        }
        place = next(iter(entries.values()))[0].place
        moments = []
        for name, scenes in task.logs.items():
            row = {frame.token: number for number, frame in enumerate(logs[name].frames)}
            for asked in scenes:
                if asked.token not in row:
                    raise CityError(f"{logs[name].path}: lacks the scene {asked.token!r}; was it prepared from here?")
                frame = row[asked.token]
                moments.append((entries[name][1].first_step + STEPS_PER_FRAME * frame, name, frame, asked))
        done: dict[str, list[SceneBranches]] = {name: [] for name in task.logs}
        left = {name: len(scenes) for name, scenes in task.logs.items()}
        with CitySimulation(self.data) as city:
            for _, name, frame, asked in sorted(moments, key=lambda one: one[:3]):
                try:
                    done[name].append(self._branch(city, place, logs[name], frame, asked))
                except _BranchLost:
                    lose(self.out / f"{name}{self.suffix}", asked)
                left[name] -= 1
                if not left[name] and done[name]:
                    self._write(logs[name], done.pop(name))
        return len(moments)

    def _write(self, log: Log, scenes: Sequence[SceneBranches]) -> None:
        """Add scenes to the file of a log, in time order; kept ones with another number of plans do not fit in."""
        path = self.out / f"{log.name}{self.suffix}"
        count = len(scenes[0].chosen)
        every = {token: scene for token, scene in kept_scenes(path).items() if len(scene.chosen) == count}
        every |= {scene.token: scene for scene in scenes}
        write_log(path, [every[frame.token] for frame in log.frames if frame.token in every])

    def _branch(self, city: CitySimulation, place: str, log: Log, frame: int, asked: AskedScene) -> SceneBranches:
        scene = self.store[asked.token]
        if scene.human_future is None:
            raise CityError(f"{self.store.folder}: nobody drove the scene {asked.token!r}; it cannot be branched")
        city.reset(log.name, frame, images=(CAMERA,))  # draws, so that branches find the scenery built
        plans = np.concatenate([scene.human_future[None], asked.plans])
        trajectories = [logged_trajectory(log.frames[frame:]), *rollout_trajectories(roll_out(scene, plans, self.lqr))]
        branches = tuple(self._drive(city, place, scene, trajectory) for trajectory in trajectories)
        return SceneBranches(asked.token, asked.chosen, asked.plans, branches)

    def _drive(self, city: CitySimulation, place: str, scene: Scene, trajectory: EgoTrajectory) -> Branch:
        with city.branch() as branch:
            try:
                found = branch.drive(
                    trajectory.poses, trajectory.velocities, trajectory.accelerations, {CAMERA_STEP: (CAMERA,)}
                )
            except SimulationLost as gone:
                raise _BranchLost from gone
        start = scene.ego_state[[State.X, State.Y, State.HEADING]]
        return Branch(
            ego=np.concatenate([start[None], trajectory.poses]),
            tokens=np.array(found.tokens, np.str_),
            types=found.types,
            sizes=found.sizes,
            poses=found.poses,
            speeds=found.speeds,
            there=found.valid,
            red=self._red(place, scene, found),
            off_road=found.off_road,
            gone=found.finish_step,
            jumped=found.teleported,
            view=found.files[CAMERA_STEP][CAMERA],
        )

    def _red(self, place: str, scene: Scene, found: Trace) -> NDArray[np.bool_]:
        """(L, F) which of the scene's lights are red at each frame."""
        shown = found.signals[::STEPS_PER_FRAME]
        red = np.zeros((len(scene.lights.polygon), len(shown)), np.bool_)
        if not len(red):
            return red
        index = _map_index(DataFolder(self.data).city_network(PLACES[place].network.name))
        names = [scene.map.ids[polygon] for polygon in scene.lights.polygon]
        for number, signals in enumerate(shown):
            lights = dict(index.lights(signals))
            red[:, number] = [lights[name] for name in names]
        return red


@lru_cache(4)
def _map_index(network: Path) -> MapIndex:
    """Read once per process."""
    return export_map(read_streets(network))[1]
