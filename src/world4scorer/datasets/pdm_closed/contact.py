"""Intersection and distance of boxes and polygons.

A box is given by its centre x, y, the cosine and sine of its heading, half its length and half its width [m].
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from world4scorer.datasets.navsim.polygon_store import PolygonStore
from world4scorer.engine.kernels import inlined, leaf
from world4scorer.engine.scene.boxes import boxes_meet, segment_meets_box
from world4scorer.engine.scene.segments import segment_distance


class Outlines(NamedTuple):
    """P polygons with V vertices in total, filled by the even-odd rule."""

    x: NDArray[np.float64]
    """(V,) m"""
    y: NDArray[np.float64]
    """(V,) m"""
    following: NDArray[np.int64]
    """(V,) the next vertex of the same ring."""
    start: NDArray[np.int64]
    """(P + 1,) polygon p owns vertices `start[p]:start[p + 1]`."""
    bounds: NDArray[np.float64]
    """(P, 4) lowest x, lowest y, highest x, highest y; of an empty polygon inf and -inf."""


def outlines(polygons: NDArray[np.object_]) -> Outlines:
    """Flatten shapely polygons (P,)."""
    return outlines_of(*PolygonStore.from_geometries(polygons).gather(np.arange(len(polygons))), len(polygons))


def outlines_of(
    part_item: NDArray[np.int64],
    vertices: NDArray[np.float64],
    ring_offsets: NDArray[np.int64],
    ring_part: NDArray[np.int64],
    count: int,
) -> Outlines:
    """Flatten the result of `PolygonStore.gather` for `count` items; all parts of an item form one polygon."""
    following = np.arange(1, len(vertices) + 1)
    following[ring_offsets[1:] - 1] = ring_offsets[:-1]
    start = ring_offsets[np.searchsorted(part_item[ring_part], np.arange(count + 1))]
    bounds = np.empty((count, 4))
    for p in range(count):
        own = vertices[start[p] : start[p + 1]]
        bounds[p, :2], bounds[p, 2:] = own.min(axis=0, initial=np.inf), own.max(axis=0, initial=-np.inf)
    return Outlines(vertices[:, 0].copy(), vertices[:, 1].copy(), following, start, bounds)


@leaf
def polygon_meets_box(shapes, p, x, y, c, s, half_length, half_width):
    """Whether polygon p meets a box; touching counts."""
    reach = half_length + half_width
    if (
        x + reach < shapes.bounds[p, 0]
        or x - reach > shapes.bounds[p, 2]
        or y + reach < shapes.bounds[p, 1]
        or y - reach > shapes.bounds[p, 3]
    ):
        return False
    odd = False
    for i in range(shapes.start[p], shapes.start[p + 1]):
        j = shapes.following[i]
        x1, y1, x2, y2 = shapes.x[i] - x, shapes.y[i] - y, shapes.x[j] - x, shapes.y[j] - y
        if segment_meets_box(
            x1 * c + y1 * s, y1 * c - x1 * s, x2 * c + y2 * s, y2 * c - x2 * s, half_length, half_width
        ):
            return True
        if (y1 > 0.0) != (y2 > 0.0) and (x1 * y2 - x2 * y1 > 0.0) == (y2 > y1):
            odd = not odd
    return odd


@leaf
def polygon_distance(shapes, p, x, y, c, s, half_length, half_width):
    """Distance [m] of polygon p from a box; 0 where they meet."""
    nearest = np.inf  # squared
    odd = False
    for i in range(shapes.start[p], shapes.start[p + 1]):
        j = shapes.following[i]
        dx1, dy1, dx2, dy2 = shapes.x[i] - x, shapes.y[i] - y, shapes.x[j] - x, shapes.y[j] - y
        if (dy1 > 0.0) != (dy2 > 0.0) and (dx1 * dy2 - dx2 * dy1 > 0.0) == (dy2 > dy1):
            odd = not odd
        x1, y1 = dx1 * c + dy1 * s, dy1 * c - dx1 * s
        x2, y2 = dx2 * c + dy2 * s, dy2 * c - dx2 * s
        across = max(min(x1, x2) - half_length, -half_length - max(x1, x2), 0.0)
        up = max(min(y1, y2) - half_width, -half_width - max(y1, y2), 0.0)
        if across * across + up * up >= nearest:
            continue
        if segment_meets_box(x1, y1, x2, y2, half_length, half_width):
            return 0.0
        nearest = min(nearest, _square_from_box(x1, y1, half_length, half_width))
        for corner in range(4):
            corner_x = half_length if corner < 2 else -half_length
            corner_y = half_width if corner % 2 else -half_width
            square, _ = segment_distance(x1, y1, x2, y2, corner_x, corner_y)
            nearest = min(nearest, square)
    return 0.0 if odd else np.sqrt(nearest)


@leaf
def box_distance(ax, ay, ac, as_, al, aw, bx, by, bc, bs, bl, bw):
    """Distance [m] of two boxes, from the corners of each to the other; 0 where they meet."""
    if boxes_meet(ax, ay, ac, as_, al, aw, bx, by, bc, bs, bl, bw):
        return 0.0
    nearest = np.inf
    for corner in range(4):
        forward, left = 1.0 if corner < 2 else -1.0, 1.0 if corner % 2 else -1.0
        x = bx - ax + forward * bl * bc - left * bw * bs
        y = by - ay + forward * bl * bs + left * bw * bc
        nearest = min(nearest, _square_from_box(x * ac + y * as_, y * ac - x * as_, al, aw))
        x = ax - bx + forward * al * ac - left * aw * as_
        y = ay - by + forward * al * as_ + left * aw * ac
        nearest = min(nearest, _square_from_box(x * bc + y * bs, y * bc - x * bs, bl, bw))
    return np.sqrt(nearest)


@inlined
def _square_from_box(x, y, half_length, half_width):
    across, up = max(abs(x) - half_length, 0.0), max(abs(y) - half_width, 0.0)
    return across * across + up * up
