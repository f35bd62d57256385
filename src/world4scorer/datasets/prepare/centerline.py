"""The centreline: the shortest chain of lanes from the starting lane to the end of the route."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from world4scorer.datasets.navsim.city_map import CityMap
from world4scorer.datasets.prepare.route import Route

MAX_BLOCKS: Final = 30
"""Maximum number of route blocks that are searched, from the starting lane's on."""
FIRST_COST: Final = 1.0
"""Cost of the starting lane; entering any other costs its length [m]."""


def find_lanes(city: CityMap, start: int, route: Route, route_lanes: tuple[int, ...]) -> tuple[int, ...]:
    """Lanes from `start` to the last block of the route by Dijkstra's search.

    Where no lane of that block can be reached, the chain ends at the cheapest of the deepest lanes.
    """
    block = city.lanes[start].block
    first = route.index(block) if block in route else 0
    goal = route[first : first + MAX_BLOCKS][-1]
    allowed = set(route_lanes)
    before: dict[int, int] = {}
    waiting: list[tuple[float, int, int]] = [(FIRST_COST, start, 1)]  # cost, lane, depth; in order of arrival
    done: dict[int, tuple[int, float]] = {}
    end = None
    while waiting:
        cheapest = min(range(len(waiting)), key=lambda k: waiting[k][0])  # the first of equals
        cost, lane, depth = waiting.pop(cheapest)
        if city.lanes[lane].block == goal:
            end = lane
            break
        done[lane] = (-depth, cost)
        for following in city.lanes[lane].outgoing:
            if following not in allowed:
                continue
            total = cost + city.lanes[following].length
            index = next((k for k, entry in enumerate(waiting) if entry[1] == following), None)
            if index is None and following not in done:
                before[following] = lane
                waiting.append((total, following, depth + 1))
            elif index is not None and total < waiting[index][0]:
                before[following] = lane
                waiting[index] = (total, following, depth + 1)
    if end is None:
        end = min(done, key=lambda lane: done[lane])
    chain = [end]
    while chain[-1] in before:
        chain.append(before[chain[-1]])
    return tuple(reversed(chain))


def centerline(city: CityMap, lanes: tuple[int, ...]) -> NDArray[np.float64]:
    """(C, 3) x, y [m], heading [rad] of the lanes' path vertices; where lanes join, a vertex appears twice."""
    return np.concatenate([city.lanes[lane].path for lane in lanes])
