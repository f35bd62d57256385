"""Scene maps from the polygons of a log."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from world4scorer.engine.kernels import kernel
from world4scorer.engine.scene.indices import LANE_LAYERS


class PolygonColumns(NamedTuple):
    """The P polygons of a log, with R rings and V vertices."""

    name: NDArray[np.int32]
    """(P,)"""
    layer: NDArray[np.int8]
    """(P,)"""
    lane: NDArray[np.bool_]
    """(P,) whether it is a lane or lane connector."""
    first_ring: NDArray[np.int64]
    """(P + 1,)"""
    first_vertex: NDArray[np.int64]
    """(R + 1,)"""
    vertices: NDArray[np.float64]
    """(V, 2)"""
    bounds: NDArray[np.float64]
    """(P, 4) as `PolygonMap.bounds`."""

    @classmethod
    def of(cls, columns: Mapping[str, NDArray[Any]]) -> PolygonColumns:
        """The polygons of a shard's `new_` columns."""
        table = cls(
            columns["new_polygon_name"],
            columns["new_polygon_layer"],
            np.isin(columns["new_polygon_layer"], LANE_LAYERS),
            starts_of(columns["new_polygon_rings"]),
            starts_of(columns["new_ring_vertices"]),
            columns["new_vertices"],
            np.zeros((0, 4)),
        )
        if table.first_ring[-1] != len(table.first_vertex) - 1 or table.first_vertex[-1] != len(table.vertices):
            raise ValueError("rings and vertices of the map do not fit together")
        if len(table.layer) != len(table.name) or len(table.layer) != len(table.first_ring) - 1:
            raise ValueError("names and layers of the map do not fit together")
        return table._replace(bounds=_bounds(table))


def _bounds(table: PolygonColumns) -> NDArray[np.float64]:
    first = table.first_vertex[table.first_ring[:-1]]
    if not len(first):
        return np.zeros((0, 4))
    return np.concatenate(
        [np.minimum.reduceat(table.vertices, first), np.maximum.reduceat(table.vertices, first)], axis=1
    )


def starts_of(counts: NDArray[np.int32]) -> NDArray[np.int64]:
    """(n + 1,) where each of n parts starts, by their sizes (n,)."""
    if (counts < 0).any():
        raise ValueError("a count is negative")
    starts = np.zeros(len(counts) + 1, np.int64)
    np.cumsum(counts, out=starts[1:])
    return starts


def gather(
    table: PolygonColumns, polygons: NDArray[np.int32]
) -> tuple[NDArray[np.int8], NDArray[np.float64], NDArray[np.int64], NDArray[np.int64]]:
    """Return layer, vertices, ring_offsets and ring_polygon of a map of the given polygons, in the given order."""
    if len(polygons) and (polygons.min() < 0 or polygons.max() >= len(table.layer)):
        raise ValueError("a polygon of the map is not in the file")
    first, last = table.first_ring[polygons], table.first_ring[polygons + 1]
    rings = int((last - first).sum())
    count = int((table.first_vertex[last] - table.first_vertex[first]).sum())
    vertices = np.empty((count, 2))
    ring_offsets = np.empty(rings + 1, np.int64)
    ring_polygon = np.empty(rings, np.int64)
    _gather(table.vertices, table.first_vertex, first, last, vertices, ring_offsets, ring_polygon)
    return table.layer[polygons], vertices, ring_offsets, ring_polygon


@kernel
def _gather(source, first_vertex, first, last, vertices, ring_offsets, ring_polygon):
    at = 0
    ring = 0
    for p in range(first.size):
        for r in range(first[p], last[p]):
            ring_offsets[ring] = at
            ring_polygon[ring] = p
            ring += 1
            for v in range(first_vertex[r], first_vertex[r + 1]):
                vertices[at, 0] = source[v, 0]
                vertices[at, 1] = source[v, 1]
                at += 1
    ring_offsets[ring] = at


def gather_rows(
    source: NDArray[np.float64], first: NDArray[np.int64], last: NDArray[np.int64]
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return the rows `first[i]:last[i]` of `source` (V, 2) for all i, and where each part starts (n + 1,)."""
    offsets = np.concatenate([[0], np.cumsum(last - first)])
    return source[np.arange(offsets[-1]) + np.repeat(first - offsets[:-1], last - first)], offsets
