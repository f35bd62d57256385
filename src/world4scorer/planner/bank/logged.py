"""The logged trajectory decomposed into a path and the progress along it over time.

Shapes: T = 41 times every 0.1 s from now, P points of the path.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from world4scorer.engine.scene.indices import DT, PLAN_INTERVAL, PLAN_POSES, STEPS, State
from world4scorer.engine.scene.scene import Scene

Floats = NDArray[np.float64]

TIME: Final[Floats] = np.arange(STEPS, dtype=np.float64) * DT
"""(T,) s"""
HORIZON: Final = float(TIME[-1])
"""s"""
POSE_STEPS: Final = np.arange(1, PLAN_POSES + 1) * round(PLAN_INTERVAL / DT)
"""(8,) indices of plan poses among the times."""
PATH_SPACING: Final = 0.25
"""Spacing of path points [m]."""
PATH_EXTENSION: Final = 140.0
"""Extension of the path beyond the log [m]: 4 s at more than 30 m/s."""
MIN_POSE_SPACING: Final = 0.3
"""Spacing of logged poses used for the path [m]; closer ones would add position noise."""
CURVATURE_FADE: Final = 8.0
"""Decay length of the last curvature beyond the log [m]."""
MAX_CURVATURE: Final = 0.2
"""Largest curvature [1/m]."""


@dataclass(frozen=True, eq=False)
class ReferencePath:
    """A smooth path from the rear axle, in the ego frame; straight beyond its last point."""

    distance: Floats
    """(P,) m along the path, ascending from 0."""
    x: Floats
    """(P,) m"""
    y: Floats
    """(P,) m"""
    heading: Floats
    """(P,) rad, without jumps."""

    @classmethod
    def of_headings(cls, distance: Floats, heading: Floats) -> ReferencePath:
        """The path from the origin with headings (..., P) at `distance` (P,)."""
        middle = (heading[..., 1:] + heading[..., :-1]) / 2
        step = np.diff(distance)
        zero = np.zeros((*heading.shape[:-1], 1))
        x = np.concatenate([zero, np.cumsum(step * np.cos(middle), axis=-1)], axis=-1)
        y = np.concatenate([zero, np.cumsum(step * np.sin(middle), axis=-1)], axis=-1)
        return cls(distance, x, y, heading)

    def poses(self, along: Floats) -> Floats:
        """Poses (..., 3) at distances `along` (...); one path per row if headings are (N, P)."""
        if self.heading.ndim == 1:
            columns = [np.interp(along, self.distance, values) for values in (self.x, self.y, self.heading)]
        else:
            columns = [
                np.stack([np.interp(a, self.distance, v) for a, v in zip(along, values, strict=True)])
                for values in (self.x, self.y, self.heading)
            ]
        beyond = np.maximum(along - self.distance[-1], 0.0)
        heading = columns[2]
        return np.stack([columns[0] + beyond * np.cos(heading), columns[1] + beyond * np.sin(heading), heading], -1)

    @property
    def curvature(self) -> Floats:
        """(P,) 1/m"""
        return np.gradient(self.heading, self.distance)


@dataclass(frozen=True, eq=False)
class LoggedMotion:
    """A logged trajectory of 4 s."""

    path: ReferencePath
    """Extends beyond the log, for plans that drive further."""
    progress: Floats
    """(T,) m along the path, from 0, non-decreasing."""
    speed: Floats
    """(T,) m/s; the first is the ego's speed now."""

    @property
    def length(self) -> float:
        """m driven in 4 s."""
        return float(self.progress[-1])

    @property
    def turn(self) -> float:
        """Heading change of the log [rad], left positive."""
        return float(np.interp(self.length, self.path.distance, self.path.heading))


def logged_motion(scene: Scene) -> LoggedMotion | None:
    """Logged motion of a scene, or None if unknown."""
    if scene.human_future is None:
        return None
    return decompose(scene.human_future, float(scene.ego_state[State.VELOCITY_X]))


