"""The drivable area of the embedded city, from its own map."""

from __future__ import annotations

import numpy as np
import shapely

from world4scorer.datasets.navsim.city_map import CityMap
from world4scorer.driving.clips.drivable import DrivableGrid, GridPainter


def city_grid(city: CityMap, town: str) -> DrivableGrid:
    """Cells whose middle lies on a lane, in a junction or on a car park."""
    polygons = [polygon for polygon in city.area_polygons if not polygon.is_empty]
    corners = shapely.bounds(np.array(polygons, np.object_))
    painter = GridPainter(town, corners[:, :2].min(0), corners[:, 2:].max(0))
    for polygon, box in zip(polygons, corners, strict=True):
        columns, rows, cell_centres = painter.cell_centres(box[:2], box[2:])
        shapely.prepare(polygon)
        painter.cells[columns, rows] |= shapely.contains_xy(polygon, cell_centres[..., 0], cell_centres[..., 1])
    return painter.finish()
