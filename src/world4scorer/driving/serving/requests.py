"""Requests of clients, validated and converted to the agent's types.

Shapes: C cameras, n points of a route, m nodes.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Final, cast, get_args

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from world4scorer.driving.closed_loop.observation import CameraCalibration, Observation
from world4scorer.driving.closed_loop.planner_agent import AgentOptions
from world4scorer.driving.serving.fields import Fields, RequestError
from world4scorer.driving.serving.protocol import Message
from world4scorer.engine.routes.commands import COMMAND_COUNT, CommandTracker, RoadOption, one_hot
from world4scorer.engine.routes.route import Route
from world4scorer.engine.scene import vehicle
from world4scorer.engine.selection.route import RouteRule
from world4scorer.engine.selection.utility import Benchmark

BENCHMARKS: Final[tuple[Benchmark, ...]] = ("v1", "v2")
NUMERIC_OPTIONS: Final = dict.fromkeys(("inertial", "route", "corridor", "start", "progress", "speed_limit"), 100.0)
"""Options of a drive that are numbers from zero on, and the largest: weights, a speed limit [m/s]."""
MAX_ROUTE_LENGTH: Final = 100_000.0
"""m; routes are resampled to one point per metre."""
MAX_ROUTE_POINTS: Final = 200_000
"""Points of a route as sent."""
MAX_NODES: Final = 10_000
IMAGE_SIDE_RANGE: Final = (16, 4096)
"""Pixels."""
MAX_TIME: Final = 1e8
"""Largest simulation time [s]."""
MIN_TURNING_SPEED: Final = 0.5
"""Below this speed no steering angle is derived from a yaw rate [m/s]."""
ROTATION_TOLERANCE: Final = 1e-3
"""Deviation of camera rotations from orthonormality."""

CHANNELS: Final[dict[str, int]] = {"RGB": 3, "BGRA": 4}


@dataclass(frozen=True, eq=False)
class BeginRequest:
    """Start of a drive."""

    name: str
    route: Route | None
    keeper: CommandTracker | None
    options: AgentOptions
    """The server's options with the client's overrides."""
    rig: CameraCalibration | None
    """Calibration, unless Bench2Drive's."""


@dataclass(frozen=True, eq=False)
class DecideRequest:
    """Request for a plan."""

    observation: Observation
    height: int
    """Image height [pixels]."""
    width: int
    pool: bool
    """Whether to return all plans."""


def read_hello(frame: Message) -> str:
    """The client's name."""
    fields = Fields.of(frame)
    name = fields.text("client")
    fields.finish()
    return name


def read_begin(frame: Message, defaults: AgentOptions, cameras: int) -> BeginRequest:
    """Route, options and cameras of a drive."""
    fields = Fields.of(frame)
    name = fields.text("name")
    route = _read_route(fields) if "route" in fields else None
    keeper = None
    if "nodes" in fields or "node_options" in fields:
        nodes = fields.array("nodes", np.float64, ("m", 2), MAX_NODES)
        codes = fields.array("node_options", np.int32, ("m",), MAX_NODES)
        keeper = CommandTracker(nodes, [_road_option(int(code)) for code in codes])
    options = _read_options(fields.nested("options"), defaults) if "options" in fields else defaults
    rig = _read_rig(fields, cameras) if "intrinsics" in fields else None
    fields.finish()
    return BeginRequest(name, route, keeper, options, rig)


def read_decide(frame: Message, cameras: tuple[str, ...], keeps_commands: bool) -> DecideRequest:
    """Images and ego state; images are Pillow's, made directly from the received bytes.

    Without `keep_commands` a command is required: a planner without one would silently go straight at every turn.
    """
    fields = Fields.of(frame)
    if not keeps_commands and "command" not in fields and "driving_command" not in fields:
        raise RequestError(
            "decide: 'command' is missing, and this drive does not keep commands; begin it with nodes and the option "
            "keep_commands, or send a command with each request"
        )
    channels = fields.choice("channels", tuple(CHANNELS))
    images = fields.images(cameras, IMAGE_SIDE_RANGE)
    height, width, depth = images[0].shape
    if depth != CHANNELS[channels]:
        raise RequestError(f"decide: images have {depth} channels; {channels} has {CHANNELS[channels]}")
    velocity = fields.numbers("velocity", 2)
    yaw_rate = fields.number("yaw_rate") if "yaw_rate" in fields else 0.0
    guessed = steering_angle(float(velocity[0]), yaw_rate)
    observation = Observation(
        time=fields.number("time", -MAX_TIME, MAX_TIME),
        images=tuple(_picture(image, channels) for image in images),
        pose=fields.numbers("pose", 3),
        velocity=velocity,
        acceleration=fields.numbers("acceleration", 2),
        command=_read_command(fields),
        yaw_rate=yaw_rate,
        steering=fields.number("steering", -np.pi / 2, np.pi / 2) if "steering" in fields else guessed,
    )
    pool = fields.flag("pool") if "pool" in fields else False
    fields.finish()
    return DecideRequest(observation, height, width, pool)


