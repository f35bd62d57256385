"""Tracks near a set of rollouts, by step.

Shapes: N rollouts, T = 41 ego steps, A tracks of the scene, S steps of traffic, B tracks that come near at any time.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from world4scorer.engine.kernels import inlined, kernel, leaf
from world4scorer.engine.outcomes.ego import RADIUS
from world4scorer.engine.rollout.angles import sine_cosine
from world4scorer.engine.scene.boxes import boxes_meet
from world4scorer.engine.scene.indices import DT, FIRST_STATIC_TYPE, Box
from world4scorer.engine.scene.vehicle import HALF_LENGTH, HALF_WIDTH

X: Final = int(Box.X)
Y: Final = int(Box.Y)
HEADING: Final = int(Box.HEADING)
LENGTH: Final = int(Box.LENGTH)
WIDTH: Final = int(Box.WIDTH)
VELOCITY_X: Final = int(Box.VELOCITY_X)
VELOCITY_Y: Final = int(Box.VELOCITY_Y)

STOPPED_SPEED: Final = 0.05
"""Speed at or below which an ego or a track stands [m/s]."""
LOOK_AHEAD_STEPS: Final = (0, 3, 6, 9)
"""Steps by which time to collision moves the ego ahead."""
BEHIND_COSINE: Final = -np.cos(np.pi / 6)
"""Cosine of 150 degrees."""
AHEAD_COSINE: Final = np.cos(np.pi / 6)
"""Cosine of 30 degrees."""


class Traffic(NamedTuple):
    """Tracks near the rollouts."""

    track: NDArray[np.int64]
    """(B,) index among the scene's tracks."""
    static: NDArray[np.bool_]
    """(B,) whether its type is static."""
    stopped: NDArray[np.bool_]
    """(B,) static, or standing when first seen."""
    valid: NDArray[np.bool_]
    """(B, S)"""
    x: NDArray[np.float64]
    """(B, S) centre [m]; the following have the same shape."""
    y: NDArray[np.float64]
    cosine: NDArray[np.float64]
    sine: NDArray[np.float64]
    half_length: NDArray[np.float64]
    half_width: NDArray[np.float64]
    radius: NDArray[np.float64]
    near_start: NDArray[np.int64]
    """(T * 4 + 1,) offsets into `near`, by step and look-ahead; empty before rollouts are known."""
    near: NDArray[np.int64]
    """Tracks that any rollout could meet at that step and look-ahead."""


@kernel
def nearby_traffic(boxes, valid, types, steps, without_overlap, ego):
    """Select the tracks (A, S.., 7) that rollouts `ego` may meet within `steps` steps.

    `without_overlap` leaves out every track that overlaps the ego now, as the v2 metrics do.
    """
    reach = ego_reach(ego)
    traffic = traffic_within(boxes, valid, types, steps, without_overlap, ego, reach_bounds(reach))
    return near_rollouts(traffic, reach)


@kernel
def traffic_within(boxes, valid, types, steps, without_overlap, ego, bounds):
    """Select the tracks (A, S.., 7) that enter `bounds` (4,) within `steps` steps, near no rollouts yet.

    Of `ego` only the pose now is used, the same for all rollouts.
    """
    count = boxes.shape[0]
    chosen = np.empty(count, np.int64)
    first = np.empty(count, np.int64)
    kept = _choose(boxes, valid, steps, without_overlap, ego, bounds, chosen, first)
    shape = (kept, steps)
    traffic = Traffic(
        chosen[:kept],
        np.empty(kept, np.bool_),
        np.empty(kept, np.bool_),
        np.empty(shape, np.bool_),
        np.empty(shape),
        np.empty(shape),
        np.empty(shape),
        np.empty(shape),
        np.empty(shape),
        np.empty(shape),
        np.empty(shape),
        np.empty(0, np.int64),
        np.empty(0, np.int64),
    )
    _fill(boxes, valid, types, first, traffic)
    return traffic


@kernel
def near_rollouts(traffic, reach):
    """The same tracks, with those listed that rollouts of `reach` (T, 4, 4) could meet."""
    slots = reach.shape[0] * len(LOOK_AHEAD_STEPS)
    near_start, near = np.empty(slots + 1, np.int64), np.empty(slots * traffic.track.size, np.int64)
    _list_near(traffic, reach, near_start, near)
    return Traffic(
        traffic.track, traffic.static, traffic.stopped, traffic.valid, traffic.x, traffic.y, traffic.cosine,
        traffic.sine, traffic.half_length, traffic.half_width, traffic.radius, near_start, near,
    )  # fmt: skip


@kernel
def ego_reach(ego):
    """(T, 4, 4) bounds of all rollouts' boxes at each step and look-ahead."""
    reach = np.empty((ego.x.shape[1], len(LOOK_AHEAD_STEPS), 4))
    _reach(ego, reach)
    return reach


@kernel
def reach_bounds(reach):
    """(4,) bounds of all steps and look-aheads of `reach` (T, 4, 4): x_min, y_min, x_max, y_max."""
    left = low = np.inf
    right = high = -np.inf
    for t in range(reach.shape[0]):
        for a in range(reach.shape[1]):
            left, low = min(left, reach[t, a, 0]), min(low, reach[t, a, 1])
            right, high = max(right, reach[t, a, 2]), max(high, reach[t, a, 3])
    bounds = np.empty(4)
    bounds[0], bounds[1], bounds[2], bounds[3] = left, low, right, high
    return bounds


