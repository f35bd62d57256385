"""The process behind a `CitySimulation`: SUMO traffic, an ego moved from outside, and cameras.

SUMO allows one simulation per process and cannot save its state exactly; a fork can. So every simulation has its own
process, which serves requests from a connection, and branching is forking.
"""

from __future__ import annotations

import io
import os
import signal
import traceback
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Client, Connection
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from world4scorer.city.render.weather import Weather
from world4scorer.city.streets.errors import CityError
from world4scorer.city.streets.street_map import read_streets
from world4scorer.city.world.camera_renderer import CameraRenderer
from world4scorer.city.world.commands import RouteReader
from world4scorer.city.world.config import CityConfig
from world4scorer.city.world.events import Event, EventRunner, event_runners
from world4scorer.city.world.log_plan import ANNOTATION_RADIUS, FrameState
from world4scorer.city.world.recording import STEPS_PER_FRAME
from world4scorer.city.world.trace import Trace, TraceRecorder
from world4scorer.city.world.traffic import TIME_STEP, Traffic, snapshot_actors
from world4scorer.datasets.navsim.agent_input import AgentInput
from world4scorer.datasets.navsim.frames import COMMANDS
from world4scorer.engine.scene.geometry import Floats, direction, relative_poses, wrap
from world4scorer.engine.scene.vehicle import FRONT_OVERHANG

HISTORY_FRAMES: Final = 4
"""Frames of a planner's input, 0.5 s apart."""
OFF_ROAD_DISTANCE: Final = 2.5
"""Beyond this distance from every lane SUMO's traffic does not react to the ego [m]."""


@dataclass(frozen=True)
class SimulationSetup:
    """Arguments of a simulation process."""

    network: Path
    demand: Path
    seed: int
    config: CityConfig


@dataclass(frozen=True, eq=False)
class EgoState:
    """The ego at one step, in coordinates of the street map."""

    step: int
    pose: Floats
    """(3,) rear axle."""
    velocity: Floats
    """(2,) in the ego frame [m/s]."""
    acceleration: Floats
    """(2,) in the ego frame [m/s^2]."""
    command: int


@dataclass(frozen=True, eq=False)
class EpisodeStart:
    """Start of an episode: the vehicle that becomes the ego, its route and past."""

    name: str
    """Name of the log or drive."""
    vehicle: str
    """SUMO id of the ego."""
    route: tuple[str, ...]
    """Edges from its position to its destination."""
    weather_seed: int
    past: tuple[EgoState, ...]
    """The ego's last states, 0.5 s apart, up to now."""
    events: tuple[Event, ...] = ()
    """Events staged along the route."""


@dataclass(frozen=True, eq=False)
class RawObservation:
    """Observation at one step, in coordinates of the street map."""

    frame: FrameState
    """As in a log plan."""
    agent_input: AgentInput
    images: dict[str, NDArray[np.uint8]]
    """(H, W, 3) by camera, JPEG-compressed as on disk; empty if not requested."""
    off_road: bool
    finished: bool


