"""Forty steps of traffic beside one rollout of the ego.

At each step, with the ego where it was one step before: vehicles more than 100 m from its rear axle are removed for
good. Then, one after the other, each vehicle looks along the corridor of its own width from where it is to the end of
its path. Whoever meets the corridor (vehicles by the shapes they occupy, the ego by its box) is a candidate; the
nearest to the vehicle's own shape leads, and the model of `idm` sets the acceleration. Without candidates the end of
the path leads, standing, half a vehicle length nearer. Position and speed take one Euler step, and the vehicle
occupies its new shape before the next one looks.

What is seen: simulated vehicles on their paths, and of the parked ones those that meet no vehicle already seen at this
step.

Shapes: V simulated vehicles, A tracks of the scene, S = 41 steps, L rollouts.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from world4scorer.engine.kernels import inlined, kernel, leaf
from world4scorer.engine.reactive.idm import acceleration
from world4scorer.engine.reactive.overlapping_leads import first_nearest
from world4scorer.engine.reactive.paths import clamp, pose_at
from world4scorer.engine.reactive.rings import bounds_apart
from world4scorer.engine.reactive.shapes import (
    bound_corridor,
    distance,
    empty_shapes,
    in_corridor,
    lay_corridor,
    place_box,
    place_vehicle,
)
from world4scorer.engine.rollout.angles import sine_cosine, wrap
from world4scorer.engine.scene.boxes import boxes_meet
from world4scorer.engine.scene.geometry import Floats
from world4scorer.engine.scene.indices import DT, STEPS, Box, State
from world4scorer.engine.scene.vehicle import LENGTH as EGO_LENGTH
from world4scorer.engine.scene.vehicle import WIDTH as EGO_WIDTH

X: Final = int(State.X)
Y: Final = int(State.Y)
HEADING: Final = int(State.HEADING)
VELOCITY_X: Final = int(State.VELOCITY_X)
VELOCITY_Y: Final = int(State.VELOCITY_Y)

BOX_X: Final = int(Box.X)
BOX_Y: Final = int(Box.Y)
BOX_HEADING: Final = int(Box.HEADING)
BOX_LENGTH: Final = int(Box.LENGTH)
BOX_WIDTH: Final = int(Box.WIDTH)
BOX_VELOCITY_X: Final = int(Box.VELOCITY_X)
BOX_VELOCITY_Y: Final = int(Box.VELOCITY_Y)

RADIUS: Final = 100.0
"""Distance from the ego beyond which vehicles are removed [m]."""

GONE: Final = -2
"""Lead of a vehicle that was removed."""
NOBODY: Final = -1
"""Lead of a vehicle that has only the end of its path ahead."""


class Trace(NamedTuple):
    """What each vehicle did at each step; row 0 is now."""

    lead: NDArray[np.int64]
    """(S, V) the leading vehicle, V for the ego, `NOBODY`, or `GONE`."""
    candidates: NDArray[np.int64]
    """(S, V) entries that met the corridor, itself included."""
    gap: Floats
    """(S, V) distance to the lead, or to the end of the path [m]."""
    lead_speed: Floats
    """(S, V) speed of the lead along the vehicle's heading [m/s]."""
    progress: Floats
    """(S, V) distance along the baseline after the step [m]."""
    speed: Floats
    """(S, V) after the step [m/s]."""


class Traffic(NamedTuple):
    """Room for the simulation, used again for every rollout."""

    trace: Trace
    shapes: tuple[Floats, ...]
    present: NDArray[np.bool_]
    """(V,) whether a vehicle is still simulated."""
    others: NDArray[np.int64]
    """(V + 1,) scratch: candidates other than the vehicle itself."""
    gaps: Floats
    """(V + 1,) scratch: their distances [m]."""


@kernel
def empty_traffic(start):
    """Room for the simulation of the vehicles of `start`."""
    count = start.track.size
    trace = Trace(
        np.empty((STEPS, count), np.int64),
        np.empty((STEPS, count), np.int64),
        np.empty((STEPS, count)),
        np.empty((STEPS, count)),
        np.empty((STEPS, count)),
        np.empty((STEPS, count)),
    )
    shapes = empty_shapes(count, start.outline_points)
    return Traffic(trace, shapes, np.empty(count, np.bool_), np.empty(count + 1, np.int64), np.empty(count + 1))


