"""The areas that metrics ask for one by one, of every step at once."""

from __future__ import annotations

import numpy as np

from world4scorer.engine.kernels import kernel
from world4scorer.engine.outcomes.area_grid import build_grid
from world4scorer.engine.outcomes.areas import covered, in_multiple_lanes, off_road
from world4scorer.engine.scene.packed import ROUTE


@kernel
def ego_areas(polygons, ego):
    """(N, T, 3) flags of every step: in several lanes, off the road, off the route."""
    out = np.empty((*ego.x.shape, 3), np.bool_)
    grid, corners = build_grid(polygons, ego), np.zeros(polygons.part.size, np.int64)
    for n in range(out.shape[0]):
        for t in range(out.shape[1]):
            out[n, t, 0] = in_multiple_lanes(grid, polygons, ego, n, t, corners)
            out[n, t, 1] = off_road(grid, polygons, ego, n, t) >= 0
            out[n, t, 2] = not covered(grid, polygons, ROUTE, ego.x[n, t], ego.y[n, t])
    return out