class Episode:
    """Executes the requests of a `CitySimulation`."""

    def __init__(self, setup: SimulationSetup) -> None:
        self._streets = read_streets(setup.network)
        self._routes = RouteReader(self._streets)
        self._traffic = Traffic(setup.network, setup.demand, setup.seed)
        self._renderer = CameraRenderer(self._streets, setup.config)
        self._weather: Weather | None = None
        self._start: EpisodeStart | None = None
        self._past: list[EgoState] = []
        self._events: list[EventRunner] = []

    def advance(self, step: int) -> int:
        """Simulate undisturbed traffic up to a step; returns the current step."""
        while self._traffic.steps < step:
            self._traffic.step()
        return self._traffic.steps

    def preload(self, pose: Floats) -> None:
        """Build the scenery around a pose, to be shared by branches."""
        self._renderer.preload(pose)

    def take_over(self, start: EpisodeStart) -> None:
        """Make a vehicle the ego, to be moved by requests."""
        self._start, self._past = start, list(start.past)
        self._events = event_runners(start.events, self._streets)
        self._weather = Weather.draw(start.weather_seed)
        if start.vehicle not in dict(self._traffic.present()):
            raise CityError(
                f"{start.name!r}: vehicle {start.vehicle!r} is not on the road at step {self._traffic.steps}"
            )

    def step(self, pose: Floats, velocity: Floats | None, acceleration: Floats | None) -> bool:
        """Move the ego's rear axle to a pose and simulate 0.1 s; returns whether the ego is still on its route."""
        if not self._on_its_way():
            raise CityError(f"{self._taken().name!r}: the ego has reached the end of its route; reset the simulation")
        self._move(pose)
        self._pass()
        self._remember(pose, velocity, acceleration)
        return self._on_its_way()

    def drive(
        self, poses: Floats, velocities: Floats, accelerations: Floats, cameras_at: Mapping[int, Sequence[str]]
    ) -> Trace:
        """Move the ego along poses (T, 3), 0.1 s each, and record a trace; `cameras_at` lists cameras by step.

        After the end of its route the ego is no longer in the traffic, but its poses are still observed from.
        """
        recorder = TraceRecorder(self._taken().name, len(self._traffic.agents.ids))
        for step in range(len(poses) + 1):
            if step:
                if self._on_its_way():
                    self._move(poses[step - 1])
                self._pass()
                self._remember(poses[step - 1], velocities[step - 1], accelerations[step - 1])
            frame = self._frame()
            files = self._render(frame, cameras_at[step]) if step in cameras_at else {}
            off_road = self._off_road() if step % STEPS_PER_FRAME == 0 else None
            recorder.add(frame, off_road, not self._on_its_way(), files)
        return recorder.finish()

    def drive_with_sumo(self, steps: int, cameras_at: Mapping[int, Sequence[str]]) -> tuple[Trace, list[EgoState]]:
        """Let SUMO drive the ego for `steps` steps; returns the trace and the ego's states, the current one first."""
        recorder = TraceRecorder(self._taken().name, len(self._traffic.agents.ids))
        drive = [self._past[-1]]
        for step in range(steps + 1):
            if step:
                self._pass()
                if self._on_its_way():
                    self._remember(self._traffic.rear_axle(self._taken().vehicle), None, None)
                drive.append(self._past[-1])
            frame = self._frame()
            recorder.add(
                frame,
                False,
                not self._on_its_way(),
                self._render(frame, cameras_at[step]) if step in cameras_at else {},
            )
        return recorder.finish(), drive

    def events_met(self) -> list[bool]:
        """Whether the ego has met each event."""
        return [event.met for event in self._events]

    def _pass(self) -> None:
        """Simulate 0.1 s."""
        now = self._past[-1]
        bumper = now.pose[:2] + FRONT_OVERHANG * direction(now.pose[2])
        for event in self._events:
            event.step(self._traffic, bumper, float(now.velocity[0]))
        self._traffic.step()

    def _on_its_way(self) -> bool:
        return self._taken().vehicle in dict(self._traffic.present())

    def _move(self, pose: Floats) -> None:
        bumper = pose[:2] + FRONT_OVERHANG * direction(pose[2])
        angle = float(90.0 - np.degrees(pose[2])) % 360.0
        vehicle = self._taken().vehicle
        self._traffic.sumo.vehicle.moveToXY(vehicle, "", -1, float(bumper[0]), float(bumper[1]), angle, 2)

    def _remember(self, pose: Floats, velocity: Floats | None, acceleration: Floats | None) -> None:
        before = self._past[-1]
        if velocity is None:
            velocity = np.array([float((pose[:2] - before.pose[:2]) @ direction(pose[2])) / TIME_STEP, 0.0])
        if acceleration is None:
            turn = wrap(pose[2] - before.pose[2])
            acceleration = np.array([(velocity[0] - before.velocity[0]) / TIME_STEP, velocity[0] * turn / TIME_STEP])
        command = self._routes.command_at(self._taken().route, pose)
        self._past.append(EgoState(self._traffic.steps, pose.copy(), velocity, acceleration, command))
        self._past = self._past[-(HISTORY_FRAMES * STEPS_PER_FRAME + 1) :]

    def observe(self, cameras: Sequence[str] | None) -> RawObservation:
        """Observe the current step through these cameras; None for all."""
        frame = self._frame()
        return RawObservation(
            frame=frame,
            agent_input=self._agent_input(),
            images=self._images(frame, cameras),
            off_road=self._off_road(),
            finished=not self._on_its_way(),
        )

    def _off_road(self) -> bool:
        return self._routes.distance_to_lanes(self._past[-1].pose[:2]) > OFF_ROAD_DISTANCE

    def _frame(self) -> FrameState:
        now = self._past[-1]
        snapshot = self._traffic.snapshot()
        there = dict(self._traffic.present())
        snapshot = snapshot.around(now.pose[:2], ANNOTATION_RADIUS, there.get(self._taken().vehicle, -1))
        return FrameState(
            step=self._traffic.steps,
            ego_pose=now.pose,
            speed=float(now.velocity[0]),
            acceleration=now.acceleration,
            yaw_rate=float(now.acceleration[1] / now.velocity[0]) if now.velocity[0] > 0.1 else 0.0,
            command=now.command,
            actors=snapshot_actors(snapshot, self._traffic.agents),
            speeds=snapshot.speed,
            names=tuple(self._traffic.agents.ids[index] for index in snapshot.agent),
            signals=snapshot.signals,
        )

    def _taken(self) -> EpisodeStart:
        if self._start is None:
            raise CityError("no ego yet: call reset(log, frame) first")
        return self._start

    def _agent_input(self) -> AgentInput:
        steps = np.array([frame.step for frame in self._past])
        wanted = self._past[-1].step - STEPS_PER_FRAME * np.arange(HISTORY_FRAMES - 1, -1, -1)
        poses = np.array([frame.pose for frame in self._past])
        heading = np.unwrap(poses[:, 2])

        def at(values: Floats) -> Floats:
            return np.interp(wanted, steps, values)

        history = np.column_stack([at(poses[:, 0]), at(poses[:, 1]), at(heading)])
        velocity = np.array([frame.velocity for frame in self._past])
        acceleration = np.array([frame.acceleration for frame in self._past])
        latest = np.searchsorted(steps, wanted, side="right") - 1
        commands = [self._past[max(0, index)].command for index in latest]
        return AgentInput(
            poses=relative_poses(history, history[-1]).astype(np.float32),
            velocities=np.column_stack([at(velocity[:, 0]), at(velocity[:, 1])]).astype(np.float32),
            accelerations=np.column_stack([at(acceleration[:, 0]), at(acceleration[:, 1])]).astype(np.float32),
            commands=np.eye(len(COMMANDS), dtype=np.int64)[commands],
        )

    def _images(self, frame: FrameState, cameras: Sequence[str] | None) -> dict[str, NDArray[np.uint8]]:
        files = self._render(frame, cameras)
        return {name: np.array(Image.open(io.BytesIO(file))) for name, file in files.items()}

    def _render(self, frame: FrameState, cameras: Sequence[str] | None) -> dict[str, bytes]:
        assert self._weather is not None
        return {} if cameras == () else self._renderer.render(frame, self._weather, cameras)


def serve(connection: Connection, setup: SimulationSetup) -> None:
    """Serve requests until the connection closes; the target of a simulation process."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # branches need no waiting for
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the caller handles interrupts
    try:
        _serve(connection, setup)
    except (EOFError, OSError):
        pass  # the caller has closed the connection
    finally:
        os._exit(0)  # a forked process must not run its parent's exit handlers


def _serve(connection: Connection, setup: SimulationSetup) -> None:
    try:
        episode = Episode(setup)
    except Exception as error:
        connection.send(_failure(error))
        return
    connection.send(("ok", None))
    while True:
        name, arguments = connection.recv()
        if name == "branch":
            address, key = arguments
            if os.fork() == 0:
                connection.close()
                connection = Client(address, authkey=key)
            continue
        try:
            answer: tuple[str, Any] = ("ok", getattr(episode, name)(*arguments))
        except Exception as error:
            answer = _failure(error)
        connection.send(answer)


def _failure(error: Exception) -> tuple[str, str]:
    kind = "refused" if isinstance(error, ValueError) else "failed"
    return kind, str(error) if kind == "refused" else traceback.format_exc()
