"""Outline of a polyline widened to both sides: flat ends, round joins of 16 segments per quarter turn.

The official traffic measures gaps between such shapes as GEOS makes them (`buffer`), and its corners are not those of
a circle: on the outside of a turn the outline has the end of one offset segment, points of the arc every 5.6 degrees
(none below 8.4), and the start of the next; on the inside it has the intersection of the two offset segments, or,
where one is too short for that, a closing detour close to the vertex. Inner vertices very close to their neighbours
are left out first. These are the rules of GEOS 3.11, written down again.

Shapes: a line is (2, K): x, y; an outline is a closed ring (2, R) without repetition of its first point.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from world4scorer.engine.kernels import inlined, leaf
from world4scorer.engine.rollout.angles import sine_cosine

ARC_STEP: Final = np.pi / 2 / 16
"""Angle between points of an arc [rad]."""
JOIN_SHARE: Final = 1e-3
"""Share of the half width below which the ends of two offset segments count as one point."""
CLOSING_FACTOR: Final = 80.0
"""Weight of an offset point against the vertex in the closing detour."""
SIMPLIFY_SHARE: Final = 0.01
"""Share of the half width within which inner vertices are left out."""
REPEAT_SHARE: Final = 1e-6
"""Share of the half width below which a point repeats the one before."""

ARC_COSINES: Final = np.cos(ARC_STEP * np.arange(33))
ARC_SINES: Final = np.sin(ARC_STEP * np.arange(33))


@leaf
def outline(line, count, half_width, kept, ring):
    """Fill `ring` (2, R) with the outline of the first `count` points of `line` and return its size.

    `kept` (2, K) is scratch. R must allow for eight points and one per `ARC_STEP` of turning at each vertex.
    """
    size = 0
    tolerance = SIMPLIFY_SHARE * half_width
    for side in range(2):
        left = side == 0
        points = _simplified(line, count, tolerance, left, kept)
        step = 1 if left else -1  # the right side is walked backwards, so that it lies to the left
        a = 0 if left else points - 1
        ox, oy = _offset(kept, a, a + step, half_width)
        size = _add(ring, size, kept[0, a] + ox, kept[1, a] + oy, half_width)
        for _ in range(points - 2):
            next_x, next_y = _offset(kept, a + step, a + 2 * step, half_width)
            size = _corner(kept, a, a + step, a + 2 * step, ox, oy, next_x, next_y, half_width, ring, size)
            ox, oy = next_x, next_y
            a += step
        size = _add(ring, size, kept[0, a + step] + ox, kept[1, a + step] + oy, half_width)
    return size


@leaf
def _simplified(line, count, tolerance, left, kept):
    """Copy `line` to `kept` without the inner vertices that GEOS leaves out on this side; returns their number.

    A vertex may go if the line bends to this side there and its predecessor is nearer than the tolerance. The first two
    vertices and the last one stay.
    """
    size = count
    for i in range(count):
        kept[0, i], kept[1, i] = line[0, i], line[1, i]
    shortest = np.inf
    for i in range(1, count - 2):
        dx, dy = line[0, i + 1] - line[0, i], line[1, i + 1] - line[1, i]
        shortest = min(shortest, dx * dx + dy * dy)
    if not shortest < tolerance * tolerance:
        return size
    changed = True
    while changed:
        changed = False
        i = 1
        while i + 2 < size:
            x0, y0, x1, y1 = kept[0, i], kept[1, i], kept[0, i + 1], kept[1, i + 1]
            x2, y2 = kept[0, i + 2], kept[1, i + 2]
            turn = (x1 - x0) * (y2 - y1) - (y1 - y0) * (x2 - x1)
            near = (x1 - x0) * (x1 - x0) + (y1 - y0) * (y1 - y0) < tolerance * tolerance
            if near and (turn > 0.0 if left else turn < 0.0):
                for k in range(i + 1, size - 1):
                    kept[0, k], kept[1, k] = kept[0, k + 1], kept[1, k + 1]
                size -= 1
                changed = True
            i += 1
    return size


@inlined
def _add(ring, size, x, y, half_width):
    """Append a point, unless it repeats the last one; returns the new size."""
    repeated = False
    if size > 0:
        dx, dy = x - ring[0, size - 1], y - ring[1, size - 1]
        repeated = dx * dx + dy * dy < (REPEAT_SHARE * half_width) ** 2
    if not repeated:
        ring[0, size], ring[1, size] = x, y
    return size if repeated else size + 1


@inlined
def _offset(points, a, b, half_width):
    """Vector from the segment a-b to its offset segment on the left."""
    dx, dy = points[0, b] - points[0, a], points[1, b] - points[1, a]
    length = np.sqrt(dx * dx + dy * dy)
    return -dy / length * half_width, dx / length * half_width


@leaf
def _corner(points, a, b, c, ox0, oy0, ox1, oy1, half_width, ring, size):
    """Append the left side's outline at vertex b between a and c, with the offsets of both segments.

    Returns the new size.
    """
    x, y = points[0, b], points[1, b]
    turn = (x - points[0, a]) * (points[1, c] - y) - (y - points[1, a]) * (points[0, c] - x)
    if turn == 0.0:
        return size
    dx, dy = ox1 - ox0, oy1 - oy0
    close = dx * dx + dy * dy < (JOIN_SHARE * half_width) ** 2
    if turn > 0.0:
        return _inner_corner(points, a, b, c, ox0, oy0, ox1, oy1, close, half_width, ring, size)
    size = _add(ring, size, x + ox0, y + oy0, half_width)
    if close:
        return size
    cosine = (ox0 * ox1 + oy0 * oy1) / (half_width * half_width)
    sine = (oy0 * ox1 - ox0 * oy1) / (half_width * half_width)
    angle = _angle(cosine, sine)
    steps = int(angle / ARC_STEP + 0.5)
    for i in range(1, steps):
        s, c_ = sine_cosine(angle * i / steps)
        size = _add(ring, size, x + ox0 * c_ + oy0 * s, y + oy0 * c_ - ox0 * s, half_width)
    return _add(ring, size, x + ox1, y + oy1, half_width)


@leaf
def _inner_corner(points, a, b, c, ox0, oy0, ox1, oy1, close, half_width, ring, size):
    """The same on the inside of a turn: where the offset segments meet, or a detour close to the vertex."""
    x, y = points[0, b], points[1, b]
    ux, uy = points[0, a] - x, points[1, a] - y  # back along the first segment
    vx, vy = points[0, c] - x, points[1, c] - y  # on along the second
    # Where (ox0, oy0) + s u = (ox1, oy1) + t v; the offset segments are as long as the segments themselves.
    across = ux * vy - uy * vx
    gap_x, gap_y = ox1 - ox0, oy1 - oy0
    s = (gap_x * vy - gap_y * vx) / across
    t = (gap_x * uy - gap_y * ux) / across
    if 0.0 <= s <= 1.0 and 0.0 <= t <= 1.0:
        return _add(ring, size, x + ox0 + s * ux, y + oy0 + s * uy, half_width)
    size = _add(ring, size, x + ox0, y + oy0, half_width)
    if close:
        return size
    share = CLOSING_FACTOR / (CLOSING_FACTOR + 1.0)
    size = _add(ring, size, x + share * ox0, y + share * oy0, half_width)
    size = _add(ring, size, x + share * ox1, y + share * oy1, half_width)
    return _add(ring, size, x + ox1, y + oy1, half_width)


@leaf
def _angle(cosine, sine):
    """The angle in [0, pi] with this cosine and this sine, from plain arithmetic."""
    nearest = 0
    while nearest < 32 and cosine < 0.5 * (ARC_COSINES[nearest] + ARC_COSINES[nearest + 1]):
        nearest += 1
    rest = sine * ARC_COSINES[nearest] - cosine * ARC_SINES[nearest]
    z = rest * rest
    series = 1.0 + z * (1.0 / 6.0 + z * (3.0 / 40.0 + z * (15.0 / 336.0 + z * (105.0 / 3456.0))))
    return nearest * ARC_STEP + rest * series
