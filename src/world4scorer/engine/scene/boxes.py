"""Intersection of boxes; touching counts."""

from __future__ import annotations

from world4scorer.engine.kernels import inlined


@inlined
def boxes_meet(ax, ay, ac, as_, al, aw, bx, by, bc, bs, bl, bw):
    """Whether box a meets box b: centre x, y, cosine and sine of the heading, half length, half width of each.

    Two convex shapes are apart if and only if the normal of some edge separates them; boxes have two normals each.
    """
    dx, dy = bx - ax, by - ay
    cosine = ac * bc + as_ * bs  # of the angle between the boxes
    sine = ac * bs - as_ * bc
    c, s = abs(cosine), abs(sine)
    apart = (
        abs(dx * ac + dy * as_) > al + bl * c + bw * s
        or abs(dy * ac - dx * as_) > aw + bl * s + bw * c
        or abs(dx * bc + dy * bs) > bl + al * c + aw * s
        or abs(dy * bc - dx * bs) > bw + al * s + aw * c
    )
    return not apart


@inlined
def segment_meets_box(x1, y1, x2, y2, half_length, half_width):
    """Whether a segment meets the axis-aligned box around the origin."""
    dx, dy = x2 - x1, y2 - y1
    apart = (
        min(x1, x2) > half_length
        or max(x1, x2) < -half_length
        or min(y1, y2) > half_width
        or max(y1, y2) < -half_width
        or abs(x1 * dy - y1 * dx) > half_length * abs(dy) + half_width * abs(dx)
    )
    return not apart
