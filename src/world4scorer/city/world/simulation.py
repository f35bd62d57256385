"""Simulate a city log: reset the ego to a frame, move it, observe, and branch the simulation.

Example::

    with CitySimulation("city") as city:
        observation = city.reset("berlin-east_000_v57_00650", frame=10)
        other = city.branch()              # an exact, independent copy
        city.step(observation.ego_pose)    # stay here for 0.1 s
        print(city.observe().agent_input.velocities[-1])
"""

from __future__ import annotations

import multiprocessing
import operator
import os
import secrets
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from multiprocessing.connection import Connection, Listener
from multiprocessing.process import BaseProcess
from pathlib import Path
from types import TracebackType
from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from world4scorer.city.streets.errors import CityError
from world4scorer.city.streets.places import PLACES
from world4scorer.city.streets.street_map import read_streets
from world4scorer.city.world.episode import (
    HISTORY_FRAMES,
    EgoState,
    EpisodeStart,
    RawObservation,
    SimulationSetup,
    serve,
)
from world4scorer.city.world.log_renderer import annotations_of
from world4scorer.city.world.manifest import (
    LogEntry,
    SimulationEntry,
    find_log,
    read_config,
    read_manifest,
    read_simulation,
)
from world4scorer.city.world.recording import STEPS_PER_FRAME
from world4scorer.city.world.trace import Trace
from world4scorer.city.world.traffic import TIME_STEP
from world4scorer.datasets.navsim.agent_input import AgentInput
from world4scorer.datasets.navsim.annotations import Annotations
from world4scorer.datasets.navsim.logs import read_log
from world4scorer.engine.scene.geometry import Floats
from world4scorer.jobs.data_folder import DataFolder

SHUTDOWN_TIMEOUT: Final = 3.0
"""A process still running after this time is terminated [s]."""
CONNECT_TIMEOUT: Final = 60.0
"""A branch must connect within this time [s]."""


class SimulationLost(CityError):
    """The simulation process ended: it was killed, or SUMO crashed."""


@dataclass(frozen=True, eq=False)
class Observation:
    """Observation of the ego at one step."""

    time: float
    """Simulation time [s]."""
    agent_input: AgentInput
    """Four frames, 0.5 s apart, as read from a log."""
    images: Mapping[str, NDArray[np.uint8]]
    """(H, W, 3) by camera, JPEG-compressed as on disk; empty if not requested."""
    ego_pose: Floats
    """(3,) x, y [m], heading [rad] of the rear axle in the global frame."""
    annotations: Annotations
    """Road users within 150 m, in the ego frame."""
    signals: Mapping[str, str]
    """SUMO state string of every traffic light."""
    off_road: bool
    """Too far from every lane for SUMO's traffic to react to the ego: end the episode here."""
    finished: bool
    """The ego has reached the end of its route and has been removed."""


