"""Traffic demand: random trips of vehicles, bicycles and pedestrians around a place.

Written as a SUMO route file. Vehicles start anywhere on the streets in the first seconds, so that the place fills
quickly, and then arrive at the rate at which they leave.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from xml.sax.saxutils import quoteattr

import numpy as np
from numpy.typing import NDArray

from world4scorer.city.streets.errors import CityError
from world4scorer.city.streets.places import Place
from world4scorer.city.streets.street_map import LaneUse, StreetMap
from world4scorer.city.world.vehicles import BICYCLE_SPEED, VEHICLE_TYPES, VehicleType
from world4scorer.jobs.files import atomic_write

AREA_MARGIN: Final = 160.0
"""Trips start and end at most this far from the place [m]."""
FILL_TIME: Final = 25.0
"""Time in which the first vehicles depart [s]."""
WALK_TIME: Final = 180.0
"""Typical duration of a walk; sets the arrival rate [s]."""
BORDER_WEIGHT: Final = 5.0
"""Weight of streets at the border of the network, which carry through traffic."""
MIN_TRIP_DISTANCE: Final = 300.0
"""Minimum beeline [m], or half of the place if that is less."""
WALK_DISTANCES: Final = (40.0, 260.0)
"""Minimum and maximum beeline of walks [m]."""


@dataclass(frozen=True, eq=False)
class TripEnds:
    """Edges on which trips of one kind may start and end."""

    edges: Sequence[str]
    middle: NDArray[np.float64]
    """(n, 2) midpoints [m]."""
    weight: NDArray[np.float64]
    """(n,) sums to one."""


def write_demand(streets: StreetMap, place: Place, seed: int, duration: float, path: str | os.PathLike[str]) -> Path:
    """Write the trips of `duration` seconds to a route file, atomically."""
    path = Path(path)
    with atomic_write(path) as stream:
        stream.write(demand_text(streets, place, seed, duration).encode())
    return path


def demand_text(streets: StreetMap, place: Place, seed: int, duration: float) -> str:
    """The route file of a place; determined by the seed."""
    random = np.random.default_rng([seed, 1])
    lines = [_type_line(kind) for kind in VEHICLE_TYPES.values()]
    driving = _ends(streets, place, LaneUse.DRIVE)
    reachable = _Reachable(streets)
    motor = [kind for kind in VEHICLE_TYPES.values() if kind.share > 0]
    shares = np.array([kind.share for kind in motor])
    trips: list[tuple[float, str]] = []
    for number, depart in enumerate(_departures(random, place.vehicles, place.stay, duration)):
        kind = motor[int(random.choice(len(motor), p=shares / shares.sum()))]
        trips += _trip(f"v{number}", kind.name, depart, driving, place, reachable, random)
    for number, depart in enumerate(_departures(random, place.bicycles, place.stay, duration)):
        trips += _trip(f"b{number}", "bicycle", depart, driving, place, reachable, random)
    walking = _ends(streets, place, LaneUse.WALK)
    for number, depart in enumerate(_departures(random, place.pedestrians, WALK_TIME, duration)):
        trips += _walk(f"p{number}", depart, walking, random)
    lines += [text for _, text in sorted(trips, key=lambda trip: trip[0])]
    return "<routes>\n" + "\n".join(lines) + "\n</routes>\n"


def _type_line(kind: VehicleType) -> str:
    values = {
        "id": kind.name,
        "vClass": kind.vehicle_class,
        "carFollowModel": "EIDM",
        "length": kind.length,
        "width": kind.width,
        "height": kind.height,
        "accel": kind.accel,
        "decel": kind.decel,
        "emergencyDecel": 7.0,
        "tau": kind.headway,
        "minGap": kind.gap,
        "speedFactor": kind.speed_factor,
    }
    if kind.vehicle_class == "bicycle":
        values["maxSpeed"] = BICYCLE_SPEED
    return "  <vType " + " ".join(f'{key}="{value}"' for key, value in values.items()) + "/>"


def _departures(random: np.random.Generator, at_a_time: int, stay: float, duration: float) -> list[float]:
    first = np.sort(random.uniform(0.0, FILL_TIME, at_a_time))
    later = np.sort(
        random.uniform(FILL_TIME, duration, random.poisson(at_a_time * max(duration - FILL_TIME, 0) / stay))
    )
    return [*first.tolist(), *later.tolist()]


def _trip(
    name: str,
    kind: str,
    depart: float,
    ends: TripEnds,
    place: Place,
    reachable: _Reachable,
    random: np.random.Generator,
) -> list[tuple[float, str]]:
    """One trip, or none if twenty draws find no two edges that are far apart and connected."""
    x0, y0, x1, y1 = place.area
    shortest = min(MIN_TRIP_DISTANCE, 0.5 * min(x1 - x0, y1 - y0))
    for _ in range(20):
        start, end = random.choice(len(ends.edges), size=2, p=ends.weight)
        far = np.linalg.norm(ends.middle[start] - ends.middle[end]) >= shortest
        if far and ends.edges[end] in reachable.from_edge(ends.edges[start]):
            where = "random" if depart < FILL_TIME else "base"
            text = (
                f'  <trip id={quoteattr(name)} type={quoteattr(kind)} depart="{depart:.2f}" departLane="best"'
                f' departPos="{where}" departSpeed="avg" from={quoteattr(ends.edges[start])}'
                f" to={quoteattr(ends.edges[end])}/>"
            )
            return [(depart, text)]
    return []


def _walk(name: str, depart: float, ends: TripEnds, random: np.random.Generator) -> list[tuple[float, str]]:
    if not len(ends.edges):
        return []
    start = int(random.choice(len(ends.edges), p=ends.weight))
    distance = np.linalg.norm(ends.middle - ends.middle[start], axis=1)
    near = np.flatnonzero((distance > WALK_DISTANCES[0]) & (distance < WALK_DISTANCES[1]))
    if not len(near):
        return []
    end = int(random.choice(near))
    text = (
        f'  <person id={quoteattr(name)} depart="{depart:.2f}" departPos="random">'
        f"<walk from={quoteattr(ends.edges[start])} to={quoteattr(ends.edges[end])}/></person>"
    )
    return [(depart, text)]


def _ends(streets: StreetMap, place: Place, use: LaneUse) -> TripEnds:
    incoming = {streets.lanes[c.to_lane].edge for c in streets.connections}
    outgoing = {streets.lanes[c.from_lane].edge for c in streets.connections}
    low, high = np.array(place.area[:2]) - AREA_MARGIN, np.array(place.area[2:]) + AREA_MARGIN
    edges: dict[str, tuple[NDArray[np.float64], float]] = {}
    for lane in streets.lanes.values():
        if lane.use is not use or lane.internal:
            continue
        middle = lane.shape[len(lane.shape) // 2]
        if (middle < low).any() or (middle > high).any():
            continue
        length = np.linalg.norm(np.diff(lane.shape, axis=0), axis=1).sum()
        border = use is LaneUse.DRIVE and (lane.edge not in incoming or lane.edge not in outgoing)
        weight = np.sqrt(length) * (lane.speed if use is LaneUse.DRIVE else 1.0) * (BORDER_WEIGHT if border else 1.0)
        edges[lane.edge] = (middle, edges.get(lane.edge, (middle, 0.0))[1] + float(weight))
    if not edges and use is LaneUse.DRIVE:
        raise CityError(f"place {place.name!r}: no lanes for cars in its area {place.area}")
    weights = np.array([weight for _, weight in edges.values()])
    return TripEnds(
        list(edges),
        np.array([middle for middle, _ in edges.values()]).reshape(-1, 2),
        weights / weights.sum() if len(weights) else weights,
    )


class _Reachable:
    """Edges that a car can reach from an edge."""

    def __init__(self, streets: StreetMap) -> None:
        self._next: dict[str, set[str]] = {}
        for connection in streets.connections:
            if connection.use is LaneUse.DRIVE:
                source, target = streets.lanes[connection.from_lane].edge, streets.lanes[connection.to_lane].edge
                self._next.setdefault(source, set()).add(target)
        self._known: dict[str, set[str]] = {}

    def from_edge(self, edge: str) -> set[str]:
        if edge not in self._known:
            seen, queue = {edge}, deque([edge])
            while queue:
                for following in self._next.get(queue.popleft(), ()):
                    if following not in seen:
                        seen.add(following)
                        queue.append(following)
            self._known[edge] = seen
        return self._known[edge]
