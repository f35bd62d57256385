"""A route as a polyline with a point each metre, and an ego's progress along it.

Gives the route point that a planner may take as input and the polyline that route re-ranking compares plans with, in
training and driving.
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np
from numpy.typing import ArrayLike

from world4scorer.engine.scene.geometry import Floats, arc_length, to_ego_axes

SPACING: Final = 1.0
"""Distance between points of a route [m]."""
ROUTE_POINT_DISTANCE: Final = 20.0
"""Beeline from the ego to its route point [m]."""
POLYLINE_DISTANCES: Final = (10.0, 20.0, 40.0, 60.0)
"""Distances along the route of the points that describe its course [m]."""
ROUTE_AHEAD_DISTANCE: Final = 30.0
"""Length of the route ahead that plans are compared with [m]."""


class Route:
    """Points about a metre apart, in driving order."""

    def __init__(self, points: ArrayLike) -> None:
        """Resample a polyline (n, 2), which needs two points that differ."""
        line = np.asarray(points, np.float64)
        if line.ndim != 2 or line.shape[1] != 2 or not np.isfinite(line).all():
            raise ValueError(f"route: shape {line.shape}; want rows of x, y, all finite")
        line = np.concatenate([line[:1], line[1:][np.linalg.norm(np.diff(line, axis=0), axis=1) > 1e-6]])
        if len(line) < 2:
            raise ValueError(f"route: {len(line)} points that differ; two are needed")
        along = arc_length(line)
        self.length: float = float(along[-1])
        """m"""
        self.distance: Floats = np.linspace(0.0, self.length, max(2, round(self.length / SPACING) + 1))
        """(m,) distance of each point from the start [m]."""
        self.points: Floats = np.column_stack([np.interp(self.distance, along, line[:, axis]) for axis in (0, 1)])
        """(m, 2)"""

    def __len__(self) -> int:
        return len(self.points)

    def __repr__(self) -> str:
        return f"Route({self.length:.0f} m)"


class RouteCursor:
    """Progress of an ego along a route: the nearest point, never before the last one.

    Where a route comes near itself, an ego may be matched to the later leg; `reach` of `advance` limits this.
    """

    def __init__(self, route: Route) -> None:
        self.route = route
        self.index = 0
        """Index of the ego's nearest point."""

    def advance(self, position: ArrayLike, reach: float = math.inf) -> int:
        """Move to the point nearest to a position (2,), at or after the last one and at most `reach` metres further."""
        along = self.route.distance[self.index :]
        ahead = self.route.points[self.index :][along <= along[0] + reach]
        self.index += int(np.argmin(((ahead - np.asarray(position, np.float64)) ** 2).sum(1)))
        return self.index

    def route_point(self, pose: ArrayLike, distance: float = ROUTE_POINT_DISTANCE) -> Floats:
        """The first point ahead at a beeline of `distance` metres, or the route's end; (2,) in the ego frame [m].

        Args:
            pose: (3,) x, y, heading of the ego, in the frame of the route. Call `advance` before.
            distance: m
        """
        here = np.asarray(pose, np.float64)
        points = self.route.points[self.index :]
        away = np.linalg.norm(points - here[:2], axis=1)
        beyond = np.flatnonzero(away >= distance)
        if not len(beyond):
            return to_ego_axes(points[-1], here)
        last = int(beyond[0])
        if last == 0:
            return to_ego_axes(points[0], here)
        start, step = points[last - 1] - here[:2], points[last] - points[last - 1]
        # |start + share * step| = distance has one solution between 0 and 1: it is nearer at 0 and not at 1.
        a, b, c = step @ step, start @ step, start @ start - distance**2
        share = (-b + np.sqrt(b * b - a * c)) / a
        return to_ego_axes(points[last - 1] + share * step, here)

    def polyline(self, pose: ArrayLike) -> Floats:
        """The route 10, 20, 40 and 60 m ahead along it, (4, 2) in the ego frame, each divided by its distance.

        So a straight route is (1, 0) four times. Beyond its end the route goes on straight. Call `advance` before.
        """
        route, distances = self.route, np.array(POLYLINE_DISTANCES)
        along = route.distance[self.index] + distances
        places = np.column_stack([np.interp(along, route.distance, route.points[:, axis]) for axis in (0, 1)])
        last = route.points[-1] - route.points[-2]
        places += np.maximum(along - route.length, 0.0)[:, None] * last / np.linalg.norm(last)
        return np.asarray(to_ego_axes(places, np.asarray(pose, np.float64)) / distances[:, None])

    def ahead(self, pose: ArrayLike, reach: float = ROUTE_AHEAD_DISTANCE) -> Floats:
        """The points (m, 2) of the next `reach` metres of the route, in the ego frame [m]; at least one."""
        along = self.route.distance[self.index :]
        count = int(np.searchsorted(along, along[0] + reach, side="right"))
        return to_ego_axes(self.route.points[self.index : self.index + count], np.asarray(pose, np.float64))
