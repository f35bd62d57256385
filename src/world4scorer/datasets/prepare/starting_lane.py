"""The lane of the route on which the ego starts."""

from __future__ import annotations

import numpy as np
import shapely
from numpy.typing import NDArray

from world4scorer.datasets.navsim.city_map import CityMap
from world4scorer.datasets.pdm_closed.ego_box import box_centre, box_polygon
from world4scorer.datasets.prepare.drivable import areas_at
from world4scorer.engine.scene.geometry import Floats, wrap


def starting_lane(city: CityMap, areas: NDArray[np.int64], route_lanes: tuple[int, ...], ego_pose: Floats) -> int:
    """The route's lane under the rear axle with the nearest heading, else the nearest lane.

    `areas` (P,) are those of the drivable map. Off the route, the first lane that holds the box centre wins, else the
    one nearest to the footprint.
    """
    x, y, heading = (float(value) for value in ego_pose)
    on_route = set(route_lanes)
    under = [int(area) for area in areas_at(city, areas, x, y) if int(area) in on_route]
    if under:
        _, headings = city.nearest_vertices(under, x, y)
        return under[int(np.argmin(np.abs(wrap(headings - heading))))]
    polygons = city.lane_polygons[list(route_lanes)]
    holding = shapely.contains_xy(polygons, *box_centre(ego_pose))
    if holding.any():
        return route_lanes[int(np.argmax(holding))]
    distance = shapely.distance(polygons, box_polygon(ego_pose))
    return route_lanes[int(np.argmin(np.where(np.isnan(distance), np.inf, distance)))]
