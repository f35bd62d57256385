"""Key frames of a log: ego state, annotations, traffic lights, route, driving command."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from world4scorer.datasets.navsim.annotations import Annotations
from world4scorer.datasets.navsim.cameras import CAMERAS, Camera
from world4scorer.datasets.navsim.errors import DatasetError
from world4scorer.jobs.names import safe_name

COMMANDS: Final = ("left", "forward", "right", "unknown")
"""Meaning of the one-hot driving command."""
_NEEDED: Final = (
    "token",
    "timestamp",
    "log_name",
    "scene_token",
    "map_location",
    "roadblock_ids",
    "ego2global_translation",
    "ego2global_rotation",
    "ego_dynamic_state",
    "traffic_lights",
    "driving_command",
)


@dataclass(frozen=True, eq=False, repr=False)
class LogFrame:
    """A frame, 2 Hz. Poses are those of the rear axle in the metric frame of the map (UTM)."""

    token: str
    log_name: str
    scene_token: str
    """The nuPlan scene; several in a log."""
    map_location: str
    time_us: int
    ego_pose: NDArray[np.float64]
    """(3,) x, y [m], heading [rad], global."""
    velocity: NDArray[np.float64]
    """(2,) forward, left [m/s]; rounded to float32 as in the devkit."""
    acceleration: NDArray[np.float64]
    """(2,) forward, left [m/s^2]; rounded to float32."""
    command: NDArray[np.int64]
    """(4,) one-hot in the order of `COMMANDS`."""
    roadblock_ids: tuple[str, ...]
    """The route, in driving order; may repeat an id and may be empty."""
    traffic_lights: tuple[tuple[str, bool], ...]
    """Lane connector and whether its light is red."""
    annotations: Annotations | None
    """None in private test logs."""
    raw: Mapping[str, Any]
    """The frame as pickled."""
    where: str
    """File and frame, for messages."""

    @classmethod
    def from_raw(cls, raw: Any, where: str) -> LogFrame:
        """Check a pickled frame; `where` names the file and the position in it."""
        if not isinstance(raw, Mapping):
            raise DatasetError(f"{where}: expected a frame (dict), found {type(raw).__name__}")
        where = f"{where} (token {raw.get('token')!r})"
        missing = [name for name in _NEEDED if name not in raw]
        if missing:
            raise DatasetError(f"{where}: field {missing[0]!r} is missing; the log is damaged or of another format")
        position = _numbers(raw, "ego2global_translation", where)
        dynamics = _numbers(raw, "ego_dynamic_state", where)
        rotation = _numbers(raw, "ego2global_rotation", where)
        if len(position) < 2 or len(rotation) != 4 or len(dynamics) != 4 or not np.linalg.norm(rotation) > 0:
            raise DatasetError(
                f"{where}: expected an ego2global_translation of 3 numbers, an ego2global_rotation of 4 (not all 0), "
                f"and an ego_dynamic_state of 4, found {len(position)}, {len(rotation)} and {len(dynamics)}"
            )
        dynamics = dynamics.astype(np.float32).astype(np.float64)
        command = np.asarray(raw["driving_command"])
        if command.shape != (len(COMMANDS),):
            raise DatasetError(f"{where}: driving_command has shape {command.shape}, expected ({len(COMMANDS)},)")
        try:
            time_us = int(raw["timestamp"])
            lights = tuple((str(int(connector)), bool(red)) for connector, red in raw["traffic_lights"])
            route = tuple(str(block) for block in raw["roadblock_ids"])
        except (TypeError, ValueError) as error:
            raise DatasetError(
                f"{where}: timestamp, traffic_lights or roadblock_ids cannot be read: {error}"
            ) from error
        anns = raw.get("anns")
        return cls(
            token=safe_name(f"{where}: token", str(raw["token"]), DatasetError),
            log_name=safe_name(f"{where}: log_name", str(raw["log_name"]), DatasetError),
            scene_token=str(raw["scene_token"]),
            map_location=str(raw["map_location"]),
            time_us=time_us,
            ego_pose=np.array([position[0], position[1], yaw(rotation)]),
            velocity=dynamics[:2],
            acceleration=dynamics[2:],
            command=command.astype(np.int64),
            roadblock_ids=route,
            traffic_lights=lights,
            annotations=None if anns is None else Annotations.from_raw(anns, where),
            raw=raw,
            where=where,
        )

    @cached_property
    def cameras(self) -> dict[str, Camera]:
        """The available cameras by name, in the order of `CAMERAS`."""
        cams = self.raw.get("cams")
        if not isinstance(cams, Mapping):
            raise DatasetError(f"{self.where}: field 'cams' is missing")
        return {name: Camera.from_raw(name, cams[name], self.where) for name in CAMERAS if cams.get(name)}

    @property
    def driver(self) -> str:
        """Who drove: name of a driver of the closed loop; empty for the expert of the dataset."""
        return str(self.raw.get("driver", ""))

    @cached_property
    def global_boxes(self) -> NDArray[np.float64]:
        """(n, 5) see `Annotations.in_global_frame`; cached, because windows overlap."""
        if self.annotations is None:
            raise DatasetError(f"{self.where}: no annotations (anns); private test logs cannot be prepared for scoring")
        return self.annotations.in_global_frame(self.ego_pose)

    @cached_property
    def order_by_type(self) -> NDArray[np.int64]:
        """(n,) rows of the annotations sorted by type, as in the devkit."""
        return np.argsort(self.annotations.type, kind="stable") if self.annotations else np.zeros(0, np.int64)

    @property
    def track_tokens(self) -> tuple[str, ...]:
        """Track tokens of the annotations."""
        return self.annotations.track_tokens if self.annotations else ()

    @cached_property
    def boxes_by_type(self) -> BoxesByType:
        """The annotations in the global frame, in the order of `order_by_type`."""
        poses, order = self.global_boxes, self.order_by_type
        assert self.annotations is not None
        tokens = [self.annotations.track_tokens[i] for i in order]
        return BoxesByType(tokens, self.annotations.type[order], self.annotations.boxes[order, 3:5], poses[order])

    @cached_property
    def red_connectors(self) -> dict[str, bool]:
        """The traffic lights by lane connector."""
        return dict(self.traffic_lights)


class BoxesByType(NamedTuple):
    """n boxes sorted by type."""

    tokens: list[str]
    """Track tokens."""
    type: NDArray[np.int8]
    """(n,) codes of `TrackType`."""
    sizes: NDArray[np.float64]
    """(n, 2) length, width [m]."""
    poses: NDArray[np.float64]
    """(n, 5) x, y [m], heading [rad], velocity x, y [m/s], global."""


def _numbers(raw: Mapping[str, Any], name: str, where: str) -> NDArray[np.float64]:
    try:
        numbers = np.array(raw[name], np.float64).reshape(-1)
    except (TypeError, ValueError) as error:
        raise DatasetError(f"{where}: field {name!r} holds no numbers: {error}") from error
    if not np.isfinite(numbers).all():
        raise DatasetError(f"{where}: field {name!r} is not finite: {numbers}")
    return numbers


def yaw(quaternion: NDArray[np.float64]) -> float:
    """Heading [rad] of a rotation w, x, y, z.

    The sign before x * y is that of pyquaternion's yaw, which the official reader uses; with roll and pitch it
    differs from the usual formula by their product.
    """
    w, x, y, z = quaternion / np.linalg.norm(quaternion)
    return float(np.arctan2(2.0 * (w * z - x * y), 1.0 - 2.0 * (y * y + z * z)))


def rotation_about_z(heading: float) -> NDArray[np.float64]:
    """(4,) quaternion w, x, y, z of a turn by `heading` [rad] in the plane."""
    return np.array([np.cos(heading / 2.0), 0.0, 0.0, np.sin(heading / 2.0)])
