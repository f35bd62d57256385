"""Actors of a frame: vehicles, riders, pedestrians, cones."""

from __future__ import annotations

from dataclasses import dataclass, fields
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray


class ActorKind(IntEnum):
    """Kind of an actor; selects its model."""

    CAR = 0
    VAN = 1
    TRUCK = 2
    BUS = 3
    MOTORCYCLE = 4
    BICYCLE = 5
    PEDESTRIAN = 6
    CONE = 7
    BARRIER = 8


@dataclass(frozen=True, eq=False)
class Actors:
    """n actors of one frame."""

    pose: NDArray[np.float64]
    """(n, 3) centre x, y of the box [m] and heading [rad]."""
    size: NDArray[np.float64]
    """(n, 3) length, width, height [m]."""
    kind: NDArray[np.int8]
    """(n,) `ActorKind`."""
    look: NDArray[np.uint32]
    """(n,) colour seed; the crc32 of the name, so that an actor looks the same in every process."""
    brake: NDArray[np.bool_]
    """(n,) brake lights."""
    left: NDArray[np.bool_]
    """(n,) left indicator."""
    right: NDArray[np.bool_]
    """(n,) right indicator."""
    stride: NDArray[np.float64]
    """(n,) distance travelled [m], the phase of steps and pedals."""

    def __post_init__(self) -> None:
        n = len(self.kind)
        shapes = {name: np.shape(getattr(self, name)) for name in ("pose", "size")}
        flat = {name: np.shape(getattr(self, name)) for name in ("look", "brake", "left", "right", "stride")}
        if any(s != (n, 3) for s in shapes.values()) or any(s != (n,) for s in flat.values()):
            raise ValueError(f"actors: {n} kinds, but shapes are {shapes | flat}; want (n, 3) and (n,)")
        if n and not (self.kind.min() >= 0 and self.kind.max() <= max(ActorKind)):
            raise ValueError(
                f"actors: kinds {np.unique(self.kind).tolist()}; want those of ActorKind, 0 to {max(ActorKind)}"
            )

    def __len__(self) -> int:
        return len(self.kind)

    def __getitem__(self, which: NDArray[np.bool_] | NDArray[np.int64] | slice) -> Actors:
        return Actors(**{field.name: getattr(self, field.name)[which] for field in fields(self)})

    @classmethod
    def empty(cls) -> Actors:
        """No actors."""
        rows, off = np.zeros((0, 3)), np.zeros(0, bool)
        return cls(rows, rows, np.zeros(0, np.int8), np.zeros(0, np.uint32), off, off, off, np.zeros(0))

    def near(self, x: float, y: float, radius: float) -> NDArray[np.int64]:
        """Indices of the actors whose centre lies within `radius` [m] of a point."""
        square = (self.pose[:, 0] - x) ** 2 + (self.pose[:, 1] - y) ** 2
        return np.flatnonzero(square <= radius * radius)
