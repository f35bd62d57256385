"""Paths of simulated vehicles: the baseline of one lane, and positions along it.

A path has the vertices of the baseline except those within 1e-8 m of the next one, and except the last. The heading at
a vertex is the direction to the next vertex of the baseline; between vertices position and unwrapped heading are
linear in the distance along the path. Beyond its ends the path does not go on: distances are clamped.

Shapes: V paths, W vertices in all.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from world4scorer.engine.kernels import inlined, leaf
from world4scorer.engine.scene.checks import SceneError
from world4scorer.engine.scene.geometry import Floats

MIN_SPACING: Final = 1e-8
"""Distance to the next vertex up to which a vertex is dropped [m]."""


class Paths(NamedTuple):
    """V paths one after the other."""

    first: NDArray[np.int64]
    """(V + 1,) path v is `first[v]:first[v + 1]` of the arrays below, at least two."""
    x: Floats
    """(W,) m"""
    y: Floats
    """(W,) m"""
    heading: Floats
    """(W,) rad, unwrapped along each path."""
    along: Floats
    """(W,) distance from the beginning of the baseline [m]."""
    ahead: Floats
    """(W, 4) bounds of the path from a vertex to its end: lowest x, lowest y, highest x, highest y [m]."""


def cut_path(line: Floats, name: str) -> tuple[Floats, Floats, Floats]:
    """Return the vertices (m, 2), headings and distances (m,) of the path along the baseline (n, 2) of a lane."""
    steps = np.diff(line, axis=0)
    lengths = np.hypot(steps[:, 0], steps[:, 1])
    kept = np.flatnonzero(lengths > MIN_SPACING)
    if len(kept) < 2:
        raise SceneError(
            f"lane {name!r}: its baseline leaves {len(kept)} vertices; reactive traffic needs two (the official "
            "evaluation fails there as well)"
        )
    along = np.concatenate([[0.0], np.cumsum(lengths)])[kept]
    heading = np.unwrap(np.arctan2(steps[kept, 1], steps[kept, 0]))
    return line[kept], heading, along


def join_paths(parts: Sequence[tuple[Floats, Floats, Floats]]) -> Paths:
    """Put paths as `cut_path` gives them one after the other."""
    first = np.cumsum([0, *(len(points) for points, _, _ in parts)])
    points = np.concatenate([np.zeros((0, 2)), *(points for points, _, _ in parts)])
    heading, along = (np.concatenate([np.zeros(0), *(part[k] for part in parts)]) for k in (1, 2))
    ahead = [np.zeros((0, 4))]
    for points_ahead, _, _ in parts:
        low, high = (f.accumulate(points_ahead[::-1])[::-1] for f in (np.minimum, np.maximum))
        ahead.append(np.concatenate([low, high], axis=1))
    x, y = np.ascontiguousarray(points.T)
    return Paths(first, x, y, heading, along, np.concatenate(ahead))


@leaf
def vertex_after(paths, first, last, distance):
    """The first vertex of `first..last` that lies beyond a distance along the path; `last + 1` if none does."""
    low, high = first, last + 1
    while low < high:
        middle = (low + high) // 2
        if paths.along[middle] > distance:
            high = middle
        else:
            low = middle + 1
    return low


@inlined
def clamp(paths, v, distance):
    """A distance along path v, limited to its ends."""
    return min(max(distance, paths.along[paths.first[v]]), paths.along[paths.first[v + 1] - 1])


@leaf
def pose_at(paths, v, distance):
    """Position [m] and heading [rad], not wrapped, at a clamped distance along path v."""
    first, last = paths.first[v], paths.first[v + 1] - 1
    after = min(max(vertex_after(paths, first, last, distance), first + 1), last)
    before = after - 1
    share = (distance - paths.along[before]) / (paths.along[after] - paths.along[before])
    return (
        paths.x[before] + share * (paths.x[after] - paths.x[before]),
        paths.y[before] + share * (paths.y[after] - paths.y[before]),
        paths.heading[before] + share * (paths.heading[after] - paths.heading[before]),
    )


@leaf
def copy_line(paths, v, start, end, line):
    """Fill `line` (2, K) with path v from a clamped distance to another, and return the number of points.

    Start, vertices strictly between, end. Without a vertex beyond the start: the last two vertices; without one before
    the end: the first two. `end` may be infinite: then the line ends with the last vertex.
    """
    first, last = paths.first[v], paths.first[v + 1] - 1
    after = vertex_after(paths, first, last, start)
    if after > last or not paths.along[first] < end:
        one = last - 1 if after > last else first
        for k in range(2):
            line[0, k], line[1, k] = paths.x[one + k], paths.y[one + k]
        return 2
    line[0, 0], line[1, 0], _ = pose_at(paths, v, start)
    count = 1
    while after <= last and paths.along[after] < end:
        line[0, count], line[1, count] = paths.x[after], paths.y[after]
        count += 1
        after += 1
    if end < np.inf:
        line[0, count], line[1, count], _ = pose_at(paths, v, end)
        count += 1
    return count
