"""Dense labels of a frame: classes and depths of pixels, and a map of what lies around the ego.

The map is a grid in the ego frame (rear axle at the origin, x forward, y left). Rows count forward, columns to the
left. Its cells carry bits, because what lies at a place overlaps: a car on a crosswalk on a lane.

Shapes: C cameras, h x w label pixels of a view, X x Y cells of the map, x x y coarse cells of twice the side.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from enum import IntFlag
from typing import Final

import numpy as np
from numpy.typing import NDArray

X_RANGE: Final = (-16.0, 64.0)
"""Extent of the map forward of the rear axle [m]."""
Y_RANGE: Final = (-32.0, 32.0)
"""Extent of the map to the left [m]."""
CELL: Final = 0.5
"""Side of a cell [m]."""
CELLS: Final = (int((X_RANGE[1] - X_RANGE[0]) / CELL), int((Y_RANGE[1] - Y_RANGE[0]) / CELL))
"""(X, Y) rows and columns of the map."""
COARSE_CELLS: Final = (CELLS[0] // 2, CELLS[1] // 2)
"""(x, y) rows and columns of directions and velocities."""
PIXEL_STRIDE: Final = 4
"""Pixels between labelled ones, along both axes."""
DEPTH_PER_OCTAVE: Final = 32.0
"""Steps of a stored depth per doubling; 0 is a metre or less, 255 the sky."""
VELOCITY_STEP: Final = 0.25
"""Step of a stored velocity [m/s]."""


class MapBit(IntFlag):
    """What a cell of the map belongs to."""

    DRIVABLE = 1
    """The area that NAVSIM's drivable area compliance accepts."""
    LANE = 2
    """Lanes outside of junctions."""
    CROSSWALK = 4
    VEHICLE = 8
    """Vehicles that a camera sees."""
    PERSON = 16
    """Pedestrians and bicycles that a camera sees."""
    RED = 32
    """The end of a lane ahead whose signal is red."""
    HIDDEN = 64
    """Road users that no camera sees: nothing to learn from."""
    BOUNDARY = 128
    """Edges of lanes."""


@dataclass(frozen=True, eq=False)
class DenseLabels:
    """Labels of one frame."""

    classes: NDArray[np.uint8]
    """(C, h, w) semantic classes of the world that was rendered."""
    depth: NDArray[np.uint8]
    """(C, h, w) see `encode_depth`."""
    bits: NDArray[np.uint8]
    """(X, Y) `MapBit`."""
    direction: NDArray[np.uint8]
    """(x, y) heading of the lane relative to the ego: 0 for none, else 1 to 255 for -pi to pi."""
    velocity: NDArray[np.int8]
    """(x, y, 2) velocity of the road user there, forward and left [`VELOCITY_STEP`]."""

    def pack(self) -> bytes:
        """Compressed bytes."""
        parts = (self.classes, self.depth, self.bits, self.direction, self.velocity)
        return zlib.compress(b"".join(np.ascontiguousarray(part).tobytes() for part in parts), 1)

    @classmethod
    def unpack(cls, data: bytes, view_shape: tuple[int, int, int]) -> DenseLabels:
        """Read what `pack` wrote; `view_shape` is (C, h, w). Raises ValueError for other data."""
        try:
            raw = np.frombuffer(zlib.decompress(data), np.uint8)
        except zlib.error as error:
            raise ValueError(f"labels are damaged ({error})") from error
        shapes = (view_shape, view_shape, CELLS, COARSE_CELLS, (*COARSE_CELLS, 2))
        sizes = [int(np.prod(shape)) for shape in shapes]
        if len(raw) != sum(sizes):
            raise ValueError(f"labels of {len(raw)} bytes; {sum(sizes)} are needed")
        parts = [part.reshape(shape) for part, shape in zip(np.split(raw, np.cumsum(sizes)[:-1]), shapes, strict=True)]
        return cls(parts[0], parts[1], parts[2], parts[3], parts[4].view(np.int8))


def encode_depth(depth: NDArray[np.float32]) -> NDArray[np.uint8]:
    """Depths [m] as bytes on a logarithmic scale; infinite ones as 255."""
    steps = DEPTH_PER_OCTAVE * np.log2(np.clip(depth, 1.0, 256.0))
    return np.asarray(np.minimum(np.rint(steps), 255), np.uint8)


def cell_centres() -> NDArray[np.float64]:
    """(X, Y, 2) forward and left [m]."""
    x = X_RANGE[0] + CELL * (np.arange(CELLS[0]) + 0.5)
    y = Y_RANGE[0] + CELL * (np.arange(CELLS[1]) + 0.5)
    return np.stack(np.meshgrid(x, y, indexing="ij"), -1)
