"""Route points: where the route of a log leads, 20 m ahead of the ego, and its course for 60 m.

The logs of NAVSIM name their route as roadblocks only; a dataset of the embedded city knows the streets that each ego
was going to take (`city.world.global_plan.CityRoutes`). The point comes from a `RouteCursor`, as it does in driving.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

from world4scorer.datasets.navsim.logs import Log
from world4scorer.engine.routes import Route, RouteCursor
from world4scorer.engine.scene.geometry import Floats


class RouteSource(Protocol):
    """Routes of the logs of a dataset."""

    def route(self, log: Log) -> Floats:
        """Return the route of a log from where the log begins, (n, 2) in the global frame."""
        ...


class RouteInput(NamedTuple):
    """What a planner may be told of its route, in the ego frame."""

    point: Floats
    """(2,) [m]"""
    polyline: Floats
    """(4, 2) see `RouteCursor.polyline`."""


def route_inputs(source: RouteSource, log: Log) -> dict[str, RouteInput]:
    """Route point and polyline at each frame of a log, by token."""
    cursor = RouteCursor(Route(source.route(log)))
    found = {}
    for frame in log.frames:
        cursor.advance(frame.ego_pose[:2])
        found[frame.token] = RouteInput(cursor.route_point(frame.ego_pose), cursor.polyline(frame.ego_pose))
    return found