def decompose(poses: Floats, speed: float) -> LoggedMotion:
    """Path and progress of logged poses (8, 3), for the ego's speed [m/s]."""
    knots = np.concatenate([np.zeros((1, 3)), np.asarray(poses, np.float64)])
    step = np.diff(knots[:, :2], axis=0)
    ahead = step[:, 0] * np.cos(knots[1:, 2]) + step[:, 1] * np.sin(knots[1:, 2])
    # Backward steps are noise of a standing car, or reversing, which is not modelled.
    length = np.where(ahead > 0.0, np.linalg.norm(step, axis=1), 0.0)
    along = np.concatenate([[0.0], np.cumsum(length)])
    progress, pace = _progress(along, max(speed, 0.0))
    return LoggedMotion(_reference_path(knots, along), progress, pace)


def _progress(along: Floats, speed: float) -> tuple[Floats, Floats]:
    """Progress and speed (T,) through distances (9,) every half second, beginning with the ego's speed."""
    slope = np.diff(along) / PLAN_INTERVAL
    pace = np.concatenate([[speed], (slope[1:] + slope[:-1]) / 2, slope[-1:]])
    # Fritsch and Carlson's bound: a cubic whose ends are at most three times as steep as the chord never falls.
    limit = 3.0 * np.minimum(np.append(slope, np.inf), np.append(np.inf, slope))
    pace = np.minimum(pace, limit)
    piece = np.minimum((TIME / PLAN_INTERVAL + 1e-9).astype(int), len(slope) - 1)
    u = TIME / PLAN_INTERVAL - piece
    start, end = pace[piece] * PLAN_INTERVAL, pace[piece + 1] * PLAN_INTERVAL
    rise = along[piece + 1] - along[piece]
    progress = along[piece] + start * u + (3 * rise - 2 * start - end) * u**2 + (start + end - 2 * rise) * u**3
    velocity = start + 2 * (3 * rise - 2 * start - end) * u + 3 * (start + end - 2 * rise) * u**2
    return np.maximum.accumulate(progress), np.maximum(velocity / PLAN_INTERVAL, 0.0)


def _reference_path(knots: Floats, along: Floats) -> ReferencePath:
    """The path through poses (9, 3) by Hermite splines; beyond the last pose the curvature decays."""
    kept = [0]
    for i in range(1, len(knots)):
        if along[i] - along[kept[-1]] >= MIN_POSE_SPACING:
            kept.append(i)
    distance = np.arange(0.0, along[kept[-1]] + PATH_EXTENSION, PATH_SPACING)
    if len(kept) == 1:
        return ReferencePath.of_headings(distance, np.zeros_like(distance))
    points, at = knots[kept], along[kept]
    heading = np.unwrap(points[:, 2])
    inside = distance <= at[-1]
    x, y = (_hermite(distance[inside], at, points[:, i], f(heading)) for i, f in enumerate((np.cos, np.sin)))
    bearing = np.unwrap(np.arctan2(np.gradient(y), np.gradient(x)))
    bearing[0] = 0.0
    last = float(np.clip((heading[-1] - heading[-2]) / (at[-1] - at[-2]), -MAX_CURVATURE, MAX_CURVATURE))
    beyond = distance[~inside] - distance[inside][-1]
    after = bearing[-1] + last * CURVATURE_FADE * (1.0 - np.exp(-beyond / CURVATURE_FADE))
    continued = ReferencePath.of_headings(np.append(0.0, beyond), np.append(bearing[-1], after))
    return ReferencePath(
        distance,
        np.concatenate([x, x[-1] + continued.x[1:]]),
        np.concatenate([y, y[-1] + continued.y[1:]]),
        np.concatenate([bearing, after]),
    )


def _hermite(at: Floats, knots: Floats, values: Floats, slopes: Floats) -> Floats:
    """Cubic Hermite interpolation at ascending knots."""
    piece = np.clip(np.searchsorted(knots, at, side="right") - 1, 0, len(knots) - 2)
    width = np.diff(knots)[piece]
    u = (at - knots[piece]) / width
    rise = values[piece + 1] - values[piece]
    start, end = slopes[piece] * width, slopes[piece + 1] * width
    return values[piece] + start * u + (3 * rise - 2 * start - end) * u**2 + (start + end - 2 * rise) * u**3
