"""Drivable map around the ego: areas within a square of 200 m.

Order: roadblocks, their lanes, the lane connectors of the roadblock connectors, intersections, car parks; each in
table order. A lane comes in with its roadblock, even where it lies outside the square.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import chain
from typing import Final

import numpy as np
import shapely
from numpy.typing import NDArray

from world4scorer.datasets.navsim.city_map import NODE_CAPACITY, CityMap
from world4scorer.engine.scene.indices import Layer
from world4scorer.engine.scene.map import PolygonMap

MAP_HALF_SIDE: Final = 100.0
"""m"""
NO_AREAS: Final = np.zeros(0, np.int64)


@dataclass(frozen=True, eq=False)
class DrivableMap:
    """The areas around the ego."""

    areas: NDArray[np.int64]
    """(P,) indices into `CityMap.areas`, where lanes come first."""
    polygons: PolygonMap
    """The same areas, then the additional signal areas, then those far from the ego."""
    area: NDArray[np.int64]
    """(polygons,) the area of each polygon; an area of several parts has several polygons."""
    polygon_index: dict[int, int]
    """The (first) polygon of each area."""


def find_areas(city: CityMap, x: float, y: float) -> NDArray[np.int64]:
    """(P,) areas around the ego's box centre, as indices into `CityMap.areas`."""
    near = city.near(city.block_tree, x, y, MAP_HALF_SIDE)
    roadblocks = near[near < city.roadblock_count]
    lanes = np.fromiter(chain.from_iterable(city.blocks[block].lanes for block in near), np.int64)
    return np.concatenate(
        [
            roadblocks + city.first_block_area,
            lanes,
            city.near(city.intersection_tree, x, y, MAP_HALF_SIDE) + city.first_intersection_area,
            city.near(city.carpark_tree, x, y, MAP_HALF_SIDE) + city.first_carpark_area,
        ]
    )


def areas_at(city: CityMap, areas: NDArray[np.int64], x: float, y: float) -> NDArray[np.int64]:
    """The areas that contain or touch a point, in the order of the official index."""
    tree = shapely.STRtree(city.area_polygons[areas], NODE_CAPACITY)
    found: NDArray[np.int64] = tree.query(shapely.Point(x, y), predicate="intersects")
    return areas[found]


def cut_map(
    city: CityMap, areas: NDArray[np.int64], signals: Iterable[int], far: NDArray[np.int64] = NO_AREAS
) -> DrivableMap:
    """Copy the areas (P,) from the city map, and add missing lanes `signals` that traffic lights close.

    Lanes and intersections `far` from the ego, under vehicles beyond the map, come last.
    """
    known = set(areas.tolist())
    extra = np.array([lane for lane in signals if lane not in known], np.int64)
    items = np.concatenate([areas, extra, far])
    part_item, vertices, ring_offsets, ring_part = city.areas.gather(items)
    layers = city.area_layers[items]
    layers[len(areas) :] = Layer.SIGNAL_AREA
    layers[len(areas) + len(extra) :] = np.where(far < len(city.lanes), Layer.FAR_LANE, Layer.FAR_INTERSECTION)
    polygons = PolygonMap(
        ids=tuple(city.area_ids[items[part_item]]),
        layer=layers[part_item],
        vertices=vertices,
        ring_offsets=ring_offsets,
        ring_polygon=ring_part,
    )
    area = items[part_item]
    return DrivableMap(areas, polygons, area, {int(area[p]): p for p in range(len(area) - 1, -1, -1)})