class CitySimulation:
    """The traffic of a log with an ego moved by the caller.

    Traffic runs in separate processes. Resets in order of time are fast: the undisturbed traffic is kept and forked.
    """

    def __init__(self, root: str | os.PathLike[str], *, height: int | None = None, width: int | None = None) -> None:
        self._root = Path(root)
        config = read_config(read_manifest(root))
        self._config = replace(config, height=height or config.height, width=width or config.width)
        self._undisturbed: _Process | None = None
        self._undisturbed_name = ""
        self._undisturbed_step = 0
        self._undisturbed_offset = np.zeros(2)
        self._episode: _Process | None = None
        self._offset = np.zeros(3)
        self._log = ""

    def __enter__(self) -> CitySimulation:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def cameras(self) -> tuple[str, ...]:
        """Cameras that can be rendered."""
        return self._config.cameras

    def close(self) -> None:
        """End the processes."""
        for process in (self._episode, self._undisturbed):
            if process is not None:
                process.close()
        self._episode = self._undisturbed = None
        self._undisturbed_name, self._undisturbed_step = "", 0

    def reset(self, log: str, frame: int, *, images: bool | Sequence[str] = True) -> Observation:
        """Reset the ego to a frame of a log (0 is the first); `images` as for `observe`."""
        simulation, entry = find_log(self._root, log)
        frame = operator.index(frame)
        if not HISTORY_FRAMES - 1 <= frame < entry.frames:
            raise CityError(
                f"log {log!r}: frame {frame} is out of range; choose {HISTORY_FRAMES - 1} to {entry.frames - 1}"
            )
        offset = self._prepare(simulation, entry.first_step + STEPS_PER_FRAME * frame)
        past = self._past(simulation, entry, frame, offset)
        start = EpisodeStart(entry.name, entry.vehicle, tuple(entry.route), entry.weather_seed, past)
        return self._begin(start, offset, images)

    def start(
        self,
        simulation: str,
        start: EpisodeStart,
        *,
        images: bool | Sequence[str] = True,
        preload: bool = False,
    ) -> Observation:
        """Take over a vehicle of a simulation at the last step of `start.past`; `images` as for `observe`.

        With `preload` the scenery is built before the traffic is forked, so that later starts share it; with images
        always.
        """
        entry = read_simulation(self._root, simulation)
        return self._begin(start, self._prepare(entry, start.past[-1].step), images, preload)

    def _begin(
        self, start: EpisodeStart, offset: Floats, images: bool | Sequence[str] = True, preload: bool = False
    ) -> Observation:
        assert self._undisturbed is not None
        if self._episode is not None:
            self._episode.close()
        self._offset = np.append(offset, 0.0)
        self._log = start.name
        if images is not False or preload:
            self._undisturbed.ask("preload", start.past[-1].pose)
        self._episode = self._undisturbed.branch()
        self._episode.ask("take_over", start)
        return self.observe(images=images)

    def step(
        self, pose: ArrayLike, *, velocity: ArrayLike | None = None, acceleration: ArrayLike | None = None
    ) -> bool:
        """Move the ego's rear axle to a global pose (3,) and simulate 0.1 s.

        Velocity (2,) and acceleration (2,) in the ego frame default to finite differences of poses. Returns whether
        the ego is still on its route.
        """
        values = np.asarray(pose, np.float64)
        if values.shape != (3,) or not np.isfinite(values).all():
            raise CityError(f"pose: {values.tolist()}; want x, y, heading")
        local = values - self._offset
        given = [_pair(name, value) for name, value in (("velocity", velocity), ("acceleration", acceleration))]
        return bool(self._running().ask("step", local, *given))

    def drive(
        self, poses: ArrayLike, velocities: ArrayLike, accelerations: ArrayLike, cameras_at: Mapping[int, Sequence[str]]
    ) -> Trace:
        """Move the ego along global poses (T, 3), with velocities and accelerations (T, 2) in the ego frame.

        `cameras_at` lists the cameras to render by step (0 is now, T the last). If the ego reaches the end of its
        route before T, the traffic continues without it: see `Trace.finish_step`.
        """
        path = np.asarray(poses, np.float64)
        if path.ndim != 2 or path.shape[1] != 3 or not np.isfinite(path).all():
            raise CityError(f"poses: shape {path.shape}; want rows of x, y, heading, all finite")
        moved = [np.asarray(values, np.float64) for values in (velocities, accelerations)]
        for name, values in zip(("velocities", "accelerations"), moved, strict=True):
            if values.shape != (len(path), 2) or not np.isfinite(values).all():
                raise CityError(f"{name}: shape {values.shape}; want ({len(path)}, 2), forward and left, all finite")
        asked = {int(step): self._cameras(cameras) for step, cameras in cameras_at.items()}
        found: Trace = self._running().ask("drive", path - self._offset, *moved, asked)
        return found.shifted(self._offset)

    def drive_with_sumo(self, steps: int, cameras_at: Mapping[int, Sequence[str]]) -> tuple[Trace, list[EgoState]]:
        """Let SUMO drive the ego for `steps` steps; `cameras_at` as for `drive`. Returned poses are global."""
        asked = {int(step): self._cameras(cameras) for step, cameras in cameras_at.items()}
        found, drive = self._running().ask("drive_with_sumo", operator.index(steps), asked)
        return found.shifted(self._offset), [replace(frame, pose=frame.pose + self._offset) for frame in drive]

    def events_met(self) -> list[bool]:
        """Whether the ego has met each event of its `EpisodeStart`."""
        return list(self._running().ask("events_met"))

    def observe(self, *, images: bool | Sequence[str] = True) -> Observation:
        """Observe the current step; `images` is True for all cameras, a list of cameras, or False for none."""
        live: RawObservation = self._running().ask("observe", self._cameras(images))
        frame = live.frame
        return Observation(
            time=frame.step * TIME_STEP,
            agent_input=live.agent_input,
            images=live.images,
            ego_pose=frame.ego_pose + self._offset,
            annotations=annotations_of(frame, self._log),
            signals=frame.signals,
            off_road=live.off_road,
            finished=live.finished,
        )

    def branch(self) -> CitySimulation:
        """Return an exact, independent copy of the simulation; close it when done."""
        copy = CitySimulation(self._root, height=self._config.height, width=self._config.width)
        copy._offset, copy._log = self._offset, self._log
        copy._episode = self._running().branch()
        return copy

    def _cameras(self, images: bool | Sequence[str]) -> tuple[str, ...] | None:
        """Names of the cameras to render; None for all."""
        if isinstance(images, bool):
            return None if images else ()
        unknown = [name for name in images if name not in self._config.cameras]
        if unknown:
            raise CityError(f"camera {unknown[0]!r} is not in this city; choose from {', '.join(self._config.cameras)}")
        return tuple(images)

    def _running(self) -> _Process:
        if self._episode is None:
            raise CityError("no ego yet: call reset(log, frame) first")
        return self._episode

    def _prepare(self, simulation: SimulationEntry, step: int) -> Floats:
        """Advance the undisturbed traffic of a simulation to a step; returns the offset of its street map."""
        folder = DataFolder(self._root)
        network = folder.city_network(PLACES[simulation.place].network.name)
        usable = self._undisturbed is not None and self._undisturbed.alive
        if not usable or self._undisturbed_name != simulation.name or self._undisturbed_step > step:
            if self._undisturbed is not None:
                self._undisturbed.close()
                self._undisturbed = None
            setup = SimulationSetup(network, folder.city_trips(simulation.name), simulation.seed, self._config)
            self._undisturbed = _Process.start(setup)
            self._undisturbed_name = simulation.name
            self._undisturbed_offset = read_streets(network).offset
        assert self._undisturbed is not None
        self._undisturbed_step = int(self._undisturbed.ask("advance", step))
        return self._undisturbed_offset

    def _past(self, simulation: SimulationEntry, entry: LogEntry, frame: int, offset: Floats) -> tuple[EgoState, ...]:
        """The last frames of the log up to `frame`."""
        log = read_log(DataFolder(self._root).log(simulation.data_split, entry.name))
        return tuple(
            EgoState(
                step=entry.first_step + STEPS_PER_FRAME * index,
                pose=log.frames[index].ego_pose - np.append(offset, 0.0),
                velocity=log.frames[index].velocity,
                acceleration=log.frames[index].acceleration,
                command=int(np.argmax(log.frames[index].command)),
            )
            for index in range(frame - HISTORY_FRAMES + 1, frame + 1)
        )


