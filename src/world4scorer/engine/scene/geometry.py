"""Plane geometry in NumPy: angles, arc length of polylines, ego frames, corners of boxes.

Some functions come in two forms that differ in the last bit. Stored maps, logs and scores depend on these bits, so a
caller keeps the form it was written with. Kernels have their own versions (`engine.rollout.angles`).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from world4scorer.engine.scene.indices import DT, PLAN_INTERVAL, PLAN_POSES

Floats = NDArray[np.float64]


def wrap(angle: Any) -> Any:
    """Bring angles to [-pi, pi] by their sine and cosine, as the official NAVSIM code does."""
    return np.arctan2(np.sin(angle), np.cos(angle))


def wrap_modulo(angle: Any) -> Any:
    """Bring angles to [-pi, pi) by the remainder; exact for angles that are in this range already up to rounding."""
    return (angle + np.pi) % (2 * np.pi) - np.pi


def direction(heading: ArrayLike) -> Floats:
    """Unit vectors (..., 2) of headings (...)."""
    return np.stack([np.cos(heading), np.sin(heading)], axis=-1)


def arc_length(line: NDArray[Any]) -> Floats:
    """(n,) distance from the first point of a polyline (n, 2) to each point along it."""
    return np.concatenate([[0.0], np.cumsum(np.linalg.norm(np.diff(line, axis=0), axis=1))])


def arc_length_hypot(line: NDArray[Any]) -> Floats:
    """The same with `np.hypot`, which rounds some steps differently; street maps and scenery are made with it."""
    return np.concatenate([[0.0], np.cumsum(np.hypot(*np.diff(line, axis=0).T))])


def turn(x: Any, y: Any, heading: Any) -> tuple[Any, Any]:
    """Rotate vectors counter-clockwise by a heading, element by element."""
    cosine, sine = np.cos(heading), np.sin(heading)
    return x * cosine - y * sine, x * sine + y * cosine


def rotate(points: NDArray[Any], heading: float) -> Floats:
    """Rotate points (..., 2) or (..., 3) about z by a heading, as a matrix product (other last bits than `turn`)."""
    cosine, sine = np.cos(heading), np.sin(heading)
    matrix = np.eye(points.shape[-1])
    matrix[:2, :2] = [[cosine, sine], [-sine, cosine]]
    return np.asarray(points @ matrix)


def to_ego_axes(points: Floats, pose: Floats) -> Floats:
    """Global points (..., 2) in the frame of a pose (3,): forward, left."""
    return rotate(points - pose[:2], -pose[2])


def to_global_axes(points: Floats, pose: Floats) -> Floats:
    """Points (..., 2) of the frame of a pose (3,) in the global frame."""
    return rotate(points, pose[2]) + pose[:2]


def relative_points(points: Floats, origin: Floats) -> Floats:
    """Global points (..., 2) in the frame of the pose `origin` (3,), element by element as the official code does."""
    return np.stack(turn(points[..., 0] - origin[0], points[..., 1] - origin[1], -origin[2]), axis=-1)


def relative_poses(poses: Floats, origin: Floats) -> Floats:
    """Global poses (..., 3) x, y, heading in the frame of the pose `origin` (3,)."""
    heading = wrap(poses[..., 2] - origin[2])
    return np.concatenate([relative_points(poses[..., :2], origin), heading[..., None]], axis=-1)


def plan_of_steps(poses: Floats, origin: Floats) -> Floats:
    """The plan (8, 3) in the frame of `origin` (3,) that follows global poses (S, 3) of every step, now first."""
    stride = round(PLAN_INTERVAL / DT)
    return relative_poses(poses[stride : stride * PLAN_POSES + 1 : stride], origin)


def box_corners(pose: NDArray[Any], front: ArrayLike, rear: ArrayLike, side: ArrayLike) -> Floats:
    """Corners (..., 4, 2) of boxes at poses (..., 3): front left, rear left, rear right, front right.

    `front`, `rear` and `side` (...) are the distances from the pose to the edges of the box.
    """
    front, rear, side = np.asarray(front), np.asarray(rear), np.asarray(side)
    forward = np.stack([front, -rear, -rear, front], axis=-1)
    left = np.stack([side, side, -side, -side], axis=-1)
    x, y, heading = (pose[..., column, None] for column in range(3))
    cosine, sine = np.cos(heading), np.sin(heading)
    return np.stack([x + forward * cosine - left * sine, y + forward * sine + left * cosine], axis=-1)