@leaf
def _reach(ego, reach):
    """Fill `reach` (T, 4, 4): bounds of all rollouts' boxes at each step and look-ahead, x_min, y_min, x_max, y_max."""
    for t in range(reach.shape[0]):
        for a in range(len(LOOK_AHEAD_STEPS)):
            left = low = np.inf
            right = high = -np.inf
            ahead = DT * LOOK_AHEAD_STEPS[a]
            for n in range(ego.x.shape[0]):
                shift = ego.speed[n, t] * ahead
                x = ego.x[n, t] + shift * ego.cosine[n, t]
                y = ego.y[n, t] + shift * ego.sine[n, t]
                left, right = min(left, x), max(right, x)
                low, high = min(low, y), max(high, y)
            reach[t, a, 0], reach[t, a, 1] = left - RADIUS, low - RADIUS
            reach[t, a, 2], reach[t, a, 3] = right + RADIUS, high + RADIUS


@leaf
def _choose(boxes, valid, steps, without_overlap, ego, bounds, chosen, first):
    """List in `chosen` the tracks that enter `bounds` (4,); `first` is the first step each is seen."""
    left, low, right, high = bounds
    kept = 0
    for i in range(boxes.shape[0]):
        seen, close = -1, False
        for t in range(steps):
            if valid[i, t]:
                if seen < 0:
                    seen = t
                radius = 0.5 * (boxes[i, t, LENGTH] + boxes[i, t, WIDTH])  # never less than half the diagonal
                x, y = boxes[i, t, X], boxes[i, t, Y]
                if x + radius >= left and x - radius <= right and y + radius >= low and y - radius <= high:
                    close = True
                    break
        if close and not (without_overlap and valid[i, 0] and _overlaps_now(boxes, i, ego)):
            chosen[kept] = i
            first[kept] = seen
            kept += 1
    return kept


@inlined
def _overlaps_now(boxes, i, ego):
    s, c = sine_cosine(boxes[i, 0, HEADING])
    return boxes_meet(
        ego.x[0, 0], ego.y[0, 0], ego.cosine[0, 0], ego.sine[0, 0], HALF_LENGTH, HALF_WIDTH,
        boxes[i, 0, X], boxes[i, 0, Y], c, s, 0.5 * boxes[i, 0, LENGTH], 0.5 * boxes[i, 0, WIDTH],
    )  # fmt: skip


@leaf
def _fill(boxes, valid, types, first, traffic):
    """Fill the fields of `traffic` for the tracks it lists."""
    count, steps = traffic.valid.shape
    for b in range(count):
        i = traffic.track[b]
        traffic.static[b] = types[i] >= FIRST_STATIC_TYPE
        vx, vy = boxes[i, first[b], VELOCITY_X], boxes[i, first[b], VELOCITY_Y]
        traffic.stopped[b] = traffic.static[b] or np.sqrt(vx * vx + vy * vy) <= STOPPED_SPEED
        for t in range(steps):
            traffic.valid[b, t] = valid[i, t]
            if not valid[i, t]:
                continue
            s, c = sine_cosine(boxes[i, t, HEADING])
            half_length, half_width = 0.5 * boxes[i, t, LENGTH], 0.5 * boxes[i, t, WIDTH]
            traffic.x[b, t] = boxes[i, t, X]
            traffic.y[b, t] = boxes[i, t, Y]
            traffic.cosine[b, t] = c
            traffic.sine[b, t] = s
            traffic.half_length[b, t] = half_length
            traffic.half_width[b, t] = half_width
            traffic.radius[b, t] = np.sqrt(half_length * half_length + half_width * half_width)


@leaf
def _list_near(traffic, reach, near_start, near):
    """Fill `near_start` (T * 4 + 1,) and `near` with the tracks inside each bounds of `reach`."""
    count, steps = traffic.valid.shape
    used = 0
    for t in range(reach.shape[0]):
        for a in range(len(LOOK_AHEAD_STEPS)):
            near_start[t * len(LOOK_AHEAD_STEPS) + a] = used
            step = t + LOOK_AHEAD_STEPS[a]
            if step >= steps:
                continue
            left, low, right, high = reach[t, a, 0], reach[t, a, 1], reach[t, a, 2], reach[t, a, 3]
            for b in range(count):
                if traffic.valid[b, step]:
                    x, y, radius = traffic.x[b, step], traffic.y[b, step], traffic.radius[b, step]
                    if x + radius >= left and x - radius <= right and y + radius >= low and y - radius <= high:
                        near[used] = b
                        used += 1
    near_start[reach.shape[0] * len(LOOK_AHEAD_STEPS)] = used


@inlined
def meets_track(ego, n, t, x, y, traffic, b, step):
    """Whether the ego's box of step t, moved to centre x, y, meets track b as it is at `step`."""
    dx, dy = traffic.x[b, step] - x, traffic.y[b, step] - y
    reach = RADIUS + traffic.radius[b, step] + 1e-6  # the exact test below decides what only just touches
    return dx * dx + dy * dy <= reach * reach and boxes_meet(
        x, y, ego.cosine[n, t], ego.sine[n, t], HALF_LENGTH, HALF_WIDTH,
        traffic.x[b, step], traffic.y[b, step], traffic.cosine[b, step], traffic.sine[b, step],
        traffic.half_length[b, step], traffic.half_width[b, step],
    )  # fmt: skip


@inlined
def bearing(ego, n, t, traffic, b, step):
    """Cosine of the angle between the ego's heading and the vector from its rear axle to the centre of a track.

    Not clamped: where rounding carries it beyond one, or the vector is zero, the official arccosine is undefined and
    the track counts as neither ahead nor behind; NaN here does the same.
    """
    dx, dy = traffic.x[b, step] - ego.rear_x[n, t], traffic.y[b, step] - ego.rear_y[n, t]
    distance = np.sqrt(dx * dx + dy * dy)
    cosine = ego.cosine[n, t] * (dx / distance) + ego.sine[n, t] * (dy / distance)
    return cosine if abs(cosine) <= 1.0 else np.nan
