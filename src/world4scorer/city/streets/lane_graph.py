"""Lane graph: lanes for cars and the connections between them, with centrelines that join."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

import numpy as np

from world4scorer.city.streets.errors import CityError
from world4scorer.city.streets.map_shapes import Line, Shapes, bands, directions, fit_to_ends, resample, sides
from world4scorer.city.streets.street_map import Connection, Lane, LaneUse, StreetMap, Turn
from world4scorer.engine.scene.geometry import Floats, arc_length_hypot

MIN_CONNECTION_LENGTH: Final = 0.1
"""Minimum length [m]; where lanes meet without room for a connection, the first of them is shortened."""
CONNECTION_ROOM: Final = 0.25
"""Length made for such a connection [m]."""
MIN_SEAM_COSINE: Final = 0.94
"""Minimum cosine between lane and connection for a common seam at the lane's end."""


@dataclass(frozen=True, eq=False)
class LaneBand:
    """A lane or connection as a band around its centreline."""

    line: Line
    half_width: Floats
    """(n,) m"""
    left: Line
    right: Line
    polygon: Any
    """Polygon between `left` and `right`."""


@dataclass(frozen=True, eq=False)
class LaneGraph:
    """Lanes and connections for cars, in the order of the street map."""

    lanes: tuple[Lane, ...]
    connections: tuple[Connection, ...]
    lane_bands: dict[str, LaneBand]
    """Bands by lane."""
    connection_bands: tuple[LaneBand, ...]

    @cached_property
    def edges(self) -> tuple[str, ...]:
        """Edges with lanes for cars."""
        return tuple(dict.fromkeys(lane.edge for lane in self.lanes))

    @cached_property
    def edge_of(self) -> dict[str, str]:
        """The edge of each lane."""
        return {lane.id: lane.edge for lane in self.lanes}

    @cached_property
    def by_edges(self) -> dict[tuple[str, str], list[int]]:
        """Connections by pair of edges."""
        found: dict[tuple[str, str], list[int]] = defaultdict(list)
        for index, connection in enumerate(self.connections):
            found[self.edge_of[connection.from_lane], self.edge_of[connection.to_lane]].append(index)
        return dict(found)

    @cached_property
    def by_junction(self) -> dict[str, list[int]]:
        """Connections through each junction."""
        found: dict[str, list[int]] = defaultdict(list)
        for index, connection in enumerate(self.connections):
            found[connection.junction].append(index)
        return dict(found)

    @cached_property
    def following(self) -> dict[str, int]:
        """The connection after a lane, straight if possible."""
        return self._choice(connection.from_lane for connection in self.connections)

    @cached_property
    def preceding(self) -> dict[str, int]:
        """The connection before a lane, straight if possible."""
        return self._choice(connection.to_lane for connection in self.connections)

    def _choice(self, lanes: Iterable[str]) -> dict[str, int]:
        found: dict[str, int] = {}
        for index, lane in enumerate(lanes):
            turn = self.connections[index].turn
            if turn is not Turn.AROUND and (lane not in found or turn is Turn.STRAIGHT):
                found[lane] = index
        return found


def lane_graph(streets: StreetMap) -> LaneGraph:
    """Build the lane graph; every connection starts and ends at the ends of its lanes."""
    lanes = tuple(lane for lane in streets.lanes.values() if lane.use is LaneUse.DRIVE and not lane.internal)
    if not lanes:
        raise CityError(f"{streets.name}: no lane for cars")
    names = {lane.id for lane in lanes}
    connections = tuple(
        connection
        for connection in streets.connections
        if connection.use is LaneUse.DRIVE and connection.from_lane in names and connection.to_lane in names
    )
    lines = {lane.id: _checked(lane) for lane in lanes}
    for connection in connections:
        gap = lines[connection.to_lane][0] - lines[connection.from_lane][-1]
        if np.hypot(*gap) < MIN_CONNECTION_LENGTH:
            lines[connection.from_lane] = _shortened(lines[connection.from_lane])
    lines = {name: resample(line) for name, line in lines.items()}
    lane_bands = dict(
        zip(
            lines,
            _lane_bands(
                list(lines.values()),
                [np.full(len(lines[lane.id]), lane.width / 2) for lane in lanes],
                [directions(line) for line in lines.values()],
            ),
            strict=True,
        )
    )
    return LaneGraph(lanes, connections, lane_bands, _connection_bands(streets, connections, lines))


def _connection_bands(
    streets: StreetMap, connections: tuple[Connection, ...], lines: dict[str, Line]
) -> tuple[LaneBand, ...]:
    if not connections:
        return ()
    courses, halves, ends = [], [], []
    for connection in connections:
        before, after = lines[connection.from_lane], lines[connection.to_lane]
        course = resample(fit_to_ends(connection.shape, before[-1], after[0]))
        share = np.linspace(0.0, 1.0, len(course))
        first, last = streets.lanes[connection.from_lane].width / 2, streets.lanes[connection.to_lane].width / 2
        own, seams = directions(course), np.stack([directions(before)[1], directions(after)[0]])
        courses.append(course)
        halves.append((1.0 - share) * first + share * last)
        ends.append(np.where(((own * seams).sum(1) > MIN_SEAM_COSINE)[:, None], seams, own))
    return _lane_bands(courses, halves, ends)


def _lane_bands(lines: list[Line], halves: list[Floats], ends: list[Line]) -> tuple[LaneBand, ...]:
    left, right = sides(lines, halves, ends)
    polygons: Shapes = bands(lines, halves, left, right)
    return tuple(LaneBand(*parts) for parts in zip(lines, halves, left, right, polygons, strict=True))


def _checked(lane: Lane) -> Line:
    if np.hypot(*np.diff(lane.shape, axis=0).T).sum() == 0.0:
        raise CityError(f"lane {lane.id}: its length is 0; delete the network and make it again")
    return lane.shape


def _shortened(line: Line) -> Line:
    """The line without its last `CONNECTION_ROOM`, or without its second half where it is shorter than twice that."""
    marks = arc_length_hypot(line)
    end = max(marks[-1] - CONNECTION_ROOM, marks[-1] / 2)
    last = [np.interp(end, marks, line[:, 0]), np.interp(end, marks, line[:, 1])]
    return np.concatenate([line[marks < end], [last]])
