"""A scene's map as flat arrays for kernels."""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from world4scorer.engine.scene.indices import DRIVABLE_LAYERS, LANE_LAYERS, Layer
from world4scorer.engine.scene.map import PolygonMap

# Bits of a polygon's part in the metrics.
DRIVABLE: Final = 1
LANE: Final = 2
ROUTE: Final = 4
INTERSECTION: Final = 8


class MapArrays(NamedTuple):
    """P polygons, R rings, V vertices."""

    x: NDArray[np.float64]
    """(V,)"""
    y: NDArray[np.float64]
    """(V,)"""
    following: NDArray[np.int64]
    """(V,) the next vertex of the same ring."""
    ring: NDArray[np.int64]
    """(V,) the ring of a vertex."""
    polygon_start: NDArray[np.int64]
    """(P + 1,) polygon p owns vertices `polygon_start[p]:polygon_start[p + 1]`."""
    bounds: NDArray[np.float64]
    """(P, 4) lowest x, lowest y, highest x, highest y."""
    part: NDArray[np.uint8]
    """(P,) the bits above."""


_PARTS: Final = np.zeros(128, np.uint8)
_PARTS[list(DRIVABLE_LAYERS)] |= DRIVABLE
_PARTS[list(LANE_LAYERS)] |= LANE
_PARTS[Layer.INTERSECTION] |= INTERSECTION


def pack_map(polygons: PolygonMap, on_route: NDArray[np.bool_]) -> MapArrays:
    """Flatten a map; `on_route` (P,) marks the lanes of the route."""
    offsets = polygons.ring_offsets
    following = np.arange(1, len(polygons.vertices) + 1)
    following[offsets[1:] - 1] = offsets[:-1]
    part = _PARTS[polygons.layer]
    part[on_route] |= ROUTE
    return MapArrays(
        x=np.ascontiguousarray(polygons.vertices[:, 0]),
        y=np.ascontiguousarray(polygons.vertices[:, 1]),
        following=following,
        ring=np.repeat(np.arange(len(offsets) - 1), np.diff(offsets)),
        polygon_start=offsets[polygons.polygon_rings],
        bounds=polygons.bounds,
        part=part,
    )
