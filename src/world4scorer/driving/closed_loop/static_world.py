"""Static world for infraction checks: drivable lanes, stop lines with signals, static obstacles.

Coordinates are those of the street map.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
import shapely
from numpy.typing import NDArray

from world4scorer.city.scenery.footprints import footprints
from world4scorer.city.scenery.ground_plan import lane_outlines
from world4scorer.city.scenery.scenery import Scenery
from world4scorer.city.streets.map_index import RED_STATES
from world4scorer.city.streets.street_map import LaneUse, SignalLink, StreetMap
from world4scorer.engine.scene.geometry import box_corners, direction
from world4scorer.engine.scene.vehicle import FRONT_OVERHANG, HALF_WIDTH, REAR_OVERHANG

DRIVABLE_USES: Final = (LaneUse.DRIVE, LaneUse.SERVICE)
"""Lane uses that count as drivable."""

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class StopLines:
    """Ends of signalised lanes."""

    point: Floats
    """(K, 2) middle of each line."""
    ahead: Floats
    """(K, 2) unit vectors across it."""
    half_width: Floats
    """(K,) m"""
    edge: tuple[str, ...]
    """Edges of the lanes that end there, K of them."""
    links: tuple[Mapping[str, SignalLink], ...]
    """Signal links by the edge that follows, K times."""

    def crossed(self, before: Floats, now: Floats) -> NDArray[np.int64]:
        """Indices of lines that a bumper crosses between two points (2,)."""
        was, is_ = (((place - self.point) * self.ahead).sum(1) for place in (before, now))
        left = np.column_stack([-self.ahead[:, 1], self.ahead[:, 0]])
        aside = np.abs(((now - self.point) * left).sum(1))
        return np.flatnonzero((was < 0) & (is_ >= 0) & (aside <= self.half_width))

    def red(self, line: int, route: tuple[str, ...], signals: Mapping[str, str]) -> bool:
        """Whether a line is red for a route; off the route, whether all its signals are red."""
        links, edge = self.links[line], self.edge[line]
        onward = route[route.index(edge) + 1] if edge in route[:-1] else ""
        asked = [links[onward]] if onward in links else list(links.values())
        return all(signals[link.signal][link.index] in RED_STATES for link in asked)


class StaticWorld:
    """Lanes, junctions, stop lines and static obstacles of a place."""

    def __init__(self, streets: StreetMap, seed: int) -> None:
        """`seed` is the seed of the city's scenery."""
        lanes = [lane for lane in streets.lanes.values() if lane.use in DRIVABLE_USES]
        self.offset: Floats = np.asarray(streets.offset, np.float64)
        """(2,) added to street-map coordinates gives global ones [m]."""
        outlines, of_lane = [], []
        for row, lane in enumerate(lanes):
            found = lane_outlines([lane])
            outlines += found
            of_lane += [row] * len(found)
        junctions = [junction.shape for junction in streets.junctions.values() if len(junction.shape) >= 3]
        self._lanes = shapely.STRtree([_polygon(outline) for outline in outlines])
        self._of_lane = of_lane
        self._one_way = [not lane.internal and lane.use is LaneUse.DRIVE for lane in lanes]
        self._shapes = [lane.shape for lane in lanes]
        self._junctions = shapely.STRtree([_polygon(shape) for shape in junctions])
        self._standing = footprints(Scenery.build(streets, seed).arrays)
        self.stop_lines: StopLines = _stop_lines(streets)

    def outside(self, place: Floats, heading: float) -> bool:
        """Whether a car centred at `place` (2,) is on no lane or only on oncoming lanes."""
        point = shapely.points(place)
        if len(self._junctions.query(point, predicate="intersects")):
            return False
        rows = {self._of_lane[found] for found in self._lanes.query(point, predicate="intersects")}
        forward = direction(heading)
        return not any(not self._one_way[row] or _direction(self._shapes[row], place) @ forward > 0 for row in rows)

    def collides(self, corners: Floats) -> bool:
        """Whether a box with corners (4, 2) touches a static obstacle."""
        return bool(len(self._standing.query(shapely.polygons(corners), predicate="intersects")))


def ego_corners(pose: Floats) -> Floats:
    """(4, 2) corners of the ego's box, its rear axle at a pose (3,)."""
    return box_corners(pose, FRONT_OVERHANG, REAR_OVERHANG, HALF_WIDTH)


def _polygon(outline: Floats) -> shapely.Geometry:
    return shapely.make_valid(shapely.Polygon(outline))


def _direction(shape: Floats, place: Floats) -> Floats:
    """(2,) direction of the centreline at its point nearest to `place` (2,)."""
    step = np.diff(shape, axis=0)
    share = np.clip(((place - shape[:-1]) * step).sum(1) / np.maximum((step**2).sum(1), 1e-12), 0.0, 1.0)
    nearest = int(np.argmin(np.linalg.norm(shape[:-1] + share[:, None] * step - place, axis=1)))
    return np.asarray(step[nearest])


def _stop_lines(streets: StreetMap) -> StopLines:
    found: dict[str, dict[str, SignalLink]] = {}
    for way in streets.connections:
        if way.link is not None and way.use is LaneUse.DRIVE:
            found.setdefault(way.from_lane, {})[streets.lanes[way.to_lane].edge] = way.link
    lanes = [streets.lanes[name] for name in found]
    step = np.array([lane.shape[-1] - lane.shape[-2] for lane in lanes]).reshape(-1, 2)
    return StopLines(
        point=np.array([lane.shape[-1] for lane in lanes]).reshape(-1, 2),
        ahead=step / np.linalg.norm(step, axis=1, keepdims=True),
        half_width=np.array([lane.width / 2 for lane in lanes]),
        edge=tuple(lane.edge for lane in lanes),
        links=tuple(found.values()),
    )
