"""The route of a clip, from the command points in its annotations.

Each annotation has the next two points of the expert's route (near and far). The route begins at the ego, passes
through the near points in order, and ends at the last far point. Route points come from a `RouteCursor`, as in driving.
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
"""Command points closer than this are the same [m]."""


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
    """(F, 2) route points of poses (F, 3) of a drive, in ego axes [m]."""
    cursor = RouteCursor(route)
    points = np.empty((len(poses), 2))
    for frame, pose in enumerate(poses):
        cursor.advance(pose[:2])
        points[frame] = cursor.route_point(pose, distance)
    return points


def _without_repeats(points: NDArray[np.float64]) -> NDArray[np.float64]:
    """Points (n, 2) without consecutive duplicates."""
    if len(points) < 2:
        return points
    new = np.linalg.norm(np.diff(points, axis=0), axis=1) > SAME_POINT_DISTANCE
    return np.asarray(points[np.concatenate([[True], new])])
