"""Map areas under the ego: off-road, multiple lanes, off the route, intersection."""

from __future__ import annotations

import numpy as np

from world4scorer.engine.kernels import leaf
from world4scorer.engine.outcomes.area_grid import CROSSED_SHIFT
from world4scorer.engine.outcomes.ego import corner
from world4scorer.engine.scene.containment import inside
from world4scorer.engine.scene.packed import DRIVABLE, LANE


@leaf
def covered(grid, polygons, part, x, y):
    """Whether a point lies strictly inside a polygon of this part."""
    column, row = int(np.floor((x - grid.x0) * grid.scale)), int(np.floor((y - grid.y0) * grid.scale))
    if column < 0 or row < 0 or column >= grid.columns or row >= grid.rows:
        return False
    index = row * grid.columns + column
    flags = grid.flags[index]
    if flags & part:
        return True
    if not (flags >> CROSSED_SHIFT) & part:
        return False
    for k in range(grid.entry_start[index], grid.entry_start[index + 1]):
        p = grid.entries[k] >> 1
        if polygons.part[p] & part:
            band = grid.band_first[p] + row
            if inside(polygons, p, x, y, grid.band_edges, grid.band_start[band], grid.band_start[band + 1]):
                return True
    return False


@leaf
def off_road(grid, polygons, ego, n, t):
    """The first corner of the ego that lies in no drivable polygon, or -1."""
    for which in range(4):
        x, y = corner(ego, n, t, which)
        if not covered(grid, polygons, DRIVABLE, x, y):
            return which
    return -1


@leaf
def in_multiple_lanes(grid, polygons, ego, n, t, corners):
    """Whether the ego's corners lie in more than one lane and no lane holds all four.

    `corners` (P,) is scratch: zero on entry and on return.
    """
    lanes, whole = 0, False
    for clearing in range(2):
        for which in range(4):
            x, y = corner(ego, n, t, which)
            column, row = int(np.floor((x - grid.x0) * grid.scale)), int(np.floor((y - grid.y0) * grid.scale))
            if column < 0 or row < 0 or column >= grid.columns or row >= grid.rows:
                continue
            index = row * grid.columns + column
            for k in range(grid.entry_start[index], grid.entry_start[index + 1]):
                p = grid.entries[k] >> 1
                if not polygons.part[p] & LANE:
                    continue
                if clearing:
                    corners[p] = 0
                    continue
                if not grid.entries[k] & 1:
                    band = grid.band_first[p] + row
                    start, end = grid.band_start[band], grid.band_start[band + 1]
                    if not inside(polygons, p, x, y, grid.band_edges, start, end):
                        continue
                lanes += corners[p] == 0
                corners[p] += 1
                whole |= corners[p] == 4
    return lanes > 1 and not whole
