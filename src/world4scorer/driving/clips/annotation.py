"""One annotation of a clip: `anno/00000.json.gz`, one frame as CARLA describes it.

Missing values: a NaN compass is replaced by the yaw of the ego's box, an unknown command by lane following, a missing
box size by a small one; missing speeds and accelerations are filled in by the clip. Anything else is an error.
"""

from __future__ import annotations

import gzip
import math
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from world4scorer.driving.clips.axes import flip_y, heading_from_compass, heading_from_yaw
from world4scorer.driving.clips.ego_car import rear_axle
from world4scorer.driving.clips.errors import ClipError
from world4scorer.engine.routes.commands import RoadOption
from world4scorer.jobs.files import load_json

MAX_BYTES: Final = 1 << 26
"""Of an annotation, unpacked; those of Bench2Drive have some 100,000."""
EGO_CLASS: Final = "ego_vehicle"
OBSTACLE_CLASSES: Final = ("vehicle", "walker")
"""Classes of boxes that a car can collide with."""
MIN_HALF_SIZE: Final = 0.2
"""Smallest half size [m]; some of CARLA's walkers and bicycles have none."""
ROAD_OPTION_CODES: Final = frozenset(int(option) for option in RoadOption)


class Obstacle(IntEnum):
    """Columns of an obstacle's box."""

    X = 0
    """m, centre, our world"""
    Y = 1
    """m"""
    HEADING = 2
    """rad"""
    HALF_LENGTH = 3
    """m"""
    HALF_WIDTH = 4
    """m"""
    Z = 5
    """m, centre"""


@dataclass(frozen=True, eq=False)
class Annotation:
    """One frame, in our axes."""

    pose: NDArray[np.float64]
    """(3,) x, y [m], heading [rad] of the rear axle."""
    z: float
    """Height of the ego [m]; 0 where unknown."""
    speed: float
    """m/s; NaN where unknown."""
    acceleration: NDArray[np.float64]
    """(2,) forward, left [m/s^2]; NaN where unknown."""
    command: int
    """A `RoadOption`."""
    near: NDArray[np.float64]
    """(2,) next command point [m]; NaN where unknown."""
    far: NDArray[np.float64]
    """(2,) command point after it [m]; NaN where unknown."""
    obstacles: NDArray[np.float64]
    """(n, 6) columns of `Obstacle`."""
    sensors: Mapping[str, Any]
    """As written."""


def read_annotation(path: Path) -> Annotation:
    """Read one file."""
    try:
        with gzip.open(path) as stream:
            content = stream.read(MAX_BYTES + 1)
        if len(content) > MAX_BYTES:
            raise ValueError(f"it unpacks to more than {MAX_BYTES:,} bytes")
        raw = load_json(content)
    except FileNotFoundError:
        raise ClipError(f"{path}: no such file; unpack this clip again") from None
    except (OSError, EOFError, zlib.error, ValueError) as error:
        raise ClipError(f"{path}: not a readable annotation ({error}); fetch this clip again") from error
    if not isinstance(raw, Mapping):
        raise ClipError(f"{path}: holds a {type(raw).__name__}, no annotation; fetch this clip again")
    return parse_annotation(raw, str(path))


def parse_annotation(raw: Mapping[str, Any], where: str) -> Annotation:
    """Parse an annotation; `where` names the file in errors."""
    boxes = list(_boxes(raw.get("bounding_boxes")))
    ego = next((box for box in boxes if _is_ego(box)), None)
    sensors = raw.get("sensors")
    return Annotation(
        pose=_pose(raw, ego, where),
        z=float(np.nan_to_num(_numbers(None if ego is None else ego.get("location"), 3)[2])),
        speed=_number(raw.get("speed")),
        acceleration=flip_y(_numbers(raw.get("acceleration"), 2)),
        command=_command(raw.get("next_command")),
        near=flip_y([_number(raw.get("x_command_near")), _number(raw.get("y_command_near"))]),
        far=flip_y([_number(raw.get("x_command_far")), _number(raw.get("y_command_far"))]),
        obstacles=_obstacles(boxes, where),
        sensors=sensors if isinstance(sensors, Mapping) else {},
    )


