"""Route points: where the route of a log leads, 20 m ahead of the ego.

The logs of NAVSIM name their route as roadblocks only; a dataset of the embedded city knows the streets that each ego
was going to take. The point comes from a `RouteCursor`, as it does in driving.
"""

from __future__ import annotations

from functools import lru_cache
from importlib import import_module
from pathlib import Path
from typing import Final, Protocol, cast

from world4scorer.datasets.navsim.logs import Log
from world4scorer.engine.routes import Route, RouteCursor
from world4scorer.engine.scene.geometry import Floats
from world4scorer.jobs.data_folder import DataFolder

CITY_ROUTES: Final = "world4scorer.city.world.global_plan"
"""Module with the `RouteSource` of city datasets; by name, because this room imports none that builds on it."""


class RouteSource(Protocol):
    """Routes of the logs of a dataset."""

    def route(self, log: Log) -> Floats:
        """Return the route of a log from where the log begins, (n, 2) in the global frame."""
        ...


@lru_cache(8)
def route_source(root: Path) -> RouteSource:
    """The routes of a dataset; a ValueError where it has none."""
    if not DataFolder(root).is_city:
        raise ValueError(f"ego_numbers: 13 take a route point, which only logs of a city have ({root} is no city)")
    return cast(RouteSource, import_module(CITY_ROUTES).CityRoutes(root))


def route_points(source: RouteSource, log: Log) -> dict[str, Floats]:
    """The route point (2,) at each frame of a log, by token."""
    cursor = RouteCursor(Route(source.route(log)))
    points = {}
    for frame in log.frames:
        cursor.advance(frame.ego_pose[:2])
        points[frame.token] = cursor.route_point(frame.ego_pose)
    return points
