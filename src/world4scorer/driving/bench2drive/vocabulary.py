"""Trajectory vocabulary: shapes of expert paths, driven at a range of speed targets.

>>> vocabulary = Vocabulary.open("vocabulary.npz")
>>> vocabulary.plans([3, 200], [0, 15], speed=5.0)      # (2, 8, 3)

A shape is a path of length 1 from the origin, as 32 equidistant points. A plan is a shape and a speed target: the speed
ramps from its current value to the target at 2 m/s^2 or -4 m/s^2, and the shape is scaled to the distance covered in
four seconds.

Shapes: P paths, K shapes, J = 32 points, V speed targets, N plans, T = 8 poses.
"""

from __future__ import annotations

import json
import os
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from world4scorer.driving.clips.errors import ClipError
from world4scorer.engine.scene.geometry import arc_length
from world4scorer.engine.scene.indices import PLAN_INTERVAL, PLAN_POSES
from world4scorer.jobs.array_files import open_archive
from world4scorer.jobs.files import atomic_write

FORMAT: Final = "world4scorer-vocabulary-1"
DEFAULT_SHAPES: Final = 256
SHAPE_POINTS: Final = 32
DEFAULT_SPEEDS: Final = 16
MAX_SPEED_TARGET: Final = 16.0
"""Highest speed target [m/s]; the lowest is 0."""
ACCELERATION: Final = 2.0
"""m/s^2"""
BRAKING: Final = 4.0
"""m/s^2"""
MIN_LENGTH: Final = 0.1
"""Shortest path that has a shape [m]."""

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Vocabulary:
    """Shapes and speed targets."""

    shapes: Floats
    """(K, J, 2) paths of length 1, sorted by their end from right to left."""
    speeds: Floats
    """(V,) m/s, ascending"""
    notes: Mapping[str, Any]
    """How it was made."""

    def plans(self, shapes: ArrayLike, targets: ArrayLike, speed: float) -> Floats:
        """Plans (N, T, 3) from indices of shapes and speed targets (N,) and the current speed [m/s]."""
        ways = ramp_distances(speed, self.speeds[np.asarray(targets)])
        return scale_shapes(self.shapes[np.asarray(shapes)], ways)

    def nearest(self, path: Floats) -> NDArray[np.intp]:
        """Indices (K,) of shapes by distance to a path (T, 2); a path that is too short counts as straight."""
        shape = path_shape(path)
        if shape is None:
            shape = np.column_stack([np.linspace(0.0, 1.0, SHAPE_POINTS), np.zeros(SHAPE_POINTS)])
        return np.argsort(((self.shapes - shape) ** 2).sum((1, 2)), kind="stable")

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a plain .npz file."""
        with atomic_write(path) as stream:
            np.savez(
                stream,
                format=np.array(FORMAT),
                shapes=self.shapes,
                speeds=self.speeds,
                notes=np.array(json.dumps(dict(self.notes))),
            )

    @classmethod
    def open(cls, path: str | os.PathLike[str]) -> Vocabulary:
        """Read what `save` wrote."""
        try:
            with open_archive(path) as file:
                if str(file["format"]) != FORMAT:
                    raise ClipError(f"{path}: a file of {file['format']}, not of {FORMAT}; make it again")
                shapes, speeds = np.asarray(file["shapes"], np.float64), np.asarray(file["speeds"], np.float64)
                notes = json.loads(str(file["notes"]))
        except FileNotFoundError:
            raise ClipError(f"{path}: no such vocabulary; `w4s b2d vocab` makes it") from None
        except (KeyError, ValueError, OSError, EOFError, zipfile.BadZipFile) as error:
            if isinstance(error, ClipError):
                raise
            raise ClipError(f"{path}: not a vocabulary ({error}); make it again with `w4s b2d vocab`") from error
        if (
            shapes.ndim != 3
            or shapes.shape[1:] != (SHAPE_POINTS, 2)
            or speeds.ndim != 1
            or not len(shapes) * len(speeds)
        ):
            raise ClipError(f"{path}: shapes {shapes.shape}, speeds {speeds.shape}; make it again")
        if not (np.isfinite(shapes).all() and np.isfinite(speeds).all()):
            raise ClipError(f"{path}: holds numbers that are not finite; make it again")
        return cls(shapes, speeds, notes)


def speed_targets(count: int = DEFAULT_SPEEDS) -> Floats:
    """(V,) from 0 to 16 m/s."""
    return np.linspace(0.0, MAX_SPEED_TARGET, count)


def ramp_distances(speed: float, targets: Floats) -> Floats:
    """(N, T) distance at the times of plan poses, ramping from the current speed to speed targets (N,) [m]."""
    time = PLAN_INTERVAL * np.arange(1, PLAN_POSES + 1)
    now = max(0.0, float(speed))
    target = np.maximum(0.0, targets)[:, None]
    rate = np.where(target >= now, ACCELERATION, -BRAKING)
    ramp = np.minimum(time, (target - now) / rate)
    return np.asarray(now * ramp + rate * ramp**2 / 2 + target * (time - ramp))


def scale_shapes(shapes: Floats, ways: Floats) -> Floats:
    """Plans (N, T, 3) along shapes (N, J, 2), at distances `ways` (N, T) [m]."""
    length = ways[:, -1:]
    share = np.where(length > MIN_LENGTH, ways / np.maximum(length, MIN_LENGTH), 0.0)
    place = share * (SHAPE_POINTS - 1)
    before = np.minimum(place.astype(np.int64), SHAPE_POINTS - 2)
    rest = place - before
    rows = np.arange(len(shapes))[:, None]
    start, step = shapes[rows, before], shapes[rows, before + 1] - shapes[rows, before]
    position = (start + rest[..., None] * step) * np.where(length > MIN_LENGTH, length, 0.0)[..., None]
    headings = _headings(shapes)
    heading = headings[rows, before] + rest * (headings[rows, before + 1] - headings[rows, before])
    heading = np.where(length > MIN_LENGTH, heading, 0.0)
    return np.concatenate([position, heading[..., None]], -1)


def path_shape(path: Floats) -> Floats | None:
    """Shape (J, 2) of a path (T, 2) from the origin; None if it is too short."""
    line = np.concatenate([np.zeros((1, 2)), np.asarray(path, np.float64)])
    return normalise_path(line)


def normalise_path(line: Floats) -> Floats | None:
    """Resample a polyline (n, 2) to 32 equidistant points of total length 1; None if it is too short."""
    along = arc_length(line)
    if along[-1] <= MIN_LENGTH:
        return None
    wanted = np.linspace(0.0, along[-1], SHAPE_POINTS)
    points = np.column_stack([np.interp(wanted, along, line[:, axis]) for axis in (0, 1)])
    return np.asarray(points / along[-1])


def _headings(shapes: Floats) -> Floats:
    """(N, J) rad"""
    step = np.gradient(shapes, axis=1)
    return np.asarray(np.unwrap(np.arctan2(step[..., 1], step[..., 0]), axis=1))
