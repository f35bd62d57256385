"""EP, ego progress: how far the ego gets along the centreline, compared with the reference planner.

Raw progress is the arc length [m] of the centreline point nearest to the ego's centre at the last step less that at
the first, never below 0. It is normalised pair by pair, reference and candidate, each plan on its own:

* v1.1: raw_i = progress_i * NC_i * DAC_i; best = max(raw, raw of the reference). EP = raw / best if best > 5 m, else
  1, or 0 for a plan whose NC * DAC is 0.
* v2.2: best = max over both of progress * (NC * DAC * TLC * DDC). EP = progress / best clipped to [0, 1] if
  best > 5 m, else 1: the plan's own failures do not lower it.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from world4scorer.engine.kernels import kernel, leaf
from world4scorer.engine.scene.segments import segment_distance

MIN_REFERENCE_PROGRESS: Final = 5.0
"""Progress up to which plans are not compared [m]."""
SEGMENTS_PER_BLOCK: Final = 16
"""Segments per bounding box in nearest-point search."""


@leaf
def raw_progress(line, ego, bounds, length, out):
    """Fill `out` (N,) with the raw progress along `line` (C, 2..), `bounds` and `length` by `measure_line`."""
    last = ego.x.shape[1] - 1
    start = arc_length(line, bounds, length, ego.x[0, 0], ego.y[0, 0])
    for n in range(out.size):
        if ego.x[n, 0] != ego.x[0, 0] or ego.y[n, 0] != ego.y[0, 0]:
            start = arc_length(line, bounds, length, ego.x[n, 0], ego.y[n, 0])
        out[n] = max(arc_length(line, bounds, length, ego.x[n, last], ego.y[n, last]) - start, 0.0)


@kernel
def measured_line(line):
    """Bounds (C // SEGMENTS_PER_BLOCK + 1, 4) of blocks of segments and arc length (C,) of vertices of `line`."""
    points = line.shape[0]
    bounds, length = np.empty((points // SEGMENTS_PER_BLOCK + 1, 4)), np.empty(points)
    measure_line(line, bounds, length)
    return bounds, length


@leaf
def measure_line(line, bounds, length):
    """Fill `length` (C,) with the arc length of each vertex and `bounds` with the box of each block of segments."""
    length[0] = 0.0
    for i in range(line.shape[0] - 1):
        dx, dy = line[i + 1, 0] - line[i, 0], line[i + 1, 1] - line[i, 1]
        length[i + 1] = length[i] + np.sqrt(dx * dx + dy * dy)
        block = i // SEGMENTS_PER_BLOCK
        if i % SEGMENTS_PER_BLOCK == 0:
            bounds[block, 0], bounds[block, 1] = line[i, 0], line[i, 1]
            bounds[block, 2], bounds[block, 3] = line[i, 0], line[i, 1]
        bounds[block, 0] = min(bounds[block, 0], line[i + 1, 0])
        bounds[block, 1] = min(bounds[block, 1], line[i + 1, 1])
        bounds[block, 2] = max(bounds[block, 2], line[i + 1, 0])
        bounds[block, 3] = max(bounds[block, 3], line[i + 1, 1])


@leaf
def arc_length(line, bounds, length, x, y):
    """Arc length of the point of the line nearest to x, y; the first on ties."""
    nearest = np.inf
    best = 0.0
    segments = line.shape[0] - 1
    for block in range((segments + SEGMENTS_PER_BLOCK - 1) // SEGMENTS_PER_BLOCK):
        dx = max(bounds[block, 0] - x, 0.0, x - bounds[block, 2])
        dy = max(bounds[block, 1] - y, 0.0, y - bounds[block, 3])
        if dx * dx + dy * dy > nearest * (1.0 + 1e-12):
            continue
        for i in range(block * SEGMENTS_PER_BLOCK, min(segments, (block + 1) * SEGMENTS_PER_BLOCK)):
            distance, share = segment_distance(line[i, 0], line[i, 1], line[i + 1, 0], line[i + 1, 1], x, y)
            if distance < nearest:
                nearest = distance
                best = length[i] + share * (length[i + 1] - length[i])
    return best


def normalise_v1(progress: NDArray[np.float64], product: NDArray[np.float64], reference: float) -> NDArray[np.float64]:
    """EP v1.1 (N,) of raw progress (N,) and NC * DAC (N,); `reference` is the reference's progress times its own."""
    raw = progress * product
    best = np.maximum(raw, reference)
    return np.where(best > MIN_REFERENCE_PROGRESS, raw / np.maximum(best, MIN_REFERENCE_PROGRESS), product > 0.0)


def normalise_v2(
    progress: NDArray[np.float64], product: NDArray[np.float64], reference: float | NDArray[np.float64]
) -> NDArray[np.float64]:
    """EP v2.2 (N,) of raw progress (N,) and the product of all multipliers (N,); `reference`, or (N,), likewise."""
    best = np.maximum(progress * product, reference)
    return np.where(
        best > MIN_REFERENCE_PROGRESS, np.clip(progress / np.maximum(best, MIN_REFERENCE_PROGRESS), 0.0, 1.0), 1.0
    )
