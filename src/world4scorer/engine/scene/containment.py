"""Whether a map polygon holds a point."""

from __future__ import annotations

from world4scorer.engine.kernels import leaf


@leaf
def inside(polygons, p, x, y, edges, start, end):
    """Whether a point lies strictly inside polygon p, judged by the edges that a horizontal line through it may meet.

    Edges come ring by ring; the point must be inside the shell and outside every hole. Where the shell has no edge
    to offer, the point is outside.
    """
    shell = polygons.ring[polygons.polygon_start[p]]
    if start == end or polygons.ring[edges[start]] != shell:
        return False
    ring = shell
    odd = False
    for e in range(start, end):
        i = edges[e]
        if polygons.ring[i] != ring:
            if odd != (ring == shell):
                return False
            ring = polygons.ring[i]
            odd = False
        j = polygons.following[i]
        x1, y1, x2, y2 = polygons.x[i], polygons.y[i], polygons.x[j], polygons.y[j]
        if (y1 > y) != (y2 > y):
            side = (x2 - x1) * (y - y1) - (x - x1) * (y2 - y1)
            if side == 0.0:
                return False
            if (side > 0.0) == (y2 > y1):
                odd = not odd
        elif y1 == y and (x1 == x or (y2 == y and min(x1, x2) <= x <= max(x1, x2))):
            return False
    return odd == (ring == shell)
