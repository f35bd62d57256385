"""Closed-loop simulation of one route: replan at 2 Hz, track the plan at 10 Hz, record infractions.

Plans are tracked by the LQR tracker and bicycle model of the metrics; each decision starts from the state that the
bicycle model has reached. The traffic reacts.

>>> result = drive_route(city, world, route, ConstantVelocityDriver())
>>> result.record.status, result.record.scores.composed
"""

from __future__ import annotations

import io
import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from world4scorer.city.render.cameras import CameraRig
from world4scorer.city.streets.map_export import export_map
from world4scorer.city.streets.map_index import MapIndex
from world4scorer.city.streets.places import PLACES
from world4scorer.city.streets.street_map import read_streets
from world4scorer.city.world.commands import RouteReader
from world4scorer.city.world.config import CityConfig
from world4scorer.city.world.episode import EgoState
from world4scorer.city.world.manifest import read_config, read_manifest
from world4scorer.city.world.recording import STEPS_PER_FRAME
from world4scorer.city.world.simulation import CitySimulation, SimulationLost
from world4scorer.city.world.trace import NEVER, Trace
from world4scorer.city.world.traffic import TIME_STEP
from world4scorer.datasets.navsim.cameras import VIEWS
from world4scorer.datasets.navsim.frames import COMMANDS
from world4scorer.driving.closed_loop.city_routes import CityRoute
from world4scorer.driving.closed_loop.disturbance import Disturbance, DisturbanceConfig
from world4scorer.driving.closed_loop.drive_log import DrivenFrames
from world4scorer.driving.closed_loop.drivers import Driver
from world4scorer.driving.closed_loop.infraction_monitor import (
    InfractionEvent,
    InfractionMonitor,
    SurroundingAgents,
    TerminationRules,
)
from world4scorer.driving.closed_loop.observation import CameraCalibration, Observation
from world4scorer.driving.closed_loop.recording import DriveRecorder, DriveRecording
from world4scorer.driving.closed_loop.static_world import StaticWorld
from world4scorer.engine.rollout.plans import roll_out
from world4scorer.engine.scene.ego_snapshot import EgoSnapshot
from world4scorer.engine.scene.geometry import direction
from world4scorer.engine.scene.indices import State
from world4scorer.engine.scene.vehicle import WHEEL_BASE
from world4scorer.evaluation.leaderboard.infractions import Infraction
from world4scorer.evaluation.leaderboard.records import RouteRecord
from world4scorer.evaluation.leaderboard.smoothness import Motion
from world4scorer.jobs.data_folder import DataFolder

STATUS_CRASHED: Final = "Failed - Simulation crashed"
MIN_TURNING_SPEED: Final = 0.5
"""Below this speed no steering angle is derived from a yaw rate [m/s]."""

Floats = NDArray[np.float64]


class DrivingWorld:
    """Streets, routes and static obstacles of one place, shared by its drives."""

    def __init__(self, root: Path, place: str) -> None:
        config = read_config(read_manifest(root))
        network = PLACES[place].network
        streets = read_streets(DataFolder(root).city_network(network.name))
        self.network: str = network.name
        self.location: str = network.devkit_location if config.devkit_maps else network.location
        """Name of the map."""
        self.static_world: StaticWorld = StaticWorld(streets, config.seed)
        self.routes: RouteReader = RouteReader(streets)
        self.index: MapIndex = export_map(streets)[1]
        self.offset: Floats = np.append(streets.offset, 0.0)


@dataclass(frozen=True, eq=False)
class DriveResult:
    """Result of one drive."""

    record: RouteRecord
    motion: Motion | None
    """Ego motion every 0.1 s, for comfort; None if the simulation crashed."""
    recording: DriveRecording | None
    """Full recording, if requested."""
    speeds: Floats | None = None
    """(R,) speed of the ego every 0.1 s [m/s]; None if the simulation crashed."""
    frames: DrivenFrames | None = None
    """Frames of a log, if requested."""
    infractions: tuple[InfractionEvent, ...] = ()
    """With times and places."""


def city_calibration(config: CityConfig) -> CameraCalibration:
    """Calibration of the city's cameras, in the planner's camera order."""
    rig = CameraRig.default().select(VIEWS)
    return CameraCalibration(rig.intrinsics(config.height, config.width), rig.rotation, rig.translation)