def _pose(raw: Mapping[str, Any], ego: Mapping[str, Any] | None, where: str) -> NDArray[np.float64]:
    """Rear-axle pose (3,), from the ego's box, else from x and y."""
    place = _numbers(None if ego is None else ego.get("location"), 2)
    if not np.isfinite(place).all():
        place = np.array([_number(raw.get("x")), _number(raw.get("y"))])
    if not np.isfinite(place).all():
        raise ClipError(f"{where}: neither x and y nor the location of the box {EGO_CLASS!r} say where the ego is")
    heading = float(heading_from_compass(_number(raw.get("theta"))))
    if not math.isfinite(heading):
        heading = float(heading_from_yaw(_yaw({} if ego is None else ego)))
    if not math.isfinite(heading):
        raise ClipError(f"{where}: theta is {raw.get('theta')}, and no box {EGO_CLASS!r} says where the ego looks")
    return rear_axle(np.append(flip_y(place), heading))


def _boxes(raw: Any) -> Iterator[Mapping[str, Any]]:
    """Boxes of a list, a dict by name, or lists by class."""
    if isinstance(raw, Mapping):
        if "class" in raw:
            yield raw
            return
        raw = list(raw.values())
    if isinstance(raw, list):
        for part in raw:
            yield from _boxes(part)


def _is_ego(box: Mapping[str, Any]) -> bool:
    """By its class, or by a matrix that only the ego has."""
    return box.get("class") == EGO_CLASS or "world2ego" in box


def _obstacles(boxes: Sequence[Mapping[str, Any]], where: str) -> NDArray[np.float64]:
    found = [_obstacle(box, where) for box in boxes if box.get("class") in OBSTACLE_CLASSES and not _is_ego(box)]
    return np.array(found, np.float64).reshape(-1, len(Obstacle))


def _obstacle(box: Mapping[str, Any], where: str) -> NDArray[np.float64]:
    name = f"{where}: box {box.get('id', '?')} of class {box['class']!r}"
    place = _numbers(box.get("center"), 3)
    if not np.isfinite(place).all():
        place = _numbers(box.get("location"), 3)
    if not np.isfinite(place).all():
        raise ClipError(f"{name}: neither center nor location has three numbers; fetch this clip again")
    yaw = _yaw(box)
    if not math.isfinite(yaw):
        raise ClipError(f"{name}: rotation is {box.get('rotation')}; want pitch, roll, yaw")
    half = np.abs(np.nan_to_num(_numbers(box.get("extent"), 2), nan=0.0, posinf=0.0, neginf=0.0))
    x, y, z = flip_y(place)
    return np.array([x, y, heading_from_yaw(yaw), *np.maximum(half, MIN_HALF_SIZE), z])


def _yaw(box: Mapping[str, Any]) -> float:
    """deg; the last of pitch, roll, yaw."""
    rotation = box.get("rotation")
    if isinstance(rotation, Mapping):
        return _number(rotation.get("yaw"))
    return float(_numbers(rotation, 3)[2])


def _numbers(raw: Any, count: int) -> NDArray[np.float64]:
    """The first numbers of a list, or x, y, z of a dict; NaN where there are none."""
    if isinstance(raw, Mapping):
        raw = [raw.get(axis) for axis in "xyz"]
    if not isinstance(raw, list) or len(raw) < count:
        return np.full(count, np.nan)
    return np.array([_number(value) for value in raw[:count]])


def _number(raw: Any) -> float:
    if isinstance(raw, bool) or not isinstance(raw, (int, float)):
        return math.nan
    try:
        value = float(raw)
    except OverflowError:  # JSON has integers of any length
        return math.nan
    return value if math.isfinite(value) else math.nan


def _command(raw: Any) -> int:
    value = _number(raw)
    known = math.isfinite(value) and int(value) in ROAD_OPTION_CODES and value != RoadOption.VOID
    return int(value) if known else int(RoadOption.LANE_FOLLOW)
