"""Boxes around other road users and objects in one frame."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from world4scorer.datasets.navsim.errors import DatasetError
from world4scorer.engine.scene.geometry import turn, wrap
from world4scorer.engine.scene.indices import TrackType

TYPE_NAMES: Final[Mapping[str, int]] = {kind.name.lower(): int(kind) for kind in TrackType}
EGO_NAME: Final = "ego"
"""Type name of ego boxes in files, which are dropped."""


@dataclass(frozen=True, eq=False)
class Annotations:
    """n boxes in the ego frame of their own time step (origin: rear axle)."""

    boxes: NDArray[np.float64]
    """(n, 7) x, y, z, length, width, height [m], heading [rad], possibly not wrapped."""
    type: NDArray[np.int8]
    """(n,) codes of `TrackType`."""
    velocity: NDArray[np.float64]
    """(n, 3) m/s, in the ego frame."""
    instance_tokens: tuple[str, ...]
    """Tokens of the boxes, unique per frame."""
    track_tokens: tuple[str, ...]
    """Tokens of the tracks, the same in all frames."""

    @classmethod
    def from_raw(cls, raw: Mapping[str, Any], where: str) -> Annotations:
        """Read the `anns` of a frame; `where` names file and frame in errors."""
        boxes = _table(raw, "gt_boxes", 7, where)
        velocity = _table(raw, "gt_velocity_3d", 3, where)
        names = [str(name) for name in _field(raw, "gt_names", where)]
        instances = tuple(str(token) for token in _field(raw, "instance_tokens", where))
        tracks = tuple(str(token) for token in _field(raw, "track_tokens", where))
        counts = {len(boxes), len(velocity), len(names), len(instances), len(tracks)}
        if len(counts) > 1:
            raise DatasetError(
                f"{where}: the fields of anns differ in length: gt_boxes {len(boxes)}, gt_velocity_3d {len(velocity)}, "
                f"gt_names {len(names)}, instance_tokens {len(instances)}, track_tokens {len(tracks)}"
            )
        unknown = [name for name in names if name not in TYPE_NAMES and name != EGO_NAME]
        if unknown:
            raise DatasetError(f"{where}: anns.gt_names holds {unknown[0]!r}; known are {', '.join(TYPE_NAMES)}")
        codes = np.array([TYPE_NAMES.get(name, -1) for name in names], np.int8)
        found = cls(boxes, codes, velocity, instances, tracks)
        return found if (codes >= 0).all() else found.select(np.flatnonzero(codes >= 0))

    @classmethod
    def none(cls) -> Annotations:
        """No boxes."""
        return cls(np.zeros((0, 7)), np.zeros(0, np.int8), np.zeros((0, 3)), (), ())

    def select(self, rows: NDArray[np.int64]) -> Annotations:
        """The boxes of these rows, in this order."""
        return Annotations(
            self.boxes[rows],
            self.type[rows],
            self.velocity[rows],
            tuple(self.instance_tokens[i] for i in rows),
            tuple(self.track_tokens[i] for i in rows),
        )

    def in_global_frame(self, ego_pose: NDArray[np.float64]) -> NDArray[np.float64]:
        """(n, 5) x, y [m], heading [rad], velocity x, y [m/s] in the frame of `ego_pose` (3,).

        Only the heading of the ego is taken into account, not roll and pitch; static types do not move.
        """
        x, y = turn(self.boxes[:, 0], self.boxes[:, 1], ego_pose[2])
        out = np.empty((len(self.boxes), 5))
        out[:, 0], out[:, 1] = x + ego_pose[0], y + ego_pose[1]
        out[:, 2] = wrap(self.boxes[:, 6] + ego_pose[2])
        out[:, 3], out[:, 4] = turn(self.velocity[:, 0], self.velocity[:, 1], ego_pose[2])
        out[self.type >= TrackType.TRAFFIC_CONE, 3:] = 0.0
        return out


def _field(raw: Mapping[str, Any], name: str, where: str) -> Any:
    if name not in raw:
        raise DatasetError(f"{where}: anns has no field {name!r}; the log is damaged or of another format")
    return raw[name]


def _table(raw: Mapping[str, Any], name: str, columns: int, where: str) -> NDArray[np.float64]:
    try:
        table = np.array(_field(raw, name, where), np.float64)
    except (TypeError, ValueError) as error:
        raise DatasetError(f"{where}: anns.{name} is no table of numbers: {error}") from error
    if table.size == 0:
        table = table.reshape(0, columns)
    if table.ndim != 2 or table.shape[1] != columns:
        raise DatasetError(f"{where}: anns.{name} has shape {table.shape}, expected (n, {columns})")
    if not np.isfinite(table).all():
        raise DatasetError(f"{where}: anns.{name} row {int(np.argwhere(~np.isfinite(table))[0, 0])} is not finite")
    return table