def drive_route(
    city: CitySimulation,
    world: DrivingWorld,
    route: CityRoute,
    driver: Driver | None,
    *,
    name: str = "",
    rules: TerminationRules | None = None,
    with_recording: bool = False,
    with_frames: bool = False,
    disturbance: DisturbanceConfig | None = None,
) -> DriveResult:
    """Simulate a route until it terminates.

    Args:
        city: The simulation; it is reset to the start of the route.
        world: World of the route's place.
        route: The route.
        driver: The driver; None for SUMO's own.
        name: Name of the driver.
        rules: Termination rules.
        with_recording: Also return a full recording, with camera images for every driver.
        with_frames: Also return frames to write as a log, with the images of all cameras.
        disturbance: Disturb start and drive; not SUMO's driver, which follows no plans.
    """
    begun = time.monotonic()
    disturbed = None if disturbance is None or driver is None else Disturbance(disturbance, route.name)
    if disturbed is not None:
        route = replace(route, start=disturbed.start(route.start))
    sees = with_recording or with_frames or (driver is not None and driver.uses_cameras)
    city.start(route.simulation, route.start, images=False, preload=sees)
    try:
        return RouteDrive(city, world, route, driver, rules, with_recording, with_frames, disturbed).run(name, begun)
    except SimulationLost:  # SUMO crashes occasionally when the ego drives unlike any of its own drivers
        nothing: dict[str, tuple[str, ...]] = dict.fromkeys(Infraction, ())
        return DriveResult(RouteRecord(route.name, STATUS_CRASHED, nothing, None, route.scenario), None, None)


class RouteDrive:
    """A drive under way: `begin`, then `advance` by half a second until `monitor.end` says how it ended."""

    def __init__(
        self,
        city: CitySimulation,
        world: DrivingWorld,
        route: CityRoute,
        driver: Driver | None,
        rules: TerminationRules | None = None,
        with_recording: bool = False,
        with_frames: bool = False,
        disturbance: Disturbance | None = None,
    ) -> None:
        self.city, self.world, self.route, self.driver, self.disturbance = city, world, route, driver, disturbance
        self.monitor = InfractionMonitor(route, world.static_world, rules)
        sees = with_recording or (driver is not None and driver.uses_cameras)
        self.cameras: tuple[str, ...] = city.cameras if with_frames else VIEWS if sees else ()
        self.frames: list[Trace] | None = [] if with_frames else None
        self.now = route.start.past[-1].step * TIME_STEP
        self.state = _state_from_sumo(route.start.past[-1])
        self.state[[State.X, State.Y, State.HEADING]] += world.offset
        self.recorder = DriveRecorder([self.state])
        self.with_recording = with_recording

    def begin(self) -> None:
        """Look around from the start of the route, where the simulation stands."""
        if self.driver is not None:
            self.driver.begin(self.route)
        self.trace = self.city.drive(np.zeros((0, 3)), np.zeros((0, 2)), np.zeros((0, 2)), {0: self.cameras})
        self._keep_frame(self.trace)

    def run(self, name: str, begun: float) -> DriveResult:
        """Drive to the end; `begun` is when it began, by the monotonic clock [s]."""
        self.begin()
        while self.monitor.end is None:
            self.advance()
        record = self.monitor.record(time.monotonic() - begun)
        infractions = (*self.monitor.infractions, *self._outside_lanes(record))
        recording = None
        if self.with_recording:
            recording = self.recorder.finish(
                route=self.route.name,
                driver=name,
                scenario=self.route.scenario,
                network=self.world.network,
                status=record.status,
                score=0.0 if record.scores is None else record.scores.composed,
                points=self.route.points,
                infractions=infractions,
            )
        states = np.array(self.recorder.states)
        speeds = states[:, State.VELOCITY_X]
        return DriveResult(record, motion_of(states), recording, speeds, self._driven_frames(), infractions)

    def _keep_frame(self, trace: Trace) -> None:
        """Keep the last step of a trace for the log."""
        if self.frames is not None:
            self.frames.append(trace)

    def _driven_frames(self) -> DrivenFrames | None:
        if self.frames is None:
            return None
        last = [len(trace.signals) - 1 for trace in self.frames]
        return DrivenFrames(
            states=tuple(trace.rendered[step] for trace, step in zip(self.frames, last, strict=True)),
            images=tuple(trace.files[step] for trace, step in zip(self.frames, last, strict=True)),
        )

    def _outside_lanes(self, record: RouteRecord) -> list[InfractionEvent]:
        """Driving outside lanes, which is only known at the end."""
        place = (float(self.state[State.X]), float(self.state[State.Y]))
        messages = record.messages(Infraction.OUTSIDE_LANES)
        return [InfractionEvent(Infraction.OUTSIDE_LANES, self.monitor.time, place, message) for message in messages]

    def advance(self) -> None:
        """Replan and drive to the next replan step."""
        before, files = self.trace, self._files
        observation = self.observe()
        cameras_at = {STEPS_PER_FRAME: self.cameras} if self.cameras else {}
        if self.driver is None:
            trace, frames = self.city.drive_with_sumo(STEPS_PER_FRAME, cameras_at)
            states = [_state_from_sumo(frame) for frame in frames[1:]]
            self.recorder.add_decision(None, None, observation.command, files if self.with_recording else {})
        else:
            answer = self.driver.drive(observation, agents_at(before, -1))
            plan = answer.plan if self.disturbance is None else self.disturbance.disturb(answer.plan)
            states = self._follow(plan)
            trace = self.city.drive(*_motion(states), cameras_at)
            self.recorder.add_decision(
                answer.plan, answer.decision, observation.command, files if self.with_recording else {}
            )
        self._keep_frame(trace)
        met = self.city.events_met() if self.route.event_distances else []
        for step, state in enumerate(states, 1):
            gone = trace.finish_step != NEVER and step >= trace.finish_step
            self.monitor.step(self.state, state, agents_at(trace, step), bool(trace.off_road[step]) or gone, met)
            self.state = state
            if self.monitor.end is not None:
                break
        self.now += STEPS_PER_FRAME * TIME_STEP
        self.recorder.add_motion(states, trace)  # the last half second is simulated to its end
        self.trace = trace

    @property
    def _files(self) -> Mapping[str, bytes]:
        """Images of now by camera."""
        return self.trace.files.get(len(self.trace.signals) - 1, {})

    def observe(self) -> Observation:
        """Images and ego state of now."""
        state, files = self.state, self._files
        pose, speed = state[[State.X, State.Y, State.HEADING]], float(state[State.VELOCITY_X])
        command = self.world.routes.command_at(self.route.start.route, pose - self.world.offset)
        return Observation(
            time=self.now,
            images=tuple(np.asarray(Image.open(io.BytesIO(files[name]))) for name in VIEWS if name in files),
            pose=pose,
            velocity=np.array([speed, 0.0]),
            acceleration=np.array([state[State.ACCELERATION_X], speed * state[State.ANGULAR_VELOCITY]]),
            command=np.eye(len(COMMANDS), dtype=np.float32)[command],
            yaw_rate=float(state[State.ANGULAR_VELOCITY]),
            steering=float(state[State.STEERING_ANGLE]),
        )

    def _follow(self, plan: NDArray[np.floating]) -> list[Floats]:
        """Ego states (11,) of the next half second when tracking a plan."""
        moment = EgoSnapshot(
            f"{self.route.name} at {self.now:.1f} s", self.route.name, round(self.now * 1e6), self.state
        )
        return list(roll_out(moment, plan[None])[0, 1 : STEPS_PER_FRAME + 1])


