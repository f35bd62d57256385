"""Closed rings of points: whether two meet, and how far apart they are. Touching counts as meeting.

Shapes: a ring is (2, R): x, y, of which the first `size` points count; bounds are (4,): lowest x, lowest y, highest x,
highest y.
"""

from __future__ import annotations

import numpy as np

from world4scorer.engine.kernels import inlined, leaf
from world4scorer.engine.scene.segments import segment_distance


@leaf
def extend_bounds(ring, size, bounds):
    """Widen `bounds` (4,) so that they hold the ring."""
    for i in range(size):
        bounds[0], bounds[1] = min(bounds[0], ring[0, i]), min(bounds[1], ring[1, i])
        bounds[2], bounds[3] = max(bounds[2], ring[0, i]), max(bounds[3], ring[1, i])


@inlined
def bounds_apart(one, other):
    """Whether two bounds have no point in common."""
    return one[0] > other[2] or other[0] > one[2] or one[1] > other[3] or other[1] > one[3]


@inlined
def bounds_distance(one, other):
    """Distance between two bounds."""
    dx = max(one[0] - other[2], other[0] - one[2], 0.0)
    dy = max(one[1] - other[3], other[1] - one[3], 0.0)
    return np.sqrt(dx * dx + dy * dy)


@leaf
def contains(ring, size, x, y):
    """Whether a point lies inside a ring, by the winding number, which overlapping bends do not mislead."""
    winding = 0
    for i in range(size):
        j = i + 1 if i + 1 < size else 0
        x1, y1, x2, y2 = ring[0, i], ring[1, i], ring[0, j], ring[1, j]
        if (y1 > y) != (y2 > y):
            side = (x2 - x1) * (y - y1) - (x - x1) * (y2 - y1)
            if (side > 0.0) == (y2 > y1):
                winding += 1 if y2 > y1 else -1
    return winding != 0


@inlined
def _segments_meet(ax, ay, bx, by, cx, cy, dx, dy):
    """Whether segment a-b meets segment c-d, whose bounds overlap."""
    c_side = (bx - ax) * (cy - ay) - (by - ay) * (cx - ax)
    d_side = (bx - ax) * (dy - ay) - (by - ay) * (dx - ax)
    a_side = (dx - cx) * (ay - cy) - (dy - cy) * (ax - cx)
    b_side = (dx - cx) * (by - cy) - (dy - cy) * (bx - cx)
    return not (
        (c_side > 0.0 and d_side > 0.0)
        or (c_side < 0.0 and d_side < 0.0)
        or (a_side > 0.0 and b_side > 0.0)
        or (a_side < 0.0 and b_side < 0.0)
    )


@leaf
def rings_meet(one, one_size, other, other_size, other_bounds):
    """Whether two rings, taken as areas, have a point in common; `other_bounds` (4,) hold the other one."""
    left, low, right, high = other_bounds[0], other_bounds[1], other_bounds[2], other_bounds[3]
    for i in range(one_size):
        j = i + 1 if i + 1 < one_size else 0
        ax, ay, bx, by = one[0, i], one[1, i], one[0, j], one[1, j]
        if max(ax, bx) < left or min(ax, bx) > right or max(ay, by) < low or min(ay, by) > high:
            continue
        for k in range(other_size):
            m = k + 1 if k + 1 < other_size else 0
            cx, cy, dx, dy = other[0, k], other[1, k], other[0, m], other[1, m]
            if max(ax, bx) < min(cx, dx) or min(ax, bx) > max(cx, dx):
                continue
            if max(ay, by) < min(cy, dy) or min(ay, by) > max(cy, dy):
                continue
            if _segments_meet(ax, ay, bx, by, cx, cy, dx, dy):
                return True
    return contains(one, one_size, other[0, 0], other[1, 0]) or contains(other, other_size, one[0, 0], one[1, 0])


@leaf
def nearest_square(one, one_size, other, other_size, best):
    """Squared distance [m^2] between the edges of two rings that do not meet, if below `best`, else `best`."""
    for i in range(one_size):
        j = i + 1 if i + 1 < one_size else 0
        for k in range(other_size):
            square, _ = segment_distance(one[0, i], one[1, i], one[0, j], one[1, j], other[0, k], other[1, k])
            best = min(best, square)
    for k in range(other_size):
        m = k + 1 if k + 1 < other_size else 0
        for i in range(one_size):
            square, _ = segment_distance(other[0, k], other[1, k], other[0, m], other[1, m], one[0, i], one[1, i])
            best = min(best, square)
    return best