def _pair(name: str, value: ArrayLike | None) -> Floats | None:
    if value is None:
        return None
    values = np.asarray(value, np.float64)
    if values.shape != (2,) or not np.isfinite(values).all():
        raise CityError(f"{name}: {values.tolist()}; want forward, left")
    return values


class _Process:
    """A connection to a process that runs `episode.serve`."""

    def __init__(self, connection: Connection, process: BaseProcess | None = None) -> None:
        self._connection = connection
        self._process = process
        """None for branches, which are children of the process they were forked from."""
        self.alive = True

    @classmethod
    def start(cls, setup: SimulationSetup) -> _Process:
        context = multiprocessing.get_context("spawn")
        ours, theirs = context.Pipe()
        process = context.Process(target=serve, args=(theirs, setup), daemon=True)
        process.start()
        theirs.close()
        started = cls(ours, process)
        started._answer()
        return started

    def ask(self, name: str, *arguments: Any) -> Any:
        self._send((name, arguments))
        return self._answer()

    def branch(self) -> _Process:
        key = secrets.token_bytes(16)
        with (
            tempfile.TemporaryDirectory(prefix="w4s-") as folder,
            Listener(os.path.join(folder, "branch"), family="AF_UNIX", authkey=key) as listener,
        ):
            listener._listener._socket.settimeout(CONNECT_TIMEOUT)  # type: ignore[attr-defined]
            self._send(("branch", (listener.address, key)))
            try:
                return _Process(listener.accept())
            except TimeoutError:
                raise self._lost() from None

    def close(self) -> None:
        self.alive = False
        self._connection.close()
        if self._process is not None:
            self._process.join(SHUTDOWN_TIMEOUT)
            if self._process.is_alive():  # busy with many steps
                self._process.terminate()
                self._process.join()

    def _send(self, request: tuple[str, Any]) -> None:
        try:
            self._connection.send(request)
        except OSError:
            raise self._lost() from None

    def _answer(self) -> Any:
        try:
            kind, value = self._connection.recv()
        except (EOFError, OSError):
            raise self._lost() from None
        if kind == "refused":
            raise CityError(value)
        if kind == "failed":
            raise RuntimeError(f"the simulation failed:\n{value}")
        return value

    def _lost(self) -> SimulationLost:
        self.alive = False
        return SimulationLost("the process of the simulation is gone; reset it")
