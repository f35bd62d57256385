"""The leading object of a proposal: the nearest to the ego's box in its corridor ahead.

Shapes: N objects and K red lights, concatenated as obstacles.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from world4scorer.datasets.pdm_closed.contact import Outlines, box_distance, polygon_distance, polygon_meets_box
from world4scorer.engine.kernels import leaf
from world4scorer.engine.outcomes.progress import arc_length
from world4scorer.engine.rollout.angles import sine_cosine
from world4scorer.engine.scene.indices import DT
from world4scorer.engine.scene.vehicle import HALF_LENGTH, HALF_WIDTH, REAR_AXLE_TO_CENTRE


class Obstacles(NamedTuple):
    """N boxes with constant velocity, then K areas closed by red lights."""

    x: NDArray[np.float64]
    """(N + K,) current centre [m]; the centroid of an area."""
    y: NDArray[np.float64]
    """(N + K,)"""
    drift_x: NDArray[np.float64]
    """(N + K,) m/s"""
    drift_y: NDArray[np.float64]
    """(N + K,)"""
    heading: NDArray[np.float64]
    """(N,) rad; this and the following are for boxes only."""
    cosine: NDArray[np.float64]
    sine: NDArray[np.float64]
    half_length: NDArray[np.float64]
    half_width: NDArray[np.float64]
    speed: NDArray[np.float64]
    """m/s along the heading as annotated; 0 for static objects."""
    areas: Outlines
    """K areas."""


@leaf
def find_in_corridor(obstacles, corridors, path, line, bounds, progress, step, first, listed, along):
    """List in `listed` the obstacles in the corridor of a path at a step; fill their progress `along` (N + K,) [m].

    `listed` (N + K + 1,) starts with the count. Static obstacles keep their entry in `along` (NaN: not in the
    corridor) unless this is the `first` call.
    """
    boxes = obstacles.heading.size
    count = 0
    for n in range(obstacles.x.size):
        moves = obstacles.drift_x[n] != 0.0 or obstacles.drift_y[n] != 0.0
        if first or moves:
            x = obstacles.x[n] + step * DT * obstacles.drift_x[n]
            y = obstacles.y[n] + step * DT * obstacles.drift_y[n]
            if n < boxes:
                cosine, sine = obstacles.cosine[n], obstacles.sine[n]
                half_length, half_width = obstacles.half_length[n], obstacles.half_width[n]
                meets = polygon_meets_box(corridors, path, x, y, cosine, sine, half_length, half_width)
                along[n] = arc_length(line, bounds, progress, x, y) if meets else np.nan
            else:  # `along` says on entry whether it meets the corridor
                along[n] = along[n] if np.isnan(along[n]) else arc_length(line, bounds, progress, x, y)
        if not np.isnan(along[n]):
            count += 1
            listed[count] = n
    listed[0] = count


@leaf
def nearest_ahead(obstacles, listed, along, rank, step, passed, pose, out):
    """Fill `out` (2,) with distance [m] and speed [m/s] of the nearest obstacle beyond a progress of `passed` [m].

    `pose` (3,) is that of the rear axle; `rank` (N + K,) breaks ties. The speed is NaN for a red light, the distance
    infinite where nothing is ahead. Returns whether rank decided between different speeds.
    """
    boxes = obstacles.heading.size
    sine, cosine = sine_cosine(pose[2])
    x, y = pose[0] + REAR_AXLE_TO_CENTRE * cosine, pose[1] + REAR_AXLE_TO_CENTRE * sine
    out[0], out[1] = np.inf, np.nan
    best, tie = -1, False
    for k in range(1, listed[0] + 1):
        n = listed[k]
        if not along[n] > passed:
            continue
        speed = np.nan
        if n < boxes:
            bx = obstacles.x[n] + step * DT * obstacles.drift_x[n]
            by = obstacles.y[n] + step * DT * obstacles.drift_y[n]
            reach = HALF_LENGTH + HALF_WIDTH + obstacles.half_length[n] + obstacles.half_width[n] + out[0]
            if abs(bx - x) > reach or abs(by - y) > reach:
                continue
            distance = box_distance(
                x, y, cosine, sine, HALF_LENGTH, HALF_WIDTH,
                bx, by, obstacles.cosine[n], obstacles.sine[n], obstacles.half_length[n], obstacles.half_width[n],
            )  # fmt: skip
            turned = cosine * obstacles.cosine[n] + sine * obstacles.sine[n]
            speed = obstacles.speed[n] * turned
        else:
            distance = polygon_distance(obstacles.areas, n - boxes, x, y, cosine, sine, HALF_LENGTH, HALF_WIDTH)
        if distance > out[0]:
            continue
        if distance == out[0]:
            same = speed == out[1] or (np.isnan(speed) and np.isnan(out[1]))
            tie = tie or not same
            if rank[n] >= rank[best]:
                continue
        else:
            tie = False
        best = n
        out[0], out[1] = distance, speed
    return tie
