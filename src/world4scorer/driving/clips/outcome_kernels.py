"""Numba kernels of the rules in `outcomes`."""

from __future__ import annotations

from typing import Final

import numpy as np

from world4scorer.driving.clips.drivable import CELL, RASTER_BEHIND, RASTER_SIDE
from world4scorer.driving.clips.ego_car import HALF_LENGTH, HALF_WIDTH, REAR_AXLE_TO_CENTRE
from world4scorer.engine.kernels import inlined, kernel
from world4scorer.engine.rollout.angles import sine_cosine, wrap
from world4scorer.engine.scene.boxes import boxes_meet
from world4scorer.engine.scene.indices import PLAN_INTERVAL

REAR_COLLISION_DISTANCE: Final = 0.5
"""Obstacles further behind the car's centre than this are ignored [m]."""
MIN_EXPERT_DISTANCE: Final = 5.0
"""Shortest expert distance for which progress is defined [m]."""
MAX_ACCELERATION: Final = 9.0
"""m/s^2"""
MAX_YAW_RATE: Final = 1.5
"""rad/s"""
NC, DAC, EP, TTC, COMFORT, DDC, PDMS = range(7)
"""Columns of labels, as in `V1_COLUMNS`."""


@kernel
def label_kernel(plans, boxes, offsets, drivable, expert_end, table):
    """Fill labels `table` (N, 7) of `plans` (N, T, 3)."""
    steps = plans.shape[1]
    box_cosine, box_sine = np.empty(len(boxes)), np.empty(len(boxes))
    for b in range(len(boxes)):
        box_sine[b], box_cosine[b] = sine_cosine(boxes[b, 2])
    for n in range(len(plans)):
        plan = plans[n]
        safe, safe_ahead = True, True
        on_road = 0
        for k in range(steps):
            on_road += _is_drivable(plan[k, 0], plan[k, 1], drivable)
            first, last = offsets[k], offsets[k + 1]
            if first == last:
                continue
            x, y, heading = plan[k, 0], plan[k, 1], plan[k, 2]
            if safe and _meets_any(x, y, heading, boxes, box_cosine, box_sine, first, last):
                safe = False
            if k + 1 < steps:
                x, y, heading = plan[k + 1, 0], plan[k + 1, 1], plan[k + 1, 2]
            else:
                x, y, heading = (
                    2.0 * x - plan[k - 1, 0],
                    2.0 * y - plan[k - 1, 1],
                    heading + wrap(heading - plan[k - 1, 2]),
                )
            if safe_ahead and _meets_any(x, y, heading, boxes, box_cosine, box_sine, first, last):
                safe_ahead = False
        row = table[n]
        row[NC] = 1.0 if safe else 0.0
        row[DAC] = on_road / steps
        row[EP] = _progress(plan[steps - 1, 0], plan[steps - 1, 1], expert_end[0], expert_end[1])
        row[TTC] = 1.0 if safe_ahead else 0.0
        row[COMFORT] = 1.0 if _is_comfortable(plan) else 0.0
        row[DDC] = 1.0
        row[PDMS] = row[NC] * row[DAC] * (5.0 * row[EP] + 5.0 * row[TTC] + 2.0 * row[COMFORT]) / 12.0


@inlined
def _meets_any(x, y, heading, boxes, box_cosine, box_sine, first, last):
    """Whether the car, rear axle at a pose, meets a box that is not behind it."""
    sine, cosine = sine_cosine(heading)
    centre_x, centre_y = x + REAR_AXLE_TO_CENTRE * cosine, y + REAR_AXLE_TO_CENTRE * sine
    met = False
    for b in range(first, last):
        ahead = (boxes[b, 0] - centre_x) * cosine + (boxes[b, 1] - centre_y) * sine
        if ahead >= -REAR_COLLISION_DISTANCE and boxes_meet(
            centre_x,
            centre_y,
            cosine,
            sine,
            HALF_LENGTH,
            HALF_WIDTH,
            boxes[b, 0],
            boxes[b, 1],
            box_cosine[b],
            box_sine[b],
            boxes[b, 3],
            boxes[b, 4],
        ):
            met = True
            break
    return met


@inlined
def _is_drivable(x, y, drivable):
    """1 or 0."""
    column, row = np.floor((x + RASTER_BEHIND) / CELL), np.floor((y + RASTER_SIDE) / CELL)
    outside = column < 0 or row < 0 or column >= drivable.shape[0] or row >= drivable.shape[1]
    return 1 if outside or drivable[int(column), int(row)] else 0


@inlined
def _progress(x, y, end_x, end_y):
    distance = np.sqrt(end_x * end_x + end_y * end_y)
    return (
        1.0 if distance <= MIN_EXPERT_DISTANCE else min(max((x * end_x + y * end_y) / (distance * distance), 0.0), 1.0)
    )


@inlined
def _is_comfortable(plan):
    comfortable = True
    for k in range(len(plan) - 1):
        # The pose before the first one is the ego's own: the origin.
        x0, y0, h0 = (plan[k - 1, 0], plan[k - 1, 1], plan[k - 1, 2]) if k > 0 else (0.0, 0.0, 0.0)
        ax = (plan[k + 1, 0] - 2.0 * plan[k, 0] + x0) / (PLAN_INTERVAL * PLAN_INTERVAL)
        ay = (plan[k + 1, 1] - 2.0 * plan[k, 1] + y0) / (PLAN_INTERVAL * PLAN_INTERVAL)
        turn = wrap(plan[k + 1, 2] - h0) / (2.0 * PLAN_INTERVAL)
        if ax * ax + ay * ay >= MAX_ACCELERATION * MAX_ACCELERATION or abs(turn) >= MAX_YAW_RATE:
            comfortable = False
    return comfortable
