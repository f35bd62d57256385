"""The route of a clip, put together from the command points that its annotations name.

The expert followed a route of which each annotation names two points: the next one (near) and the one after (far). The
route begins where the ego does, leads through the near points in the order in which they came up, and ends at the last
far point. From there on it is a `Route` like any other, and the route point of a frame comes from a `RouteCursor`, as
it does in driving.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from world4scorer.driving.clips.clip import Clip
from world4scorer.driving.clips.errors import ClipError
from world4scorer.engine.routes import Route, RouteCursor
from world4scorer.engine.routes.route import ROUTE_POINT_DISTANCE

SAME_POINT_DISTANCE: Final = 1e-3
"""Command points nearer to each other are one [m]."""


def clip_route(clip: Clip) -> Route:
    """The route that the expert of a clip followed."""
    near = clip.near[np.isfinite(clip.near).all(1)]
    far = clip.far[np.isfinite(clip.far).all(1)]
    if not len(near) and not len(far):
        raise ClipError(f"{clip.folder}: no annotation names a command point (x_command_near, y_command_near)")
    line = np.concatenate([clip.poses[:1, :2], _without_repeats(near), far[-1:]])
    line = _without_repeats(line)
    if len(line) < 2:
        raise ClipError(f"{clip.folder}: all command points lie where the ego begins; this clip has no route")
    return Route(line)


def route_points(
    route: Route, poses: NDArray[np.float64], distance: float = ROUTE_POINT_DISTANCE
) -> NDArray[np.float64]:
    """(F, 2) the route point of each pose (F, 3) of a drive, in ego axes [m]."""
    cursor = RouteCursor(route)
    points = np.empty((len(poses), 2))
    for frame, pose in enumerate(poses):
        cursor.advance(pose[:2])
        points[frame] = cursor.route_point(pose, distance)
    return points


def _without_repeats(points: NDArray[np.float64]) -> NDArray[np.float64]:
    """Points (n, 2) without those that repeat the one before."""
    if len(points) < 2:
        return points
    new = np.linalg.norm(np.diff(points, axis=0), axis=1) > SAME_POINT_DISTANCE
    return np.asarray(points[np.concatenate([[True], new])])
