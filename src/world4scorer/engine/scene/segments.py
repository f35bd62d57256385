"""Distance of a point from a segment."""

from __future__ import annotations

from world4scorer.engine.kernels import inlined


@inlined
def segment_distance(x1, y1, x2, y2, x, y):
    """Squared distance [m^2] of a point from a segment, and the fraction of the segment up to its nearest point."""
    dx, dy = x2 - x1, y2 - y1
    square = dx * dx + dy * dy
    share = ((x - x1) * dx + (y - y1) * dy) / square if square > 0.0 else 0.0
    share = min(max(share, 0.0), 1.0)
    across, up = x - (x1 + share * dx), y - (y1 + share * dy)
    return across * across + up * up, share
