"""World4Scorer's agent for CARLA's leaderboard 2.0 and Bench2Drive, in one file.

It runs in the leaderboard's Python (3.7 or newer) with NumPy and nothing else; the planner runs elsewhere, behind
`w4s serve`. Copy it out with `w4s b2d agent --out team_code`, and give the leaderboard

    --agent=team_code/world4scorer_agent.py --agent-config=team_code/world4scorer_agent.json

At 20 ticks per second the agent requests a plan every tenth tick and tracks it in between. The server handles route
points, commands and re-ranking; the agent reads sensors, tracks, creeps, and brakes if the server is late or gone. It
is one file because the leaderboard loads one file and cannot import this package.

Frames. CARLA's axes are left-handed: x forward, y right, yaw clockwise in degrees. Here, as in the planner, y points
left and headings are counter-clockwise in radians: x = CARLA's x, y = -CARLA's y, heading = -yaw. Poses are those of
the rear axle, as in training; CARLA places a car by its middle. A plan has eight poses, half a second apart, in the
frame of the ego at the moment of the request.
"""

from __future__ import annotations

import json
import math
import os
import socket
import struct
import sys
import time
import zlib
from collections import deque
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import carla
import numpy as np
from leaderboard.autoagents.autonomous_agent import AutonomousAgent, Track

if TYPE_CHECKING:  # annotations are not evaluated, so that they may be newer than the Python that runs this
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

# The protocol, see docs/agent.md. --------------------------------------------------------------------------------

MAGIC = b"W4SP"
PROTOCOL = 1
HEADER = struct.Struct("<4sHHII")
HELLO, WELCOME, BEGIN, BEGUN, DECIDE, DECISION, END, ENDED, ERROR = 1, 2, 3, 4, 5, 6, 7, 8, 100
DTYPES = {"uint8": "<u1", "int32": "<i4", "float32": "<f4", "float64": "<f8"}
MAX_ANSWER_BYTES = 2**20
"""Bytes; a plan and its numbers are a thousand."""

# Driving. ----------------------------------------------------------------------------------------------------------

TICK_SECONDS = 0.05
REPLAN_TICKS = 10
POSE_SECONDS = 0.5
"""Between poses of a plan."""

REAR_AXLE = 1.35
"""m behind the origin of the actor."""
CAMERAS = (
    # name, x forward, y right, z up [m], yaw clockwise, horizontal field of view [degrees]
    ("front", 0.80, 0.0, 1.60, 0.0, 70.0),
    ("back", -2.00, 0.0, 1.60, 180.0, 110.0),
    ("front_left", 0.27, -0.55, 1.60, -55.0, 70.0),
    ("front_right", 0.27, 0.55, 1.60, 55.0, 70.0),
)
IMAGE_WIDTH, IMAGE_HEIGHT = 1600, 900

LOOK_AHEAD, FAST_LOOK_AHEAD = 4.0, 10.0
"""Straight-line distance to the aim point [m]."""
FAST_SPEED = 6.5
"""m/s above which the longer look-ahead holds."""
STEER_GAINS = (1.25, 0.75, 0.3)
SPEED_GAINS = (5.0, 0.5, 1.0)
PID_TICKS = 40
BRAKE_SPEED = 0.15
"""Desired speeds below this brake to a stop [m/s]."""
BRAKE_RATIO = 1.1
"""Of speed to desired speed, above which to brake."""
MAX_THROTTLE = 0.75
MAX_SPEED_ERROR = 0.25
"""Largest speed error given to the controller [m/s]."""

STANDING_SPEED = 0.1
"""Speed below which the car stands [m/s], as in the leaderboard's blocked rule."""
STANDING_TICKS = 240
"""Standing time before creeping: 12 s."""
CREEP_TICKS, CREEP_THROTTLE = 60, 0.4
PAUSE_TICKS = 40

METRIC_WRITE_TICKS = 100
"""Ticks between writes of the metric file; a crash loses at most 5 s."""

