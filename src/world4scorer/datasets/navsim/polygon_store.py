"""Many polygons as flat arrays, with a fast gather.

Levels: I items (map objects), P parts (an item of several separate areas has several), R rings (the first of a part is
its shell, the rest are holes), V vertices. A ring's first vertex is not repeated at its end.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import shapely
from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class PolygonStore:
    """Flat polygons; item i has parts `item_parts[i]:item_parts[i + 1]`, and so on."""

    item_parts: NDArray[np.int64]
    """(I + 1,)"""
    part_rings: NDArray[np.int64]
    """(P + 1,)"""
    ring_vertices: NDArray[np.int64]
    """(R + 1,)"""
    vertices: NDArray[np.float64]
    """(V, 2) m"""

    @classmethod
    def from_geometries(cls, geometries: NDArray[np.object_]) -> PolygonStore:
        """Flatten polygons and multi-polygons (I,); empty ones become items without parts."""
        parts, part_item = shapely.get_parts(geometries, return_index=True)
        there = ~shapely.is_empty(parts)
        parts, part_item = parts[there], part_item[there]
        rings, ring_part = shapely.get_rings(parts, return_index=True)
        points, point_ring = shapely.get_coordinates(rings, return_index=True)
        last = np.flatnonzero(np.diff(point_ring, append=len(rings)))  # repeats the first vertex of its ring
        keep = np.ones(len(points), np.bool_)
        keep[last] = False
        return cls(
            _offsets(part_item, len(geometries)),
            _offsets(ring_part, len(parts)),
            _offsets(point_ring[keep], len(rings)),
            points[keep],
        )

    def gather(
        self, items: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.int64], NDArray[np.int64]]:
        """Gather items (n,), in this order.

        Returns, for the parts of these items: which of `items` each part belongs to (p,), vertices (v, 2), ring
        offsets (r + 1,) into them, and the part of each ring (r,).
        """
        part_count = self.item_parts[items + 1] - self.item_parts[items]
        parts = _ranges(self.item_parts[items], part_count)
        ring_count = self.part_rings[parts + 1] - self.part_rings[parts]
        rings = _ranges(self.part_rings[parts], ring_count)
        vertex_count = self.ring_vertices[rings + 1] - self.ring_vertices[rings]
        rows = _ranges(self.ring_vertices[rings], vertex_count)
        return (
            np.repeat(np.arange(len(items)), part_count),
            self.vertices[rows],
            np.concatenate([[0], np.cumsum(vertex_count)]),
            np.repeat(np.arange(len(parts)), ring_count),
        )


def _offsets(owner: NDArray[np.int64], count: int) -> NDArray[np.int64]:
    return np.searchsorted(owner, np.arange(count + 1))


def _ranges(starts: NDArray[np.int64], counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """Concatenate `range(start, start + count)` of each pair."""
    ends = np.cumsum(counts)
    total = int(ends[-1]) if len(ends) else 0
    return np.repeat(starts - (ends - counts), counts) + np.arange(total)