def _read_command(fields: Fields) -> NDArray[np.float32]:
    """(4,) one-hot command: from a road option, or as NAVSIM has it, which also knows none."""
    if "driving_command" in fields:
        return fields.numbers("driving_command", COMMAND_COUNT).astype(np.float32)
    return one_hot(_road_option(fields.integer("command")) if "command" in fields else RoadOption.LANE_FOLLOW)


def steering_angle(speed: float, yaw_rate: float) -> float:
    """Steering angle [rad] of the bicycle model for a speed [m/s] and a yaw rate [rad/s]."""
    return float(np.arctan(vehicle.WHEEL_BASE * yaw_rate / speed)) if speed > MIN_TURNING_SPEED else 0.0


def _picture(image: NDArray[np.uint8], channels: str) -> Image.Image:
    """Pillow reorders channels during the copy that it makes anyway."""
    height, width = image.shape[:2]
    layout = {"RGB": "RGB", "BGRA": "BGRX"}[channels]
    return Image.frombuffer("RGB", (width, height), image, "raw", layout, 0, 1)


def _read_route(fields: Fields) -> Route:
    points = fields.array("route", np.float64, ("n", 2), MAX_ROUTE_POINTS)
    length = float(np.linalg.norm(np.diff(points, axis=0), axis=1).sum())
    if length > MAX_ROUTE_LENGTH:
        raise RequestError(f"begin: route: {length:,.0f} m long; at most {MAX_ROUTE_LENGTH:,.0f} m are taken")
    return Route(points)


def _read_options(fields: Fields, defaults: AgentOptions) -> AgentOptions:
    given: dict[str, Any] = {
        name: fields.number(name, 0.0, most) for name, most in NUMERIC_OPTIONS.items() if name in fields
    }
    given |= {name: fields.flag(name) for name in ("keep_commands", "prompt") if name in fields}
    options = replace(defaults, **given)
    if "route_rule" in fields:
        options = replace(options, route_rule=cast(RouteRule, fields.choice("route_rule", get_args(RouteRule))))
    if "benchmark" in fields:
        options = replace(options, benchmark="v1" if fields.choice("benchmark", BENCHMARKS) == "v1" else "v2")
    fields.finish()
    return options


def _read_rig(fields: Fields, cameras: int) -> CameraCalibration:
    intrinsics = fields.array("intrinsics", np.float64, (cameras, 3, 3), cameras + 3)
    rotation = fields.array("rotation", np.float64, (cameras, 3, 3), cameras + 3)
    translation = fields.array("translation", np.float64, (cameras, 3), cameras + 3)
    if not (intrinsics[:, [0, 1], [0, 1]] > 0).all() or not np.array_equal(intrinsics[:, 2], [[0, 0, 1]] * cameras):
        raise RequestError("begin: intrinsics: pinhole matrices with focal lengths above zero are needed")
    turned = rotation @ rotation.transpose(0, 2, 1)
    if np.abs(turned - np.eye(3)).max() > ROTATION_TOLERANCE or (np.linalg.det(rotation) < 0).any():
        raise RequestError("begin: rotation: matrices that turn the camera's axes into the car's are needed")
    return CameraCalibration(intrinsics, rotation, translation)


def _road_option(code: int) -> RoadOption:
    try:
        return RoadOption(code)
    except ValueError:
        known = ", ".join(f"{option} {option.name.lower()}" for option in RoadOption)
        raise RequestError(f"command {code}: no road option; {known}") from None