IMAGE_TICKS, IMAGE_STRIDE = 10, 4
"""Ticks between images of the front camera that are written, and pixels between theirs."""

DEFAULTS: dict[str, Any] = {
    "server": "127.0.0.1:4747",
    "options": {"keep_commands": True, "route": 4.0},
    "request_seconds": 5.0,
    "connect_seconds": 2.0,
    "setup_seconds": 60.0,
    "metric_dir": None,
    "metric_every": 1,
    "images": False,
    "creep": True,
}
"""server: 127.0.0.1:PORT or unix:PATH. options: of the drive, where they are to differ from the server's: inertial,
route, keep_commands, benchmark; commands must be kept, by the server's options or by these. request_seconds: after
which an answer is too late. connect_seconds: for which a connection is tried. setup_seconds: for which a route's start
waits for the server. metric_dir: where metric files go; the environment's SAVE_PATH where null, nowhere without.
metric_every: ticks between their rows. images: whether to write the front camera beside them, a file every ten ticks.
creep: whether to."""

MIN_BACK_OFF, MAX_BACK_OFF = 0.5, 10.0
"""s between attempts to reach a server that is gone."""


def get_entry_point() -> str:
    """The name of the class that the leaderboard starts."""
    return "World4ScorerAgent"


class ServerRefused(Exception):
    """The server refused a request."""

    def __init__(self, message: str, code: str = "") -> None:
        super().__init__(message)
        self.code = code
        """The server's error code; "busy" is temporary."""


FAILURES = (OSError, ValueError, ServerRefused)
"""Server failures: gone or late, invalid JSON, refusal."""


