"""Route points: where the route of a log leads, 20 m ahead of the ego.

The logs of NAVSIM name their route as roadblocks only; a dataset of the embedded city knows the streets that each ego
was going to take (`city.world.global_plan.CityRoutes`). The point comes from a `RouteCursor`, as it does in driving.
"""

from __future__ import annotations

from typing import Protocol

from world4scorer.datasets.navsim.logs import Log
from world4scorer.engine.routes import Route, RouteCursor
from world4scorer.engine.scene.geometry import Floats


class RouteSource(Protocol):
    """Routes of the logs of a dataset."""

    def route(self, log: Log) -> Floats:
        """Return the route of a log from where the log begins, (n, 2) in the global frame."""
        ...


def route_points(source: RouteSource, log: Log) -> dict[str, Floats]:
    """The route point (2,) at each frame of a log, by token."""
    cursor = RouteCursor(Route(source.route(log)))
    points = {}
    for frame in log.frames:
        cursor.advance(frame.ego_pose[:2])
        points[frame.token] = cursor.route_point(frame.ego_pose)
    return points
