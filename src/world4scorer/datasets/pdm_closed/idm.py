"""Proposals of the reference planner: the intelligent driver model on each path, at five target speeds.

Steps are 0.1 s; the leader is updated at even steps. Step 0 has no leader, so step 1 brakes for a gap of one metre.
Between the five proposals of a path the leader's values carry over where an update does not write them (the speed of a
red light, the rear overhang of an object): a quirk of the official planner that its results depend on.

Shapes: J = 15 proposals (path by path), S = 51 steps.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from world4scorer.datasets.pdm_closed.leading_object import find_in_corridor, nearest_ahead
from world4scorer.datasets.pdm_closed.paths import pose_at
from world4scorer.engine.kernels import kernel
from world4scorer.engine.scene.indices import DT, STEPS
from world4scorer.engine.scene.vehicle import HALF_LENGTH

PROPOSAL_STEPS: Final = 51
"""Steps of the chosen proposal; proposals are scored on the first 41."""
SPEED_SHARES: Final = (0.2, 0.4, 0.6, 0.8, 1.0)
"""Target speeds, as shares of the speed limit."""
POLICIES: Final = len(SPEED_SHARES)
DEFAULT_SPEED_LIMIT: Final = 15.0
"""Speed limit where the map has none [m/s]."""
MAX_ACCELERATION: Final = 1.5
"""m/s^2"""
MAX_DECELERATION: Final = 3.0
"""m/s^2"""
MIN_GAP: Final = 1.0
"""m"""
TIME_HEADWAY: Final = 1.5
"""s"""


class Proposals(NamedTuple):
    """Proposals, filled step by step."""

    along: NDArray[np.float64]
    """(J, S) along the path [m]."""
    speed: NDArray[np.float64]
    """(J, S) m/s"""
    leader: NDArray[np.float64]
    """(J, S, 3) progress of the leader's rear [m], its speed [m/s] and rear overhang [m]."""
    poses: NDArray[np.float64]
    """(J, S, 3) x, y [m], heading [rad] of the rear axle."""


def empty_proposals(paths: int) -> Proposals:
    """Buffers for the proposals of `paths` paths."""
    shape = (paths * POLICIES, PROPOSAL_STEPS)
    return Proposals(np.zeros(shape), np.zeros(shape), np.zeros((*shape, 3)), np.zeros((*shape, 3)))


@kernel
def propose(poses, progress, bounds, targets, obstacles, corridors, met, rank, out, start, speed):
    """Fill the first 41 steps of all proposals, from `start` (L,) along the paths at `speed`, towards `targets` (5,).

    `met` (L, K) says which red areas meet the corridors; `rank` (L, 26, N + K) orders obstacles by step pair. Returns
    whether rank ever mattered.
    """
    tie = False
    for path in range(poses.shape[0]):
        for j in range(path * POLICIES, (path + 1) * POLICIES):
            out.along[j, 0] = start[path]
            out.speed[j, 0] = speed
            pose_at(poses[path], progress[path], start[path], out.poses[j, 0])
        tie |= _advance(
            poses, progress, bounds, targets, obstacles, corridors, met, rank, out,
            path, path * POLICIES, (path + 1) * POLICIES, 1, STEPS,
        )  # fmt: skip
    return tie


@kernel
def extend(poses, progress, bounds, targets, obstacles, corridors, met, rank, out, chosen):
    """Fill steps 41 to 50 of one proposal; returns whether rank mattered."""
    return _advance(
        poses, progress, bounds, targets, obstacles, corridors, met, rank, out,
        chosen // POLICIES, chosen, chosen + 1, STEPS, PROPOSAL_STEPS,
    )  # fmt: skip


@kernel
def _advance(poses, progress, bounds, targets, obstacles, corridors, met, rank, out, path, first, last, begin, end):
    """Steps `begin` to `end` of the proposals `first` to `last` of a path."""
    count = obstacles.x.size
    boxes = obstacles.heading.size
    along = np.empty(count)
    for k in range(count - boxes):
        along[boxes + k] = 0.0 if met[path, k] else np.nan
    listed = np.zeros(count + 1, np.int64)
    found = np.empty(2)
    current = np.empty(3)
    tie, looked = False, False
    length = progress[path, progress.shape[1] - 1]
    for step in range(begin, end):
        if step % 2 == 0:
            find_in_corridor(
                obstacles, corridors, path, poses[path], bounds[path], progress[path], step, not looked, listed, along
            )
            looked = True
            for column in range(3):
                current[column] = 0.0
            for j in range(first, last):
                passed = out.along[j, step - 1]
                tie |= nearest_ahead(
                    obstacles, listed, along, rank[path, step // 2], step, passed, out.poses[j, step - 1], found
                )
                if np.isfinite(found[0]):
                    current[0] = passed + found[0]
                    current[1] = current[1] if np.isnan(found[1]) else found[1]
                else:
                    current[0] = length
                    current[2] = HALF_LENGTH
                for column in range(3):
                    out.leader[j, step, column] = current[column]
        else:
            for j in range(first, last):
                for column in range(3):
                    out.leader[j, step, column] = out.leader[j, step - 1, column]
        for j in range(first, last):
            passed, speed = out.along[j, step - 1], out.speed[j, step - 1]
            leader = out.leader[j, step]
            closing = speed * (speed - leader[1]) / (2.0 * np.sqrt(MAX_ACCELERATION * MAX_DECELERATION))
            wanted = MIN_GAP + TIME_HEADWAY * speed + closing
            gap = max(leader[0] - passed - leader[2], MIN_GAP)
            share = speed / targets[j % POLICIES]
            fifth = share * share * share * share * share
            acceleration = MAX_ACCELERATION * (1.0 - fifth * fifth - (wanted / gap) * (wanted / gap))
            out.along[j, step] = passed + DT * speed
            out.speed[j, step] = speed + DT * min(max(acceleration, -MAX_DECELERATION), MAX_ACCELERATION)
            pose_at(poses[path], progress[path], out.along[j, step], out.poses[j, step])
    return tie
