"""Free space for scenery: outside lanes, sidewalks, crossings, junctions and other houses."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import shapely
from numpy.typing import NDArray

from world4scorer.city.scenery.ground_plan import lane_outlines
from world4scorer.city.scenery.polyline import Line, parallel, tidy
from world4scorer.city.streets.street_map import Lane, LaneUse, StreetMap

BUCKET_SIZE: Final = 40.0
"""Side of the spatial index's cells [m]."""


class Clearance:
    """Traffic areas, and the houses placed so far."""

    def __init__(self, streets: StreetMap) -> None:
        outlines = lane_outlines(list(streets.lanes.values()))
        outlines += [junction.shape for junction in streets.junctions.values()]
        shapes = [shapely.make_valid(shapely.Polygon(outline)) for outline in outlines if len(outline) >= 3]
        self.traffic = shapely.STRtree(shapes)
        wheels = (LaneUse.DRIVE, LaneUse.SERVICE, LaneUse.BICYCLE, LaneUse.RAIL)
        ways = lane_outlines([lane for lane in streets.lanes.values() if lane.use in wheels])
        self.wheels = shapely.STRtree([shapely.make_valid(shapely.Polygon(way)) for way in ways])
        self.houses: list[Any] = []
        self._tree: tuple[int, Any] | None = None
        self._buckets: dict[tuple[int, int], list[int]] = defaultdict(list)

    def far_from_traffic(self, points: NDArray[np.float64], distance: float) -> NDArray[np.bool_]:
        """(n,) which points (n, 2) keep a distance [m] from all lanes and junctions."""
        free = np.ones(len(points), bool)
        if len(points):
            free[self.traffic.query(shapely.points(points), predicate="dwithin", distance=distance)[0]] = False
        return free

    def far_from_wheels(self, points: NDArray[np.float64], distance: float) -> NDArray[np.bool_]:
        """(n,) which points (n, 2) keep a distance [m] from lanes of vehicles; sidewalks are allowed."""
        free = np.ones(len(points), bool)
        free[self.wheels.query(shapely.points(points), predicate="dwithin", distance=distance)[0]] = False
        return free

    def far_from_houses(self, points: NDArray[np.float64], distance: float) -> NDArray[np.bool_]:
        """(n,) which points (n, 2) keep a distance [m] from all houses."""
        free = np.ones(len(points), bool)
        if self._tree is None or self._tree[0] != len(self.houses):
            self._tree = (len(self.houses), shapely.STRtree(self.houses))
        if len(points) and self.houses:
            free[self._tree[1].query(shapely.points(points), predicate="dwithin", distance=distance)[0]] = False
        return free

    def claim(self, outline: Line, margin: float) -> bool:
        """Place a house if it keeps `margin` [m] from traffic and overlaps no other house."""
        shape = shapely.Polygon(outline)
        if len(self.traffic.query(shape, predicate="dwithin", distance=margin)):
            return False
        core = shape.buffer(-0.05)
        buckets = list(self._touched(shape.bounds))
        for k in {k for bucket in buckets for k in self._buckets[bucket]}:
            if self.houses[k].intersects(core):
                return False
        for bucket in buckets:
            self._buckets[bucket].append(len(self.houses))
        self.houses.append(shape)
        return True

    @staticmethod
    def _touched(bounds: tuple[float, float, float, float]) -> Iterable[tuple[int, int]]:
        x0, y0, x1, y1 = (int(np.floor(b / BUCKET_SIZE)) for b in bounds)
        return ((i, j) for i in range(x0, x1 + 1) for j in range(y0, y1 + 1))


@dataclass(frozen=True, eq=False)
class Roadside:
    """One side of a street section."""

    border: Line
    """(n, 2) outer edge of the outermost lane or sidewalk, with the street on its left."""
    big: bool
    """A main street: several lanes or a speed limit above 30 km/h."""


def roadsides(streets: StreetMap) -> list[Roadside]:
    """Both sides of every street for cars, in the order of the map."""
    edges: dict[str, list[Lane]] = defaultdict(list)
    for lane in streets.lanes.values():
        if not lane.internal and lane.use not in (LaneUse.CROSSING, LaneUse.WALKING_AREA, LaneUse.RAIL):
            edges[lane.edge].append(lane)
    sides = []
    for lanes in edges.values():
        cars = [lane for lane in lanes if lane.use is LaneUse.DRIVE]
        if not cars:
            continue
        big = len(cars) > 1 or max(lane.speed for lane in cars) > 9
        right, left = min(lanes, key=lambda lane: lane.index), max(lanes, key=lambda lane: lane.index)
        sides.append(Roadside(parallel(tidy(right.shape), -right.width / 2), big))
        sides.append(Roadside(parallel(tidy(left.shape), left.width / 2)[::-1].copy(), big))
    return sides
