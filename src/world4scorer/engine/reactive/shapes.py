"""What vehicles occupy: the box of each, and the part of its path from its rear bumper to 1.5 s ahead of its front one.

A vehicle that has not moved yet occupies its box only, and so does the ego.

Shapes: V vehicles, entry V is the ego, R points of an outline.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from world4scorer.engine.kernels import inlined, kernel, leaf
from world4scorer.engine.reactive.idm import HEADWAY
from world4scorer.engine.reactive.outlines import outline
from world4scorer.engine.reactive.paths import clamp, copy_line, pose_at, vertex_after
from world4scorer.engine.reactive.rings import bounds_apart, extend_bounds, nearest_square, rings_meet
from world4scorer.engine.rollout.angles import sine_cosine
from world4scorer.engine.scene.geometry import Floats

SLACK: Final = 1e-6
"""Allowance for rounding in bounds [m]."""


class Shapes(NamedTuple):
    """Occupied areas, and room to compute them."""

    box: Floats
    """(V + 1, 2, 4) corners."""
    band: Floats
    """(V, 2, R) outline of the part of the path."""
    band_size: NDArray[np.int64]
    """(V + 1,) its points; 0 where there is none."""
    bounds: Floats
    """(V + 1, 4) of both together."""
    corridor: Floats
    """(2, R) outline of the path ahead of the vehicle whose turn it is."""
    corridor_bounds: Floats
    """(4,)"""
    line: Floats
    """(2, K) scratch."""
    kept: Floats
    """(2, K) scratch."""


@kernel
def empty_shapes(vehicles, points):
    """Room for the shapes of a number of vehicles, with outlines of at most `points` points."""
    return Shapes(
        np.empty((vehicles + 1, 2, 4)),
        np.empty((vehicles, 2, points)),
        np.zeros(vehicles + 1, np.int64),
        np.empty((vehicles + 1, 4)),
        np.empty((2, points)),
        np.empty(4),
        np.empty((2, points)),
        np.empty((2, points)),
    )


@leaf
def place_box(shapes, v, x, y, heading, length, width):
    """Make entry v a box alone."""
    s, c = sine_cosine(heading)
    for k in range(4):
        forward = 0.5 * length if (k == 0 or k == 3) else -0.5 * length
        left = 0.5 * width if k <= 1 else -0.5 * width
        shapes.box[v, 0, k] = x + forward * c - left * s
        shapes.box[v, 1, k] = y + forward * s + left * c
    shapes.band_size[v] = 0
    _clear(shapes.bounds[v])
    extend_bounds(shapes.box[v], 4, shapes.bounds[v])


@leaf
def place_vehicle(shapes, paths, v, progress, speed, length, width):
    """Give vehicle v the shape that it has after a step."""
    x, y, heading = pose_at(paths, v, clamp(paths, v, progress))
    place_box(shapes, v, x, y, heading, length, width)
    start = clamp(paths, v, progress - 0.5 * length)
    end = clamp(paths, v, progress + 0.5 * length + HEADWAY * speed)
    points = copy_line(paths, v, start, end, shapes.line)
    shapes.band_size[v] = outline(shapes.line, points, 0.5 * width, shapes.kept, shapes.band[v])
    extend_bounds(shapes.band[v], shapes.band_size[v], shapes.bounds[v])


@leaf
def bound_corridor(shapes, paths, v, progress, width):
    """Fill the bounds of the corridor of vehicle v, at least as wide as its outline, without laying it out."""
    first, last = paths.first[v], paths.first[v + 1] - 1
    distance = clamp(paths, v, progress)
    x, y, _ = pose_at(paths, v, distance)
    ahead = paths.ahead[min(vertex_after(paths, first, last, distance), last - 1)]
    bounds, reach = shapes.corridor_bounds, 0.5 * width + SLACK
    bounds[0], bounds[1] = min(ahead[0], x) - reach, min(ahead[1], y) - reach
    bounds[2], bounds[3] = max(ahead[2], x) + reach, max(ahead[3], y) + reach


@leaf
def lay_corridor(shapes, paths, v, progress, width):
    """Fill the corridor of vehicle v, from where it is to the end of its path; returns its number of points."""
    points = copy_line(paths, v, clamp(paths, v, progress), np.inf, shapes.line)
    size = outline(shapes.line, points, 0.5 * width, shapes.kept, shapes.corridor)
    _clear(shapes.corridor_bounds)
    extend_bounds(shapes.corridor, size, shapes.corridor_bounds)
    return size


@inlined
def _clear(bounds):
    bounds[0] = bounds[1] = np.inf
    bounds[2] = bounds[3] = -np.inf


@leaf
def in_corridor(shapes, size, w):
    """Whether entry w meets the corridor of `size` points."""
    bounds = shapes.bounds[w]
    if bounds_apart(shapes.corridor_bounds, bounds):
        return False
    return rings_meet(shapes.corridor, size, shapes.box[w], 4, bounds) or (
        shapes.band_size[w] > 0 and rings_meet(shapes.corridor, size, shapes.band[w], shapes.band_size[w], bounds)
    )


@leaf
def distance(shapes, v, w):
    """Distance [m] between vehicle v and entry w; 0 where they meet."""
    if not bounds_apart(shapes.bounds[v], shapes.bounds[w]):
        for one in range(2):
            for other in range(2):
                if _parts_meet(shapes, v, one, w, other):
                    return 0.0
    best = np.inf
    for one in range(2):
        for other in range(2):
            best = _nearer(shapes, v, one, w, other, best)
    return np.sqrt(best)


@leaf
def _parts_meet(shapes, v, one, w, other):
    """Whether the box (0) or band (1) of v meets that of w."""
    if (one and shapes.band_size[v] == 0) or (other and shapes.band_size[w] == 0):
        return False
    mine, size = (shapes.band[v], shapes.band_size[v]) if one else (shapes.box[v], 4)
    yours, your_size = (shapes.band[w], shapes.band_size[w]) if other else (shapes.box[w], 4)
    return rings_meet(mine, size, yours, your_size, shapes.bounds[w])


@leaf
def _nearer(shapes, v, one, w, other, best):
    """The squared distance [m^2] between the box (0) or band (1) of v and that of w, if below `best`."""
    if (one and shapes.band_size[v] == 0) or (other and shapes.band_size[w] == 0):
        return best
    mine, size = (shapes.band[v], shapes.band_size[v]) if one else (shapes.box[v], 4)
    yours, your_size = (shapes.band[w], shapes.band_size[w]) if other else (shapes.box[w], 4)
    return nearest_square(mine, size, yours, your_size, best)
