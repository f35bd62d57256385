"""The inside of a `CitySimulation`: a process with SUMO's traffic, an ego that is moved from outside, and cameras.

SUMO has one simulation per process and cannot save its state exactly; a forked process can. So every simulation lives
in a process of its own, which takes requests from a connection, and branching is forking.
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
from world4scorer.city.world.commands import RouteReader
from world4scorer.city.world.config import CityConfig
from world4scorer.city.world.events import Event, EventPlay, plays
from world4scorer.city.world.excursion import Excursion, Notebook
from world4scorer.city.world.recording import STEPS_PER_FRAME
from world4scorer.city.world.script import FAR, ScriptFrame
from world4scorer.city.world.studio import Studio
from world4scorer.city.world.traffic import STEP, Traffic, actors_at
from world4scorer.datasets.navsim.agent_input import AgentInput
from world4scorer.datasets.navsim.frames import COMMANDS
from world4scorer.datasets.navsim.poses import relative_poses, wrap
from world4scorer.engine.scene.vehicle import FRONT_OVERHANG

HISTORY: Final = 4
"""Frames that a planner sees, 0.5 s apart."""
OFF_ROAD: Final = 2.5
"""Beyond this distance from its lane SUMO's traffic no longer sees the ego [m]."""


@dataclass(frozen=True)
class Setting:
    """What a simulation process is made of."""

    network: Path
    demand: Path
    seed: int
    config: CityConfig


@dataclass(frozen=True, eq=False)
class EgoFrame:
    """The ego at one step; coordinates are those of the street map."""

    step: int
    pose: NDArray[np.float64]
    """(3,) rear axle."""
    velocity: NDArray[np.float64]
    """(2,) ego axes [m/s]."""
    acceleration: NDArray[np.float64]
    """(2,) ego axes [m/s^2]."""
    command: int


@dataclass(frozen=True, eq=False)
class Departure:
    """Whom a drive takes over, and where."""

    name: str
    """Of the log, or of the drive."""
    vehicle: str
    """SUMO's name of the ego."""
    route: tuple[str, ...]
    """Edges, from the one where it is to its destination."""
    weather_seed: int
    past: tuple[EgoFrame, ...]
    """The last frames of the ego, 0.5 s apart, up to now."""
    events: tuple[Event, ...] = ()
    """What will happen on the way."""


@dataclass(frozen=True, eq=False)
class LiveFrame:
    """What is seen at one step."""

    frame: ScriptFrame
    """As in the script of a log."""
    agent_input: AgentInput
    images: dict[str, NDArray[np.uint8]]
    """(H, W, 3) by camera, through the same JPEG compression as images on disk; empty if not asked for."""
    off_road: bool
    finished: bool