class World4ScorerAgent(AutonomousAgent):
    """Drives a route by plans of a planner server."""

    # The leaderboard may give the route before or after the configuration, so that neither can rely on the other.
    _route: Line | None = None
    _nodes: tuple[Floats, NDArray[np.int32], Floats] | None = None
    """Points (m, 2), their options (m,), how far along the route each lies (m,) [m]."""
    _server: PlannerConnection | None = None
    _hero: Any = None
    _missed = False
    """Whether it was said that there is no hero."""
    _plan: Plan | None = None

    def setup(self, path_to_conf_file: str) -> None:
        """Read the configuration and wait for the server.

        Args:
            path_to_conf_file: `config+save_name`, with another `+name` for every route that was driven before.
        """
        parts = str(path_to_conf_file).split("+")
        self.track = Track.SENSORS
        self._config = read_config(parts[0])
        self._save_name = parts[-1] if len(parts) > 1 else "route"
        self._tick = -1
        self._tracker = Tracker()
        self._creep = Creep()
        self._metric_info: dict[int, dict[str, list[float]]] = {}
        self._outage = False
        self._travelled = 0.0
        self._sent_from = 0.0
        self._server = PlannerConnection(self._config, self._save_name)
        self._server.wait(self._config["setup_seconds"])

    def set_global_plan(self, global_plan_gps: Sequence[Any], global_plan_world_coord: Sequence[Any]) -> None:
        """Keep the dense route, and what the base class keeps of it: a node every 50 m, and at turns, for commands."""
        super().set_global_plan(global_plan_gps, global_plan_world_coord)
        self._route = Line([_position(transform) for transform, _ in global_plan_world_coord])
        kept = self._global_plan_world_coord
        points = np.array([_position(transform) for transform, _ in kept]).reshape(-1, 2)
        options = np.array([int(getattr(option, "value", option)) for _, option in kept], np.int32)
        self._nodes = points, options, self._route.distances_of(points)

    def sensors(self) -> list[dict[str, Any]]:
        """Four cameras; motion comes from the simulator's actor."""
        return [
            {
                "type": "sensor.camera.rgb",
                "id": name,
                "x": x,
                "y": y,
                "z": z,
                "roll": 0.0,
                "pitch": 0.0,
                "yaw": yaw,
                "width": IMAGE_WIDTH,
                "height": IMAGE_HEIGHT,
                "fov": fov,
            }
            for name, x, y, z, yaw, fov in CAMERAS
        ]

    def run_step(self, input_data: Mapping[str, Any], timestamp: float) -> Any:
        """Control of one tick; brakes without a plan."""
        self._tick += 1
        hero = self._find_hero()
        if hero is None:
            return _braking()
        motion = Motion.of(hero)
        self._keep_metric()
        self._keep_image(input_data)
        if self._plan is None or self._tick - self._plan.tick >= REPLAN_TICKS:
            self._plan = self._ask(input_data, timestamp, motion)
        if self._plan is None:
            self._tracker.reset()
            self._creep.reset()
            return _braking()
        control = self._tracker.control(self._plan, self._tick, motion)
        if self._config["creep"] and self._creep.is_due(motion.speed):
            control.throttle, control.brake = CREEP_THROTTLE, 0.0
        return control

    def get_metric_info(self) -> dict[str, list[float]]:
        """Motion for the benchmark's comfort metric, in CARLA's axes and units; empty without an actor."""
        hero = self._find_hero()
        if hero is None:
            return {}
        transform = hero.get_transform()
        angles = transform.rotation
        return {
            "acceleration": _as_list(hero.get_acceleration()),
            "angular_velocity": _as_list(hero.get_angular_velocity()),
            "forward_vector": _as_list(transform.get_forward_vector()),
            "right_vector": _as_list(transform.get_right_vector()),
            "location": _as_list(transform.location),
            "rotation": [angles.roll, angles.pitch, angles.yaw],
        }

    def destroy(self) -> None:
        """Write the metric file and leave the server."""
        if self._server is not None:
            self._write_metric()
            self._server.leave()
            self._server = None
        self._plan = None
        self._hero = None

    def _ask(self, input_data: Mapping[str, Any], timestamp: float, motion: Motion) -> Plan | None:
        """A plan from the server, or None; each outage is logged once."""
        request = {
            "time": float(timestamp),
            "pose": motion.pose.tolist(),
            "velocity": [motion.speed, 0.0],  # as in training: clips have the speed only
            "acceleration": motion.acceleration.tolist(),
            "yaw_rate": motion.yaw_rate,
        }
        images = {name: np.asarray(input_data[name][1])[:, :, :4] for name, *_ in CAMERAS if name in input_data}
        if self._server is None or not self._server.may_try():
            return None
        try:
            answer, plan = self._server.decide(request, images, self._remaining_route)
        except FAILURES as error:
            if not self._outage:
                self._outage = True
                refused = isinstance(error, ServerRefused)
                remedy = "see what the server says" if refused else "start `w4s serve` again there, if it has ended"
                _log(f"no plan from {self._config['server']}: {error}. Braking until one comes; {remedy}")
            return None
        if self._outage:
            self._outage = False
            _log("the server answers again, driving on")
        if answer.get("travelled") is not None:
            self._travelled = self._sent_from + float(answer["travelled"])
        return Plan(plan, motion.pose, self._tick)

    def _remaining_route(self) -> dict[str, NDArray[Any]]:
        """Remaining route and nodes, for a new connection; its start is kept, as the server counts distance from it."""
        if self._route is None or self._nodes is None:
            return {}
        points, options, places = self._nodes
        ahead = places >= self._travelled - 1.0
        if not ahead.any():
            ahead[-1:] = True
        first = self._route.point_before(self._travelled)
        self._sent_from = float(self._route.along[first])
        return {
            "route": self._route.points[first:],
            "nodes": points[ahead],
            "node_options": options[ahead],
        }

    def _find_hero(self) -> Any:
        if self._hero is None or not self._hero.is_alive:
            self._hero = find_hero()
            if self._hero is None and not self._missed:
                _log("no actor has the role 'hero' yet; braking until there is one")
            self._missed = self._hero is None
        return self._hero

    def _keep_metric(self) -> None:
        if self._tick % self._config["metric_every"] == 0:
            self._metric_info[self._tick] = self.get_metric_info()
        if self._tick % METRIC_WRITE_TICKS == METRIC_WRITE_TICKS - 1:
            self._write_metric()

    def _keep_image(self, input_data: Mapping[str, Any]) -> None:
        """Write the front camera; a full disk does not end the drive."""
        folder = self._config["metric_dir"] or os.environ.get("SAVE_PATH")
        name = CAMERAS[0][0]
        if not self._config["images"] or not folder or self._tick % IMAGE_TICKS or name not in input_data:
            return
        small = np.asarray(input_data[name][1])[::IMAGE_STRIDE, ::IMAGE_STRIDE, 2::-1]
        path = os.path.join(folder, self._save_name, "rgb_" + name, f"{self._tick // IMAGE_TICKS:04d}.png")
        try:
            write_bytes(path, as_png(small))
        except OSError as error:
            _log(f"{folder}: the front camera could not be written: {error}")

    def _write_metric(self) -> None:
        """Write atomically; a full disk does not end the drive."""
        folder = self._config["metric_dir"] or os.environ.get("SAVE_PATH")
        if not folder or not self._metric_info:
            return
        try:
            write_json(os.path.join(folder, self._save_name, "metric_info.json"), self._metric_info)
        except OSError as error:
            _log(f"{folder}: the metric file could not be written: {error}")


