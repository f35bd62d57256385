"""Driving commands: where the route leads within the next 20 m.

OpenScene's rule: the pose of the route's centreline beside the ego, and the pose 20 m further along; if the second lies
two metres or more to the left (right) of the first one's direction, the command is left (right), else straight ahead.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise
from typing import Final, NamedTuple

import numpy as np

from world4scorer.city.streets.street_map import Connection, Lane, LaneUse, StreetMap, Turn
from world4scorer.datasets.navsim.frames import COMMANDS
from world4scorer.engine.scene.geometry import Floats, arc_length

LOOK_AHEAD: Final = 20.0
"""Distance along the route [m]."""
LATERAL_THRESHOLD: Final = 2.0
"""Lateral offset from which the command is left or right [m]."""
LEFT, STRAIGHT, RIGHT, UNKNOWN = (COMMANDS.index(name) for name in ("left", "forward", "right", "unknown"))


class RoutePiece(NamedTuple):
    """A lane or connection along a route."""

    shape: Floats
    """(n, 2) its centreline."""
    turn: Turn | None
    """Turn of a connection; None for a lane."""


class RouteReader:
    """Centrelines along routes of a street map."""

    def __init__(self, streets: StreetMap) -> None:
        self._streets = streets
        self._leaving: dict[str, dict[str, list[Connection]]] = {}
        for connection in streets.connections:
            if connection.use is LaneUse.DRIVE:
                edge = streets.lanes[connection.from_lane].edge
                follow = self._leaving.setdefault(edge, {})
                follow.setdefault(streets.lanes[connection.to_lane].edge, []).append(connection)
        self.centreline = lru_cache(4096)(self._centreline)
        self._route_points = lru_cache(16)(self._route_points_of)
        self._all_points: Floats | None = None

    def edge_of(self, lane_id: str, route: Sequence[str]) -> str | None:
        """The edge of the route that a lane belongs to; for connections, the edge before."""
        lane = self._streets.lanes.get(lane_id)
        if lane is not None and not lane.internal:
            return lane.edge if lane.edge in route else None
        for before, after in pairwise(route):
            if any(lane_id in connection.via for connection in self._leaving.get(before, {}).get(after, ())):
                return before
        return None

    def nearest_lane(self, route: tuple[str, ...], pose: Floats) -> str:
        """The lane or connection of a route nearest to a car at `pose` (3,)."""
        ids, points, headings = self._route_points(route)
        distance = np.linalg.norm(points - pose[:2], axis=1)
        # Opposite lanes and crossing connections may be nearer than the ego's own.
        distance += 5.0 * (np.cos(headings - pose[2]) < 0.5)
        return ids[int(np.argmin(distance))]

    def distance_to_lanes(self, position: Floats) -> float:
        """Metres from a position (2,) to the nearest centreline of a lane for cars."""
        if self._all_points is None:
            self._all_points = np.concatenate(
                [every_metre(lane.shape)[0] for lane in self._streets.lanes.values() if lane.use is LaneUse.DRIVE]
            )
        return float(np.sqrt(((self._all_points - position) ** 2).sum(1).min()))

    def _route_points_of(self, route: tuple[str, ...]) -> tuple[list[str], Floats, Floats]:
        """Lane ids, points (n, 2) about a metre apart and headings (n,) of a route's lanes and connections."""
        pieces = [(lane.id, lane.shape) for lane in self._streets.lanes.values() if self._on(lane, route)]
        for before, after in pairwise(route):
            for connection in self._leaving.get(before, {}).get(after, ()):
                pieces += [(piece, self._streets.lanes[piece].shape) for piece in connection.via]
        ids, points, headings = [], [], []
        for name, shape in pieces:
            along, heading = every_metre(shape)
            ids += [name] * len(along)
            points.append(along)
            headings.append(heading)
        return ids, np.concatenate(points), np.concatenate(headings)

    @staticmethod
    def _on(lane: Lane, route: tuple[str, ...]) -> bool:
        return lane.edge in route and lane.use is LaneUse.DRIVE and not lane.internal

    def command_at(self, route: tuple[str, ...], pose: Floats) -> int:
        """Index into `COMMANDS` for an ego whose rear axle is at `pose` (3,)."""
        return self.command(self.nearest_lane(route, pose), route, pose[:2])

    def command(self, lane_id: str, route: tuple[str, ...], position: Floats) -> int:
        """Index into `COMMANDS` for an ego at `position` (2,) on a lane of its route."""
        line = self.centreline(lane_id, route)
        if line is None:
            return UNKNOWN
        along = arc_length(line)
        here = _project(line, along, position)
        if here + LOOK_AHEAD > along[-1]:
            return UNKNOWN
        start, further = _point(line, along, here), _point(line, along, here + LOOK_AHEAD)
        ahead = _point(line, along, here + 0.1) - start
        ahead /= np.linalg.norm(ahead)
        offset = ahead[0] * (further - start)[1] - ahead[1] * (further - start)[0]
        return LEFT if offset >= LATERAL_THRESHOLD else RIGHT if offset <= -LATERAL_THRESHOLD else STRAIGHT

    def _centreline(self, lane_id: str, route: tuple[str, ...]) -> Floats | None:
        """Points (n, 2) along the route from the start of the lane, long enough to look 20 m ahead."""
        pieces = self.pieces(lane_id, route, 2 * LOOK_AHEAD)
        if pieces is None:
            return None
        line = np.concatenate([piece.shape for piece in pieces])
        keep = np.concatenate([[True], np.linalg.norm(np.diff(line, axis=0), axis=1) > 1e-3])
        kept: Floats = line[keep]
        return kept if len(kept) > 1 else None

    def pieces(self, lane_id: str, route: tuple[str, ...], reach: float = np.inf) -> list[RoutePiece] | None:
        """Lanes and connections along the route from a lane on, for about `reach` metres and one more.

        None where the lane is not on the route, or the route has no connection to continue.
        """
        edge = self.edge_of(lane_id, route)
        if edge is None:
            return None
        lane = self._streets.lanes[lane_id]
        pieces: list[RoutePiece] = []
        current = lane_id
        if lane.internal:
            following = route[route.index(edge) + 1]
            connection = next(connection for connection in self._leaving[edge][following] if lane_id in connection.via)
            pieces += [
                RoutePiece(self._streets.lanes[connection.from_lane].shape[-2:], None),
                RoutePiece(connection.shape, connection.turn),
            ]
            current, edge = connection.to_lane, following
        for following in route[route.index(edge) + 1 :]:
            pieces.append(RoutePiece(self._streets.lanes[current].shape, None))
            connections = self._leaving.get(edge, {}).get(following)
            if not connections:
                return None
            connection = next(
                (connection for connection in connections if connection.from_lane == current), connections[0]
            )
            pieces.append(RoutePiece(connection.shape, connection.turn))
            current, edge = connection.to_lane, following
            if sum(np.linalg.norm(np.diff(piece.shape, axis=0), axis=1).sum() for piece in pieces[1:]) > reach:
                break
        pieces.append(RoutePiece(self._streets.lanes[current].shape, None))
        return pieces


def _project(line: Floats, along: Floats, position: Floats) -> float:
    """Distance along a polyline of the point nearest to a position."""
    step = np.diff(line, axis=0)
    length = np.diff(along)
    share = np.clip(((position - line[:-1]) * step).sum(1) / length**2, 0.0, 1.0)
    distance = np.linalg.norm(line[:-1] + share[:, None] * step - position, axis=1)
    nearest = int(np.argmin(distance))
    return float(along[nearest] + share[nearest] * length[nearest])


def _point(line: Floats, along: Floats, distance: float) -> Floats:
    return np.array([np.interp(distance, along, line[:, 0]), np.interp(distance, along, line[:, 1])])


def every_metre(shape: Floats) -> tuple[Floats, Floats]:
    """Points (n, 2) of a polyline at most a metre apart, and its heading there (n,)."""
    length = arc_length(shape)
    grid = np.linspace(0.0, length[-1], max(2, int(np.ceil(length[-1])) + 1))
    points = np.column_stack([np.interp(grid, length, shape[:, 0]), np.interp(grid, length, shape[:, 1])])
    step = np.gradient(points, axis=0)
    return points, np.arctan2(step[:, 1], step[:, 0])