@kernel
def drive(start, states, rollout, traffic, boxes, valid):
    """Simulate the traffic beside one rollout of `states` (11, S, L).

    Fills the rows of vehicles in `boxes` (A, S.., 7) and `valid` (A, S..) from step 1 on. Returns -1, or the vehicle
    whose own shape lies off its corridor, where the official code fails.
    """
    trace, shapes, present = traffic.trace, traffic.shapes, traffic.present
    count = start.track.size
    for v in range(count):
        present[v] = True
        trace.progress[0, v], trace.speed[0, v] = start.progress[v], start.speed[v]
        trace.lead[0, v], trace.candidates[0, v] = NOBODY, 0
        trace.gap[0, v] = trace.lead_speed[0, v] = np.nan
        place_box(shapes, v, start.pose[v, 0], start.pose[v, 1], start.pose[v, 2], start.length[v], start.width[v])
    for k in range(1, STEPS):
        ego_x, ego_y = states[X, k - 1, rollout] - start.origin[0], states[Y, k - 1, rollout] - start.origin[1]
        place_box(shapes, count, ego_x, ego_y, states[HEADING, k - 1, rollout], EGO_LENGTH, EGO_WIDTH)
        _remove_far(start, traffic, k, ego_x, ego_y)
        for v in range(count):
            if present[v] and not _step(start, states, rollout, traffic, k, v):
                return v
        _show_simulated(start, traffic, k, boxes, valid)
        _show_parked(start, present, k, boxes, valid)
    return -1


@leaf
def _remove_far(start, traffic, k, ego_x, ego_y):
    trace = traffic.trace
    for v in range(traffic.present.size):
        if not traffic.present[v]:
            trace.lead[k, v] = GONE
            continue
        x, y, _ = pose_at(start.paths, v, clamp(start.paths, v, trace.progress[k - 1, v]))
        dx, dy = x - ego_x, y - ego_y
        if np.sqrt(dx * dx + dy * dy) > RADIUS:
            traffic.present[v] = False
            trace.lead[k, v] = GONE


@kernel
def _step(start, states, rollout, traffic, k, v):
    """Move vehicle v to step k; False where its own shape lies off its corridor."""
    trace, shapes, paths = traffic.trace, traffic.shapes, start.paths
    progress, speed = trace.progress[k - 1, v], trace.speed[k - 1, v]
    found = 0
    if _is_crowded(start, traffic, k, v):
        found = _candidates(start, traffic, k, v)
        if found < 0:
            return False
    lead, gap, lead_speed, rear = NOBODY, paths.along[paths.first[v + 1] - 1] - progress, 0.0, 0.5 * start.length[v]
    if found > 0:
        choice = _nearest(shapes, v, traffic.others[:found], traffic.gaps[:found])
        lead, gap, rear = traffic.others[choice], traffic.gaps[choice], 0.0
        _, _, heading = pose_at(paths, v, clamp(paths, v, progress))
        lead_speed = _speed_along(start, states, rollout, trace, k, v, lead, heading)
    change = acceleration(speed, start.target[v], gap - rear, lead_speed)
    trace.lead[k, v], trace.candidates[k, v] = lead, found + 1
    trace.gap[k, v], trace.lead_speed[k, v] = gap, lead_speed
    trace.progress[k, v] = progress + DT * speed
    trace.speed[k, v] = max(speed + DT * change, 0.0)
    place_vehicle(shapes, paths, v, trace.progress[k, v], trace.speed[k, v], start.length[v], start.width[v])
    return True


@leaf
def _is_crowded(start, traffic, k, v):
    """Whether anything but the vehicle itself may meet its corridor, or itself may not.

    From the second step on a vehicle stands where its corridor begins; before, it may lie beyond the end of its path.
    """
    shapes, paths, progress = traffic.shapes, start.paths, traffic.trace.progress[k - 1, v]
    if k == 1 and progress > paths.along[paths.first[v + 1] - 1]:
        return True
    bound_corridor(shapes, paths, v, progress, start.width[v])
    for w in range(start.track.size + 1):
        there = w != v and (w == start.track.size or traffic.present[w])
        if there and not bounds_apart(shapes.corridor_bounds, shapes.bounds[w]):
            return True
    return False