class Motion:
    """Rear-axle pose and motion of the ego, in the planner's axes."""

    def __init__(self, pose: Floats, speed: float, acceleration: Floats, yaw_rate: float) -> None:
        self.pose = pose
        """(3,) x, y [m], heading [rad]"""
        self.speed = speed
        """m/s, forward"""
        self.acceleration = acceleration
        """(2,) forward, left [m/s^2], of the actor's origin"""
        self.yaw_rate = yaw_rate
        """rad/s"""

    @classmethod
    def of(cls, actor: Any) -> Motion:
        """From the simulator."""
        transform = actor.get_transform()
        heading = -math.radians(transform.rotation.yaw)
        x = transform.location.x - REAR_AXLE * math.cos(heading)
        y = -transform.location.y - REAR_AXLE * math.sin(heading)
        turn = rotation(-heading)
        velocity, acceleration = actor.get_velocity(), actor.get_acceleration()
        yaw_rate = -math.radians(actor.get_angular_velocity().z)  # CARLA tells degrees
        return cls(
            np.array([x, y, heading]),
            float((turn @ np.array([velocity.x, -velocity.y]))[0]),
            turn @ np.array([acceleration.x, -acceleration.y]),
            yaw_rate,
        )


class Line:
    """A polyline with its lengths."""

    def __init__(self, points: Any) -> None:
        self.points: Floats = np.asarray(points, np.float64).reshape(-1, 2)
        """(n, 2)"""
        steps = np.linalg.norm(np.diff(self.points, axis=0), axis=1)
        self.along: Floats = np.concatenate([[0.0], np.cumsum(steps)])[: len(self.points)]
        """(n,) of each point from the start [m]"""

    def distances_of(self, points: Floats) -> Floats:
        """Distances along the line of points (m, 2) on it, given in order [m]."""
        places, start = np.zeros(len(points)), 0
        for number, point in enumerate(points):
            away = np.linalg.norm(self.points[start:] - point, axis=1)
            start += int(np.argmin(away > away.min() + 1e-6))
            places[number] = self.along[start]
        return places

    def point_before(self, place: float) -> int:
        """Index of the last point at or before a distance [m]; at most the last but one, so that a line remains."""
        before = int(np.searchsorted(self.along, place, side="right")) - 1
        return max(0, min(before, len(self.points) - 2))


