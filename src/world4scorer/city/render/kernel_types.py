"""Arguments of the render kernels: lighting, triangles, cameras, ground.

Named tuples of arrays, as Numba needs. Positions are metres in axes parallel to the map's with the origin at the ego,
so that float32 is exact to a fraction of a millimetre.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from world4scorer.city.render.weather import Weather

CHUNK_VISIBLE: Final = 1
CHUNK_CASTS_SHADOW: Final = 2
"""Bits of `TriangleBuffer.chunk_flags`."""
SUN_SHADOW: Final = 1
CONTACT_SHADOW: Final = 2
"""Bits of the shadow buffer."""


NO_TRIANGLE: Final = -1
SHADED: Final = -2
"""Ids in the triangle buffer: a sample of ground or sky, and a sample that is already shaded."""


class Lighting(NamedTuple):
    """A `Weather` as arrays."""

    to_sun: NDArray[np.float32]
    """(3,) unit vector."""
    sun: NDArray[np.float32]
    ambient: NDArray[np.float32]
    bounce: NDArray[np.float32]
    fog_colour: NDArray[np.float32]
    """(3,) linear light each."""
    fog: np.float32
    wetness: np.float32
    lamps: np.float32
    contact: np.float32
    exposure: np.float32
    seed: int
    sky: NDArray[np.float32]
    """(n, n, 3), see `sky`."""

    @classmethod
    def of(cls, weather: Weather, sky: NDArray[np.float32]) -> Lighting:
        """Pack a weather and its sky texture."""
        vectors = (weather.to_sun, weather.sun, weather.ambient, weather.bounce, weather.horizon)
        scalars = (weather.fog, weather.wetness, weather.lamps, weather.contact, weather.exposure)
        packed = [np.array(v, np.float32) for v in vectors] + [np.float32(v) for v in scalars]
        return cls._make([*packed, weather.seed % 65536, sky])


class TriangleBuffer(NamedTuple):
    """Triangles of one frame, in spatially compact chunks."""

    corners: NDArray[np.float32]
    """(n, 3, 3) counter-clockwise seen from outside."""
    normal: NDArray[np.float32]
    """(n, 3)"""
    colour: NDArray[np.float32]
    """(n, 3) lit colour."""
    material: NDArray[np.uint8]
    surface: NDArray[np.uint8]
    instance: NDArray[np.int16]
    """(n,) row of the actors, -1 for scenery."""
    detail: NDArray[np.int32]
    """(n,) row of the facade table."""
    offset: NDArray[np.float32]
    """(n,) metres along the facade at the first corner."""
    chunk_span: NDArray[np.int32]
    """(c, 2) first and last + 1 triangle."""
    chunk_sphere: NDArray[np.float32]
    """(c, 4) centre and radius."""
    chunk_flags: NDArray[np.uint8]

    @classmethod
    def allocate(cls, triangles: int, chunks: int) -> TriangleBuffer:
        """Allocate buffers for numbers of triangles and chunks."""
        return cls(
            np.empty((triangles, 3, 3), np.float32),
            np.empty((triangles, 3), np.float32),
            np.empty((triangles, 3), np.float32),
            np.empty(triangles, np.uint8),
            np.empty(triangles, np.uint8),
            np.empty(triangles, np.int16),
            np.empty(triangles, np.int32),
            np.empty(triangles, np.float32),
            np.empty((chunks, 2), np.int32),
            np.empty((chunks, 4), np.float32),
            np.empty(chunks, np.uint8),
        )


class CameraView(NamedTuple):
    """Camera poses; kernels of one camera get it without the leading dimension."""

    axes: NDArray[np.float32]
    """(c, 3, 3) rows: right, down, forward."""
    eye: NDArray[np.float32]
    """(c, 3)"""
    focal: np.float32
    """Focal length in pixels of the supersampled image."""
    ahead: NDArray[np.float32]
    """(2,) heading of the car, for its headlights."""
    anchor: NDArray[np.float32]
    """(2,) ego position modulo `ANCHOR_PERIOD`: keeps patterns fixed to the world."""


class GroundTiles(NamedTuple):
    """Ground textures around the ego: fine tiles near by, coarse ones to the horizon."""

    texels: NDArray[np.uint32]
    """(slots, texels of all mip levels) bytes from the lowest: red, green, blue, share of marking."""
    classes: NDArray[np.uint8]
    """(slots, TILE_SIZE, TILE_SIZE) `SurfaceClass`"""
    level_start: NDArray[np.int64]
    """(levels,) first texel of each mip level."""
    slots: NDArray[np.int32]
    """(2, rows, columns) slot of a tile or -1; fine, then coarse."""
    corner: NDArray[np.float32]
    """(2, 2) x, y of the first tile's corner."""


ANCHOR_PERIOD: Final = 256.0
"""Period of patterns [m]."""