@leaf
def _candidates(start, traffic, k, v):
    """List in `others` who meets the corridor of vehicle v; returns their number, or -1 if it does not do so itself."""
    shapes = traffic.shapes
    size = lay_corridor(shapes, start.paths, v, traffic.trace.progress[k - 1, v], start.width[v])
    found, itself = 0, False
    for w in range(start.track.size + 1):
        if (w == start.track.size or traffic.present[w]) and in_corridor(shapes, size, w):
            if w == v:
                itself = True
            else:
                traffic.others[found] = w
                found += 1
    return found if itself else -1


@kernel
def _nearest(shapes, v, others, gaps):
    """Fill `gaps` with the distances of the others from vehicle v and return the index of the nearest."""
    best, ties = 0, 0
    for i in range(others.size):
        gaps[i] = distance(shapes, v, others[i])
        if gaps[i] < gaps[best]:
            best, ties = i, 0
        ties += gaps[i] == gaps[best]
    if ties > 1:
        return first_nearest(shapes.bounds[others], gaps, shapes.bounds[v])
    return best


@inlined
def _speed_along(start, states, rollout, trace, k, v, lead, heading):
    """Speed of the lead along a heading; vehicles earlier in the list have made step k already."""
    if lead == start.track.size:
        vx, vy = states[VELOCITY_X, k - 1, rollout], states[VELOCITY_Y, k - 1, rollout]
        speed = np.sqrt(vx * vx + vy * vy)
        direction = states[HEADING, k - 1, rollout]
    else:
        step = k if lead < v else k - 1
        speed = trace.speed[step, lead]
        _, _, direction = pose_at(start.paths, lead, clamp(start.paths, lead, trace.progress[step, lead]))
    _, cosine = sine_cosine(direction - heading)
    return speed * cosine


@leaf
def _show_simulated(start, traffic, k, boxes, valid):
    for v in range(traffic.present.size):
        row = start.track[v]
        valid[row, k] = traffic.present[v]
        if traffic.present[v]:
            x, y, heading = pose_at(start.paths, v, clamp(start.paths, v, traffic.trace.progress[k, v]))
            s, c = sine_cosine(heading)
            box = boxes[row, k]
            box[BOX_X], box[BOX_Y], box[BOX_HEADING] = x + start.origin[0], y + start.origin[1], wrap(heading)
            box[BOX_LENGTH], box[BOX_WIDTH] = start.length[v], start.width[v]
            speed = traffic.trace.speed[k, v]
            box[BOX_VELOCITY_X], box[BOX_VELOCITY_Y] = speed * c, speed * s


@leaf
def _show_parked(start, present, k, boxes, valid):
    for q in range(start.parked.size):
        row = start.parked[q]
        free = True
        for v in range(present.size):
            free = free and not (present[v] and _meet(boxes[row, 0], boxes[start.track[v], k]))
        for p in range(q):
            free = free and not (valid[start.parked[p], k] and _meet(boxes[row, 0], boxes[start.parked[p], k]))
        valid[row, k] = free
        if free:
            for column in range(boxes.shape[2]):
                boxes[row, k, column] = boxes[row, 0, column]


@leaf
def _meet(one, other):
    """Whether two boxes (7,) meet."""
    dx, dy = one[BOX_X] - other[BOX_X], one[BOX_Y] - other[BOX_Y]
    reach = 0.5 * (one[BOX_LENGTH] + one[BOX_WIDTH] + other[BOX_LENGTH] + other[BOX_WIDTH])
    if dx * dx + dy * dy > reach * reach:
        return False
    s, c = sine_cosine(one[BOX_HEADING])
    t, d = sine_cosine(other[BOX_HEADING])
    return boxes_meet(
        one[BOX_X], one[BOX_Y], c, s, 0.5 * one[BOX_LENGTH], 0.5 * one[BOX_WIDTH],
        other[BOX_X], other[BOX_Y], d, t, 0.5 * other[BOX_LENGTH], 0.5 * other[BOX_WIDTH],
    )  # fmt: skip