class Plan:
    """A plan in world coordinates."""

    def __init__(self, poses: NDArray[Any], pose: Floats, tick: int) -> None:
        """Poses (8, 3) as seen from a pose (3,) at a tick."""
        self.tick = tick
        """At which it was made."""
        seen = np.concatenate([np.zeros((1, 3)), np.asarray(poses, np.float64)])
        self.points: Floats = seen[:, :2] @ rotation(pose[2]).T + pose[:2]
        """(9, 2), the first where the ego was"""
        self.last_heading = float(seen[-1, 2] + pose[2])
        """rad"""

    def in_frame_of(self, pose: Floats) -> Floats:
        """Its points (10, 2) in the axes of a pose (3,): forward, left [m].

        The tenth lies beyond its end, straight on, so that there is something to steer to however short it is.
        """
        onward = np.array([math.cos(self.last_heading), math.sin(self.last_heading)])
        points = np.concatenate([self.points, self.points[-1:] + 2 * FAST_LOOK_AHEAD * onward])
        return np.asarray((points - pose[:2]) @ rotation(pose[2]))

    def advance(self, seconds: float, pose: Floats) -> float:
        """Forward displacement [m], in the axes of a pose (3,), over the half second after `seconds`."""
        times = POSE_SECONDS * np.arange(len(self.points))
        now, then = (
            np.array([np.interp(moment, times, self.points[:, axis]) for axis in (0, 1)])
            for moment in (seconds, seconds + POSE_SECONDS)
        )
        return float(((then - now) @ rotation(pose[2]))[0])


class Tracker:
    """PID tracking of a plan: steering, throttle and brake."""

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Reset all state."""
        self._steer = Pid(STEER_GAINS)
        self._throttle = Pid(SPEED_GAINS)

    def control(self, plan: Plan, tick: int, motion: Motion) -> Any:
        """The control of a tick."""
        speed = motion.speed
        reach = FAST_LOOK_AHEAD if speed > FAST_SPEED else LOOK_AHEAD
        aim = aim_point(plan.in_frame_of(motion.pose), reach)
        # A right angle to the right is an error of one: CARLA steers to the right with positive numbers.
        steer = self._steer.step(-math.atan2(aim[1], aim[0]) / (math.pi / 2))
        desired = max(0.0, plan.advance((tick - plan.tick) * TICK_SECONDS, motion.pose) / POSE_SECONDS)
        brakes = desired < BRAKE_SPEED or speed / desired > BRAKE_RATIO
        throttle = self._throttle.step(min(max(desired - speed, 0.0), MAX_SPEED_ERROR))
        control = carla.VehicleControl()
        control.steer = float(min(max(steer, -1.0), 1.0))
        control.throttle = 0.0 if brakes else float(min(max(throttle, 0.0), MAX_THROTTLE))
        control.brake = 1.0 if brakes else 0.0
        return control


class Pid:
    """A controller over a window of ticks: the integral is the mean error in it, the derivative the last difference.

    The window is empty at first and grows; both are zero while there is one error only.
    """

    def __init__(self, gains: tuple[float, float, float]) -> None:
        self._gains = gains
        self._errors: deque[float] = deque(maxlen=PID_TICKS)

    def step(self, error: float) -> float:
        """Control output for an error."""
        self._errors.append(error)
        proportional, integral, derivative = self._gains
        if len(self._errors) < 2:
            return proportional * error
        mean = sum(self._errors) / len(self._errors)
        return proportional * error + integral * mean + derivative * (self._errors[-1] - self._errors[-2])


class Creep:
    """After standing for 12 s, creep for 60 ticks, then follow plans for at least 40.

    Standing keeps counting: without motion the car creeps again after the pause, otherwise after another 12 s.
    """

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Reset all state."""
        self._stood = 0
        self._since: int | None = None

    def is_due(self, speed: float) -> bool:
        """Whether to creep in this tick, at a speed [m/s]."""
        self._stood = self._stood + 1 if speed < STANDING_SPEED else 0
        if self._since is not None:
            self._since += 1
            if self._since < CREEP_TICKS:
                return True
            if self._since < CREEP_TICKS + PAUSE_TICKS:
                return False
            self._since = None
        if self._stood <= STANDING_TICKS:
            return False
        self._since = 0
        return True


