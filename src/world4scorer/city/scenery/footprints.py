"""Footprints of static obstacles beside the streets."""

from __future__ import annotations

from typing import Final

import numpy as np
import shapely

from world4scorer.city.scenery.scenery_builder import SceneryArrays

BUMPER_HEIGHTS: Final = (0.2, 1.2)
"""Heights between which a car hits obstacles [m]."""


def footprints(scenery: SceneryArrays) -> shapely.STRtree:
    """Outlines of all triangles at bumper height: houses, trunks, posts, hedges."""
    rows, columns = np.nonzero(scenery.cells >= 0)
    centre = np.zeros((len(scenery.span), 2))
    centre[scenery.cells[rows, columns]] = scenery.corner + (np.stack([columns, rows], 1) + 0.5) * scenery.cell
    counts = scenery.span[:, 3] - scenery.span[:, 0]
    corners = scenery.corners.astype(np.float64)
    corners[..., :2] += np.repeat(centre, counts, axis=0)[:, None]
    height = corners[..., 2]
    low = (height.min(1) < BUMPER_HEIGHTS[1]) & (height.max(1) > BUMPER_HEIGHTS[0])
    outline = corners[low][..., :2]
    closed = np.concatenate([outline, outline[:, :1]], axis=1)
    return shapely.STRtree(shapely.linestrings(closed))
