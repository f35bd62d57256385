"""Routes: load, locate the ego, and correct.

Shapes: B blocks of a route, in driving order.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

import numpy as np
import shapely

from world4scorer.datasets.navsim.city_map import CityMap
from world4scorer.datasets.navsim.errors import DatasetError
from world4scorer.datasets.prepare.search import find_chain
from world4scorer.engine.scene.geometry import Floats, wrap

Route = tuple[int, ...]
"""Blocks in driving order."""

SEARCH_HALF_SIDE: Final = 1.0
"""Half side of the square in which the ego's block is searched [m]."""
MAX_HEADING_ERROR: Final = np.pi / 4
"""Maximum heading difference to a lane [rad]."""
MAX_LANE_OFFSET: Final = 3.0
"""Maximum distance from a lane's path [m]."""
MAX_BACKWARD_DEPTH: Final = 15
MAX_FORWARD_DEPTH: Final = 30
"""Blocks."""
FIRST_BLOCKS: Final = 3
"""First blocks of the route that a forward search may reach."""
MIN_LOOP_OVERLAP: Final = 1.0
"""Common area of two roadblock connectors that makes a loop [m^2]."""


@dataclass(frozen=True)
class EgoBlock:
    """The ego's block."""

    block: int
    candidates: frozenset[int]
    """All plausible blocks."""


def load_route(city: CityMap, roadblock_ids: Iterable[str], where: str) -> Route:
    """Blocks of the logged ids, the first occurrence of each; `where` names the frame in errors."""
    route = []
    for name in dict.fromkeys(roadblock_ids):
        block = city.block_index.get(name)
        if block is None:
            raise DatasetError(
                f"{where}: the route leads over block {name}, which the map of {city.location} does not hold; "
                "log and map do not belong together, or the map is incomplete"
            )
        route.append(block)
    if not route:
        raise DatasetError(f"{where}: the route is empty; filters with `has_route: true` leave such frames out")
    return tuple(route)


def route_lanes(city: CityMap, route: Route) -> tuple[int, ...]:
    """Lanes of a route, block by block, each once."""
    return tuple(dict.fromkeys(lane for block in route for lane in city.blocks[block].lanes))


def locate(city: CityMap, ego_pose: Floats, route: Route) -> EgoBlock:
    """Find the block of the ego (pose of the rear axle), preferring those of the route."""
    x, y, heading = (float(value) for value in ego_pose)
    blocks = [int(block) for block in city.near(city.block_tree, x, y, SEARCH_HALF_SIDE)]
    if not blocks:
        blocks = _nearest_blocks(city, x, y)
    on_route: list[tuple[float, int]] = []
    elsewhere: list[tuple[float, int]] = []
    nearest: list[tuple[float, int]] = []
    for block in blocks:
        offsets, headings = city.nearest_vertices(city.blocks[block].lanes, x, y)
        fits = (np.abs(wrap(headings - heading)) < MAX_HEADING_ERROR) & (offsets < MAX_LANE_OFFSET)
        (on_route if block in route else elsewhere).extend((float(offset), block) for offset in offsets[fits])
        nearest.append((float(offsets.min(initial=np.inf)), block))
    found = on_route or elsewhere or nearest
    if not found:
        raise DatasetError(f"the map of {city.location} has no roadblocks")
    best = min(found, key=lambda pair: pair[0])  # the first of equals
    return EgoBlock(best[1], frozenset(block for _, block in found))


def _nearest_blocks(city: CityMap, x: float, y: float) -> list[int]:
    """The nearest roadblock and the nearest roadblock connector."""
    distance = shapely.distance(city.block_polygons, shapely.Point(x, y))
    split = city.roadblock_count
    return [
        first + int(np.nanargmin(part))
        for first, part in ((0, distance[:split]), (split, distance[split:]))
        if not np.isnan(part).all()
    ]


def correct_route(city: CityMap, route: Route, ego: EgoBlock) -> Route:
    """Correct a route: connect it to the ego, close its gaps, cut it before loops."""
    return tuple(dict.fromkeys(_without_loop(city, _without_gaps(city, _from_ego(city, route, ego)))))


def _from_ego(city: CityMap, route: Route, ego: EgoBlock) -> Route:
    """Connect the ego to the route: by search back from its first block, else forward to its first blocks."""
    if ego.block in route:
        return route
    chain = find_chain(city, route[0], ego.candidates, MAX_BACKWARD_DEPTH, forward=False)
    if chain is not None:
        return chain[:-1] + route
    chain = find_chain(city, ego.block, route[:FIRST_BLOCKS], MAX_FORWARD_DEPTH, forward=True)
    if chain is not None:
        return chain + route[route.index(chain[-1]) + 1 :]
    return route


def _without_gaps(city: CityMap, route: Route) -> Route:
    mended = list(route[:1])
    for before, after in pairwise(route):
        if before not in city.blocks[after].incoming:
            chain = find_chain(city, before, (after,), MAX_FORWARD_DEPTH, forward=True)
            mended.extend(chain[1:-1] if chain is not None else ())
        mended.append(after)
    return tuple(mended)


def _without_loop(city: CityMap, route: Route) -> Route:
    """Cut before the first roadblock connector that overlaps an earlier one."""
    crossed: list[int] = []
    for position, block in enumerate(route):
        if not city.blocks[block].is_connector:
            continue
        polygon = city.block_polygons[block]
        earlier = city.block_polygons[crossed]
        if len(earlier) and (shapely.area(shapely.intersection(earlier, polygon)) > MIN_LOOP_OVERLAP).any():
            return route[:position]
        crossed.append(block)
    return route