def aim_point(points: Floats, reach: float) -> Floats:
    """(2,) where a polyline (n, 2), from its point nearest to the origin on, leaves a circle of radius `reach` [m]."""
    line = Line(points)
    if line.along[-1] == 0.0:
        return np.array([reach, 0.0])
    places = np.append(np.arange(0.0, line.along[-1], 0.1), line.along[-1])
    dense = np.column_stack([np.interp(places, line.along, line.points[:, axis]) for axis in (0, 1)])
    away = np.linalg.norm(dense, axis=1)
    nearest = int(np.argmin(away))
    beyond = np.flatnonzero(away[nearest:] >= reach)
    return np.asarray(dense[nearest + int(beyond[0])] if len(beyond) else dense[-1])


class PlannerConnection:
    """Connection to the server: connects on demand, begins the drive, requests plans."""

    def __init__(self, config: dict[str, Any], name: str) -> None:
        self._config = config
        self._name = name
        self._socket: socket.socket | None = None
        self._cameras: list[str] = []
        self._begun = False
        self._back_off = MIN_BACK_OFF
        self._next_try = 0.0

    def wait(self, seconds: float) -> None:
        """Connect with retries; raises RuntimeError after `seconds`."""
        until = time.monotonic() + seconds
        while True:
            try:
                self._connect()
                return
            except FAILURES as error:
                if isinstance(error, ServerRefused) and error.code != "busy":
                    raise RuntimeError(f"{self._config['server']}: {error}") from error
                if time.monotonic() > until:
                    message = f"{self._config['server']}: no planner server within {seconds:g} s ({error}); "
                    raise RuntimeError(message + "start one: w4s serve --checkpoint PLANNER") from error
                time.sleep(min(MIN_BACK_OFF, max(0.0, until - time.monotonic()) + 0.01))

    def may_try(self) -> bool:
        """Whether to send a request: always while connected, else with exponential back-off."""
        return self._socket is not None or time.monotonic() >= self._next_try

    def decide(
        self,
        request: dict[str, Any],
        images: Mapping[str, NDArray[np.uint8]],
        route: Callable[[], dict[str, NDArray[Any]]],
    ) -> tuple[dict[str, Any], NDArray[Any]]:
        """Fields of the answer and its plan (8, 3); `route()` gives the remaining route."""
        try:
            if self._socket is None:
                self._connect()
            if not self._begun:
                fields = {"name": self._name, "options": self._config["options"]}
                self._ask(BEGIN, fields, route(), BEGUN)
                self._begun = True
            wanted = {name: images[name] for name in self._cameras if name in images}
            fields, arrays = self._ask(DECIDE, dict(request, channels="BGRA"), wanted, DECISION)
            plan = arrays.get("plan")
            if plan is None or plan.ndim != 2 or plan.shape[1] != 3 or not len(plan) or not np.isfinite(plan).all():
                raise ServerRefused("the server's plan has no sound poses")
        except FAILURES:
            self._hang_up()
            self._next_try = time.monotonic() + self._back_off
            self._back_off = min(2 * self._back_off, MAX_BACK_OFF)
            raise
        self._back_off = MIN_BACK_OFF
        return fields, plan

    def leave(self) -> None:
        """End the drive, if the server listens."""
        if self._socket is not None and self._begun:
            with suppress(*FAILURES):  # a server that does not listen will notice
                self._ask(END, {}, {}, ENDED)
        self._hang_up()

    def _connect(self) -> None:
        address = self._config["server"]
        try:
            if address.startswith("unix:"):
                self._socket = socket.socket(socket.AF_UNIX)
                self._socket.settimeout(self._config["connect_seconds"])
                self._socket.connect(address[len("unix:") :])
            else:
                host, _, port = address.rpartition(":")
                self._socket = socket.create_connection((host, int(port)), self._config["connect_seconds"])
                self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            fields, _ = self._ask(HELLO, {"client": f"CARLA agent, process {os.getpid()}"}, {}, WELCOME)
            self._cameras = [str(name) for name in fields.get("cameras", [])]
            unknown = sorted(set(self._cameras) - {name for name, *_ in CAMERAS})
            if unknown or not self._cameras:
                raise ServerRefused("the planner wants cameras that this agent does not have: " + ", ".join(unknown))
            served = fields.get("options", {})
            other = sorted(name for name, value in self._config["options"].items() if served.get(name) != value)
            if fields.get("fixed") and other:
                message = "the server was started with --fixed and chooses with other options ({}); start it with the "
                message += "agent's, or leave them out of the agent's file: \"options\": {{}}"
                raise ServerRefused(message.format(", ".join(f"{name}: {served.get(name)}" for name in other)))
        except BaseException:
            self._hang_up()
            raise

    def _hang_up(self) -> None:
        if self._socket is not None:
            self._socket.close()
        self._socket = None
        self._begun = False

    def _ask(
        self, kind: int, fields: dict[str, Any], arrays: Mapping[str, NDArray[Any]], wanted: int
    ) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """Send a frame and read the answer of the wanted kind, within the time limit."""
        until = time.monotonic() + self._config["request_seconds"]
        listed: list[dict[str, Any]] = []
        parts: list[bytes | memoryview] = []
        for name, array in arrays.items():
            listed.append({"name": name, "dtype": array.dtype.name, "shape": list(array.shape)})
            parts.append(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data)
        text = json.dumps(dict(fields, arrays=listed), allow_nan=False).encode()
        header = HEADER.pack(MAGIC, PROTOCOL, kind, len(text), sum(len(part) for part in parts))
        parts.insert(0, header + text)
        for part in parts:
            self._limited(until).sendall(part)
        magic, version, answered, text_bytes, array_bytes = HEADER.unpack(self._receive(HEADER.size, until))
        if magic != MAGIC:
            raise ServerRefused("what answers there is no planner server")
        if version != PROTOCOL:
            message = f"the server speaks protocol {version}, this agent {PROTOCOL}; "
            raise ServerRefused(message + "copy the agent of the server's release: w4s b2d agent --out team_code")
        if text_bytes + array_bytes > MAX_ANSWER_BYTES:
            raise ServerRefused("the answer is larger than any plan")
        answer = json.loads(self._receive(text_bytes, until).decode())
        content = self._receive(array_bytes, until)
        if not isinstance(answer, dict):
            raise ServerRefused("the answer is no object")
        if answered == ERROR:
            raise ServerRefused(str(answer.get("error")), str(answer.get("code")))
        if answered != wanted:
            raise ServerRefused(f"an answer of kind {answered} came, not {wanted}")
        return answer, read_arrays(answer.get("arrays"), content)

    def _receive(self, size: int, until: float) -> bytes:
        parts = []
        while size:
            part = self._limited(until).recv(min(size, 2**16))
            if not part:
                raise ConnectionError("the server hung up")
            parts.append(part)
            size -= len(part)
        return b"".join(parts)

    def _limited(self, until: float) -> socket.socket:
        """The socket, with a timeout at `until`."""
        left = until - time.monotonic()
        if self._socket is None or left <= 0:
            raise socket.timeout(f"no answer within {self._config['request_seconds']:g} s")
        self._socket.settimeout(left)
        return self._socket