class Episode:
    """Requests of `CitySimulation`, carried out."""

    def __init__(self, setting: Setting) -> None:
        self._streets = read_streets(setting.network)
        self._routes = RouteReader(self._streets)
        self._traffic = Traffic(setting.network, setting.demand, setting.seed)
        self._studio = Studio(self._streets, setting.config)
        self._weather: Weather | None = None
        self._departure: Departure | None = None
        self._past: list[EgoFrame] = []
        self._plays: list[EventPlay] = []

    def advance(self, step: int) -> int:
        """Let SUMO drive everybody up to a step; returns the step where it is."""
        while self._traffic.steps < step:
            self._traffic.step()
        return self._traffic.steps

    def visit(self, pose: NDArray[np.float64]) -> None:
        """Get ready to draw around a pose: what is built here, branches share."""
        self._studio.visit(pose)

    def take_over(self, departure: Departure) -> None:
        """From now on an ego is moved from outside."""
        self._departure, self._past = departure, list(departure.past)
        self._plays = plays(departure.events, self._streets)
        self._weather = Weather.draw(departure.weather_seed)
        if departure.vehicle not in dict(self._traffic.present()):
            raise CityError(
                f"{departure.name!r}: vehicle {departure.vehicle!r} is not on the road at step {self._traffic.steps}"
            )

    def step(
        self,
        pose: NDArray[np.float64],
        velocity: NDArray[np.float64] | None,
        acceleration: NDArray[np.float64] | None,
    ) -> bool:
        """Move the ego to a pose of its rear axle, let 0.1 s pass; returns whether the ego is still on its way."""
        if not self._on_its_way():
            raise CityError(f"{self._taken().name!r}: the ego has reached the end of its route; reset the simulation")
        self._move(pose)
        self._pass()
        self._remember(pose, velocity, acceleration)
        return self._on_its_way()

    def drive(
        self,
        poses: NDArray[np.float64],
        velocities: NDArray[np.float64],
        accelerations: NDArray[np.float64],
        looks: Mapping[int, Sequence[str]],
    ) -> Excursion:
        """Move the ego along poses (T, 3), 0.1 s each, and note everything; `looks` names cameras by step.

        Where the ego has left the traffic, as its route ended, the others go on without it and the view moves on.
        """
        notes = Notebook(self._taken().name, len(self._traffic.agents.ids))
        for step in range(len(poses) + 1):
            if step:
                if self._on_its_way():
                    self._move(poses[step - 1])
                self._pass()
                self._remember(poses[step - 1], velocities[step - 1], accelerations[step - 1])
            frame = self._frame()
            files = self._shoot(frame, looks[step]) if step in looks else {}
            off_road = self._off_road() if step % STEPS_PER_FRAME == 0 else None
            notes.add(frame, off_road, not self._on_its_way(), files)
        return notes.finish()

    def watch(self, steps: int, looks: Mapping[int, Sequence[str]]) -> tuple[Excursion, list[EgoFrame]]:
        """Let SUMO drive the ego so many steps, and note everything; the ego's own frames come along, now first."""
        notes = Notebook(self._taken().name, len(self._traffic.agents.ids))
        drive = [self._past[-1]]
        for step in range(steps + 1):
            if step:
                self._pass()
                if self._on_its_way():
                    self._remember(self._traffic.rear_axle(self._taken().vehicle), None, None)
                drive.append(self._past[-1])
            frame = self._frame()
            notes.add(frame, False, not self._on_its_way(), self._shoot(frame, looks[step]) if step in looks else {})
        return notes.finish(), drive

    def happened(self) -> list[bool]:
        """Which of the events the ego has met."""
        return [play.happened for play in self._plays]

    def _pass(self) -> None:
        """Let 0.1 s pass."""
        now = self._past[-1]
        bumper = now.pose[:2] + FRONT_OVERHANG * np.array([np.cos(now.pose[2]), np.sin(now.pose[2])])
        for play in self._plays:
            play.step(self._traffic, bumper, float(now.velocity[0]))
        self._traffic.step()

    def _on_its_way(self) -> bool:
        return self._taken().vehicle in dict(self._traffic.present())

    def _move(self, pose: NDArray[np.float64]) -> None:
        bumper = pose[:2] + FRONT_OVERHANG * np.array([np.cos(pose[2]), np.sin(pose[2])])
        angle = float(90.0 - np.degrees(pose[2])) % 360.0
        vehicle = self._taken().vehicle
        self._traffic.sumo.vehicle.moveToXY(vehicle, "", -1, float(bumper[0]), float(bumper[1]), angle, 2)

    def _remember(
        self,
        pose: NDArray[np.float64],
        velocity: NDArray[np.float64] | None,
        acceleration: NDArray[np.float64] | None,
    ) -> None:
        before = self._past[-1]
        if velocity is None:
            forward = np.array([np.cos(pose[2]), np.sin(pose[2])])
            velocity = np.array([float((pose[:2] - before.pose[:2]) @ forward) / STEP, 0.0])
        if acceleration is None:
            turn = wrap(pose[2] - before.pose[2])
            acceleration = np.array([(velocity[0] - before.velocity[0]) / STEP, velocity[0] * turn / STEP])
        command = self._routes.command_at(self._taken().route, pose)
        self._past.append(EgoFrame(self._traffic.steps, pose.copy(), velocity, acceleration, command))
        self._past = self._past[-(HISTORY * STEPS_PER_FRAME + 1) :]

    def observe(self, cameras: Sequence[str] | None) -> LiveFrame:
        """What the ego sees now, through these cameras; None for all."""
        frame = self._frame()
        return LiveFrame(
            frame=frame,
            agent_input=self._agent_input(),
            images=self._images(frame, cameras),
            off_road=self._off_road(),
            finished=not self._on_its_way(),
        )

    def _off_road(self) -> bool:
        return self._routes.distance_to_lanes(self._past[-1].pose[:2]) > OFF_ROAD

    def _frame(self) -> ScriptFrame:
        now = self._past[-1]
        moment = self._traffic.moment()
        there = dict(self._traffic.present())
        moment = moment.around(now.pose[:2], FAR, there.get(self._taken().vehicle, -1))
        return ScriptFrame(
            step=self._traffic.steps,
            ego_pose=now.pose,
            speed=float(now.velocity[0]),
            acceleration=now.acceleration,
            yaw_rate=float(now.acceleration[1] / now.velocity[0]) if now.velocity[0] > 0.1 else 0.0,
            command=now.command,
            actors=actors_at(moment, self._traffic.agents),
            speeds=moment.speed,
            names=tuple(self._traffic.agents.ids[index] for index in moment.agent),
            signals=moment.signals,
        )

    def _taken(self) -> Departure:
        if self._departure is None:
            raise CityError("no ego yet: call reset(log, frame) first")
        return self._departure

    def _agent_input(self) -> AgentInput:
        steps = np.array([frame.step for frame in self._past])
        wanted = self._past[-1].step - STEPS_PER_FRAME * np.arange(HISTORY - 1, -1, -1)
        poses = np.array([frame.pose for frame in self._past])
        heading = np.unwrap(poses[:, 2])

        def at(values: NDArray[np.float64]) -> NDArray[np.float64]:
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

    def _images(self, frame: ScriptFrame, cameras: Sequence[str] | None) -> dict[str, NDArray[np.uint8]]:
        files = self._shoot(frame, cameras)
        return {name: np.array(Image.open(io.BytesIO(file))) for name, file in files.items()}

    def _shoot(self, frame: ScriptFrame, cameras: Sequence[str] | None) -> dict[str, bytes]:
        assert self._weather is not None
        return {} if cameras == () else self._studio.shoot(frame, self._weather, cameras)


def serve(connection: Connection, setting: Setting) -> None:
    """Carry out requests until the other side is gone. Runs in a process of its own."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # branches end by themselves
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the caller decides what an interruption means
    try:
        _serve(connection, setting)
    except (EOFError, OSError):
        pass  # the caller is gone: nobody is left to be told
    finally:
        os._exit(0)  # a forked process must not run what its parent left for the end


def _serve(connection: Connection, setting: Setting) -> None:
    try:
        episode = Episode(setting)
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