def agents_at(trace: Trace, row: int) -> SurroundingAgents:
    """Surrounding agents at one row of a trace."""
    there = trace.valid[:, row]
    return SurroundingAgents(
        tokens=[token for token, is_there in zip(trace.tokens, there, strict=True) if is_there],
        types=trace.types[there],
        sizes=trace.sizes[there],
        poses=trace.poses[there, row],
        speeds=trace.speeds[there, row],
        signals=trace.signals[row],
    )


def motion_of(states: Floats) -> Motion:
    """Ego states (R, 11) as the motion log of a CARLA agent, in our axes (z up, as in CARLA)."""
    heading, yaw_rate = states[:, State.HEADING], states[:, State.ANGULAR_VELOCITY]
    nothing = np.zeros(len(states))
    forward = np.column_stack([direction(heading), nothing])
    right = np.column_stack([np.sin(heading), -np.cos(heading), nothing])
    along = states[:, State.ACCELERATION_X, None] * forward
    across = -(states[:, State.VELOCITY_X] * yaw_rate)[:, None] * right
    turning = np.column_stack([nothing, nothing, np.degrees(yaw_rate)])
    return Motion(along + across, turning, forward, right)


def _motion(states: Sequence[Floats]) -> tuple[Floats, Floats, Floats]:
    """Poses (T, 3), velocities (T, 2) and accelerations (T, 2) of states."""
    rows = np.array(states)
    speed, nothing = rows[:, State.VELOCITY_X], np.zeros(len(rows))
    across = speed * rows[:, State.ANGULAR_VELOCITY]
    return (
        rows[:, [State.X, State.Y, State.HEADING]],
        np.column_stack([speed, nothing]),
        np.column_stack([rows[:, State.ACCELERATION_X], across]),
    )


def _state_from_sumo(frame: EgoState) -> Floats:
    """(11,) state of a frame; the steering angle is the one that keeps its yaw rate."""
    state = np.zeros(len(State))
    speed = float(frame.velocity[0])
    yaw_rate = float(frame.acceleration[1]) / speed if speed > MIN_TURNING_SPEED else 0.0
    state[[State.X, State.Y, State.HEADING]] = frame.pose
    state[State.VELOCITY_X] = speed
    state[State.ACCELERATION_X] = frame.acceleration[0]
    state[State.ANGULAR_VELOCITY] = yaw_rate
    state[State.STEERING_ANGLE] = math.atan(yaw_rate * WHEEL_BASE / max(speed, MIN_TURNING_SPEED))
    return state