def read_arrays(listed: Any, content: bytes) -> dict[str, NDArray[Any]]:
    """Arrays by name from their description and their bytes."""
    arrays, start = {}, 0
    try:
        for entry in listed:
            dtype = np.dtype(DTYPES[entry["dtype"]])
            count = int(np.prod(entry["shape"], dtype=np.int64))
            arrays[str(entry["name"])] = np.frombuffer(content, dtype, count, start).reshape(entry["shape"])
            start += count * dtype.itemsize
    except (TypeError, KeyError, IndexError) as error:
        raise ServerRefused(f"arrays of the answer: {error!r}") from error
    return arrays


def read_config(path: str) -> dict[str, Any]:
    """The configuration of a file, with defaults for what it leaves out; a ValueError says what is wrong with it."""
    try:
        with open(path, encoding="utf-8") as stream:
            given = json.load(stream)
    except OSError as error:
        raise ValueError(f"{path}: {error.strerror}; give the agent's JSON file as --agent-config") from error
    except ValueError as error:
        raise ValueError(f"{path}: not JSON ({error})") from error
    if not isinstance(given, dict):
        raise ValueError(f"{path}: an object is needed")
    unknown = sorted(set(given) - set(DEFAULTS))
    if unknown:
        raise ValueError(f"{path}: no such setting: {', '.join(unknown)}; there are {', '.join(DEFAULTS)}")
    config = dict(DEFAULTS, **given)
    for name in ("request_seconds", "connect_seconds", "setup_seconds"):
        value = config[name]
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 < value < 1e6:
            raise ValueError(f"{path}: {name}: {value!r}; seconds above zero are needed")
    if type(config["metric_every"]) is not int or config["metric_every"] < 1:
        raise ValueError(f"{path}: metric_every: {config['metric_every']!r}; a whole number above zero is needed")
    for name in ("creep", "images"):
        if not isinstance(config[name], bool):
            raise ValueError(f"{path}: {name}: {config[name]!r}; true or false is needed")
    if not isinstance(config["options"], dict):
        raise ValueError(f"{path}: options: an object is needed")
    if config["metric_dir"] is not None and not isinstance(config["metric_dir"], str):
        raise ValueError(f"{path}: metric_dir: a folder or null is needed")
    server = config["server"]
    port = server.rpartition(":")[2] if isinstance(server, str) else ""
    is_path = isinstance(server, str) and server.startswith("unix:") and len(server) > len("unix:")
    if not is_path and not (port.isdigit() and 0 < int(port) < 2**16 and server.rpartition(":")[0]):
        raise ValueError(f"{path}: server: {server!r}; 127.0.0.1:PORT or unix:PATH is needed")
    return config


