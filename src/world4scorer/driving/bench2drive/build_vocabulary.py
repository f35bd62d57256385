"""Build a vocabulary: k-means of expert paths, deterministic for paths and seed.

Nearly all paths are straight; k-means++ initialisation makes sure that curved ones get shapes too.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from world4scorer.driving.bench2drive.vocabulary import (
    DEFAULT_SHAPES,
    SHAPE_POINTS,
    Vocabulary,
    normalise_path,
    path_shape,
    speed_targets,
)
from world4scorer.driving.clips.errors import ClipError

MIN_PATH_LENGTH: Final = 2.0
"""Shorter paths are left out [m]: their shape is noise."""
MAX_ITERATIONS: Final = 50
"""Largest number of k-means iterations."""
CHUNK_PATHS: Final = 16384
"""Paths per chunk, to bound memory."""

Floats = NDArray[np.float64]


def build_vocabulary(futures: Floats, shapes: int = DEFAULT_SHAPES, seed: int = 0, source: str = "") -> Vocabulary:
    """Vocabulary from logged poses (S, 8, 3); `source` names them in errors and notes."""
    if shapes < 1:
        raise ClipError(f"shapes: {shapes}; at least 1")
    way = np.linalg.norm(np.diff(futures[..., :2], axis=1, prepend=0.0), axis=2).sum(1)
    found = [path_shape(path) for path in futures[way >= MIN_PATH_LENGTH, :, :2]]
    paths = np.array([shape for shape in found if shape is not None]).reshape(-1, 2 * SHAPE_POINTS)
    different = len(np.unique(np.round(paths, 6), axis=0))
    if different < shapes:
        raise ClipError(
            f"{source or 'paths'}: {different} different paths of {MIN_PATH_LENGTH:g} m or more, fewer than {shapes} "
            "shapes; prepare more clips, or ask for fewer (--shapes)"
        )
    centres, rounds = _cluster(paths, shapes, np.random.default_rng(seed))
    # The mean of unit-length paths is shorter than 1.
    lines = [normalise_path(line) for line in centres.reshape(-1, SHAPE_POINTS, 2)]
    built = np.array([line for line in lines if line is not None])
    built = built[np.argsort(built[:, -1, 1], kind="stable")]
    error = np.sqrt(_nearest(paths, built.reshape(len(built), -1))[1] / SHAPE_POINTS)
    notes = {
        "source": source,
        "paths": len(paths),
        "left_out": len(futures) - len(paths),
        "seed": seed,
        "rounds": rounds,
        "mean_error": float(error.mean()),
    }
    return Vocabulary(built, speed_targets(), notes)


def _cluster(paths: Floats, count: int, rng: np.random.Generator) -> tuple[Floats, int]:
    """Centres (count, D) and the number of iterations."""
    centres = _kmeans_plus_plus(paths, count, rng)
    known = np.full(len(paths), -1)
    for number in range(1, MAX_ITERATIONS + 1):
        nearest = _nearest(paths, centres)[0]
        if (nearest == known).all():
            return centres, number
        known = nearest
        sums = np.zeros_like(centres)
        np.add.at(sums, nearest, paths)
        sizes = np.bincount(nearest, minlength=count)
        centres = np.where(sizes[:, None] > 0, sums / np.maximum(sizes, 1)[:, None], centres)
    return centres, MAX_ITERATIONS


def _kmeans_plus_plus(paths: Floats, count: int, rng: np.random.Generator) -> Floats:
    chosen = [int(rng.integers(len(paths)))]
    distance = ((paths - paths[chosen[0]]) ** 2).sum(1)
    while len(chosen) < count:
        chance = distance.cumsum()
        chosen.append(int(np.searchsorted(chance, rng.random() * chance[-1], side="right").clip(0, len(paths) - 1)))
        distance = np.minimum(distance, ((paths - paths[chosen[-1]]) ** 2).sum(1))
    return paths[chosen].copy()


def _nearest(paths: Floats, centres: Floats) -> tuple[NDArray[np.intp], Floats]:
    """The nearest centre of each path (P,) and the square of its distance (P,)."""
    places, squares = [], []
    for start in range(0, len(paths), CHUNK_PATHS):
        part = paths[start : start + CHUNK_PATHS]
        distance = (part**2).sum(1)[:, None] - 2 * part @ centres.T + (centres**2).sum(1)
        places.append(distance.argmin(1))
        squares.append(np.maximum(distance.min(1), 0.0))
    return np.concatenate(places), np.concatenate(squares)