def find_hero() -> Any:
    """The ego actor, or None."""
    from srunner.scenariomanager.carla_data_provider import CarlaDataProvider

    hero = CarlaDataProvider.get_hero_actor()
    if hero is not None:
        return hero
    world = CarlaDataProvider.get_world()
    vehicles = [] if world is None else world.get_actors().filter("vehicle.*")
    return next((actor for actor in vehicles if actor.attributes.get("role_name") == "hero"), None)


def rotation(angle: float) -> Floats:
    """(2, 2) turns columns counter-clockwise [rad]."""
    return np.array([[math.cos(angle), -math.sin(angle)], [math.sin(angle), math.cos(angle)]])


def write_json(path: str, content: Any) -> None:
    """Write a JSON file atomically."""
    write_bytes(path, json.dumps(content).encode())


def write_bytes(path: str, content: bytes) -> None:
    """Write a file atomically."""
    os.makedirs(os.path.dirname(path), exist_ok=True)
    temporary = f"{path}.{os.getpid()}.tmp"
    try:
        with open(temporary, "wb") as stream:
            stream.write(content)
        os.replace(temporary, path)
    except BaseException:
        with suppress(OSError):
            os.unlink(temporary)
        raise


def as_png(image: NDArray[np.uint8]) -> bytes:
    """A PNG file of colours (H, W, 3); CARLA's Python need not have a library for that."""
    height, width, _ = image.shape
    rows = np.concatenate([np.zeros((height, 1), np.uint8), image.reshape(height, 3 * width)], 1)  # 0: no filter
    chunks = (
        (b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)),
        (b"IDAT", zlib.compress(rows.tobytes(), 1)),
        (b"IEND", b""),
    )
    parts = [
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data)) for kind, data in chunks
    ]
    return b"\x89PNG\r\n\x1a\n" + b"".join(parts)


def _position(transform: Any) -> tuple[float, float]:
    return transform.location.x, -transform.location.y


def _as_list(vector: Any) -> list[float]:
    return [vector.x, vector.y, vector.z]


def _braking() -> Any:
    control = carla.VehicleControl()
    control.brake = 1.0
    return control


def _log(text: str) -> None:
    print(f"World4Scorer agent: {text}", file=sys.stderr, flush=True)
