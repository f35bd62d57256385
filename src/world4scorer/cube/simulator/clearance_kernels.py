"""Physics steps without most collisions, verified by the checks of `clearance`."""

from __future__ import annotations

import mujoco
import numpy as np

from world4scorer.cube.simulator.clearance import GRID_CELL, LOWEST_ANGLE
from world4scorer.cube.simulator.mujoco_library import mj_geomDistance, mj_getState, mj_setState, mj_step
from world4scorer.engine.kernels import kernel, leaf

STATE = int(mujoco.mjtState.mjSTATE_FULLPHYSICS | mujoco.mjtState.mjSTATE_WARMSTART)
"""State components of a physics step: time, positions, velocities, warm start of the solver."""
MAX_LINK_DISTANCE = 0.5
"""Distances of links are measured up to here [m]."""
MARGIN = 1e-4
"""Subtracted from measured distances [m]; MuJoCo's tolerance is 1e-6."""
STALE_SHARE = 0.3
"""Distances are measured anew when no more of them is left than this part."""
ROUNDING_MARGIN = 1e-7
"""By which spheres and boxes must be apart [m]."""


@kernel
def advance(steps, quick, complete, data, positions, matrices, clearance, before):
    """Take physics steps as the complete model would; the number of those for which it was needed.

    `quick`, `complete`, `data`: addresses. `positions` (geoms, 3) and `matrices` (geoms, 9): views of `data`. `before`:
    memory for a state.
    """
    repeated = 0
    angles = before[1 : 1 + len(clearance.links.origin)]  # after the time: where the step looks for collisions
    for _ in range(steps):
        mj_getState(complete, data, before.ctypes.data, STATE)
        mj_step(quick, data)
        if not (
            _above_floor(positions, matrices, clearance.boxes)
            and _cube_apart(complete, data, positions, matrices, clearance.boxes)
            and _fingers_apart(complete, data, angles, positions, matrices, clearance.fingers)
            and _links_apart(complete, data, angles, clearance.links)
        ):
            mj_setState(complete, data, before.ctypes.data, STATE)
            mj_step(complete, data)
            repeated += 1
    return repeated


@leaf
def _above_floor(positions, matrices, boxes):
    """Whether the boxes around all links are above the floor."""
    for i in range(boxes.links):
        geom = boxes.geoms[i]
        lowest = positions[geom, 2] - boxes.floor_height - ROUNDING_MARGIN
        for k in range(3):
            z = matrices[geom, 6 + k]
            lowest += z * boxes.centre[i, k] - abs(z) * boxes.half[i, k]
        if lowest <= 0.0:
            return False
    return True


@leaf
def _cube_apart(model, data, positions, matrices, boxes):
    """Whether the cube touches neither links nor walls."""
    cube = boxes.cube
    radius = boxes.cube_radius + ROUNDING_MARGIN
    for i in range(len(boxes.geoms)):
        geom = boxes.geoms[i]
        beyond = 0.0
        for axis in range(3):
            along = -boxes.centre[i, axis]
            for k in range(3):
                along += matrices[geom, 3 * k + axis] * (positions[cube, k] - positions[geom, k])
            outside = max(abs(along) - boxes.half[i, axis], 0.0)
            beyond += outside * outside
        if beyond <= radius * radius and not _cube_apart_from(model, data, positions, matrices, boxes, i):
            return False
    return True


@leaf
def _cube_apart_from(model, data, positions, matrices, boxes, i):
    """Whether the cube is apart from one geom, by their last distance if possible.

    Since then no point of the cube has moved in the geom's frame by more than the cube's centre, plus the change of
    its rotation (Frobenius norm) times the distance from the centre.
    """
    cube, geom = boxes.cube, boxes.geoms[i]
    last = boxes.pose[i]
    shift = 0.0
    rotation = 0.0
    for axis in range(3):
        along = 0.0
        for k in range(3):
            along += matrices[geom, 3 * k + axis] * (positions[cube, k] - positions[geom, k])
        shift += (along - last[axis]) ** 2
        for column in range(3):
            turned = 0.0
            for k in range(3):
                turned += matrices[geom, 3 * k + axis] * matrices[cube, 3 * k + column]
            rotation += (turned - last[3 + 3 * axis + column]) ** 2
    if np.sqrt(shift) + np.sqrt(rotation) * boxes.cube_radius < boxes.slack[i]:
        return True
    distance = mj_geomDistance(model, data, geom, cube, MAX_LINK_DISTANCE, 0)
    boxes.slack[i] = max(distance - MARGIN, 0.0)
    for axis in range(3):
        last[axis] = 0.0
        for k in range(3):
            last[axis] += matrices[geom, 3 * k + axis] * (positions[cube, k] - positions[geom, k])
        for column in range(3):
            turned = 0.0
            for k in range(3):
                turned += matrices[geom, 3 * k + axis] * matrices[cube, 3 * k + column]
            last[3 + 3 * axis + column] = turned
    return boxes.slack[i] > 0.0


@leaf
def _fingers_apart(model, data, angles, positions, matrices, fingers):
    """Whether the fingers touch neither themselves nor the gripper's base, and each other at most with their pads."""
    links_right, pads_right, apart_right = _finger_apart(model, data, 0, angles, positions, matrices, fingers)
    links_left, pads_left, apart_left = _finger_apart(model, data, 1, angles, positions, matrices, fingers)
    if not (apart_right and apart_left):
        return False
    if min(links_right + min(links_left, pads_left), pads_right + links_left) > ROUNDING_MARGIN:
        return True
    links_right, pads_right = _inner(0, positions, matrices, fingers)
    links_left, pads_left = _inner(1, positions, matrices, fingers)
    return min(links_right + min(links_left, pads_left), pads_right + links_left) > ROUNDING_MARGIN


@leaf
def _finger_apart(model, data, side, angles, positions, matrices, fingers):
    """Bounds on how far links and pads of a finger are on its side of the middle; whether it does not touch itself."""
    joints, swing = fingers.joints[side], fingers.swing[side]
    last = fingers.weight.shape[1] - 1
    row = min(max(int((angles[joints[0]] - LOWEST_ANGLE) / GRID_CELL), 0), last)
    column = min(max(int((angles[joints[2]] - LOWEST_ANGLE) / GRID_CELL), 0), last)
    weight, origin = fingers.weight[side, row, column], fingers.origin[side, row, column]
    inner = fingers.inner[side, row, column]
    turn = 0.0
    moved = 0.0
    for k in range(len(joints)):
        turned = abs(angles[joints[k]] - origin[k])
        turn += weight[k] * turned
        moved += swing[k] * turned
    if turn < 1.0:
        return inner[0] - moved, inner[1] - moved, True
    for k in range(len(joints)):
        weight[k] = 0.0
        origin[k] = angles[joints[k]]
    inner[0], inner[1] = _inner(side, positions, matrices, fingers)
    for p in range(fingers.pairs.shape[1]):
        first, second = fingers.pairs[side, p, 0], fingers.pairs[side, p, 1]
        spare = mj_geomDistance(model, data, first, second, MAX_LINK_DISTANCE, 0) - MARGIN
        _limit(weight, fingers.reach[side, p], spare)
    return inner[0], inner[1], weight[0] < np.inf


@leaf
def _inner(side, positions, matrices, fingers):
    """How far links and pads of a finger are on its side of the middle: two distances, negative beyond it."""
    base = fingers.base
    sign = 1.0 - 2.0 * side
    x = y = z = middle = 0.0
    for k in range(3):
        x += sign * matrices[base, k] * fingers.axis[k]
        y += sign * matrices[base, 3 + k] * fingers.axis[k]
        z += sign * matrices[base, 6 + k] * fingers.axis[k]
        middle += sign * fingers.middle[k] * fingers.axis[k]
    count = fingers.geoms.shape[1]
    links = pads = np.inf
    corner = 0 if side == 0 else fingers.until[0, count - 1]
    for i in range(count):
        geom = fingers.geoms[side, i]
        at = x * (positions[geom, 0] - positions[base, 0]) - middle
        at += y * (positions[geom, 1] - positions[base, 1])
        at += z * (positions[geom, 2] - positions[base, 2])
        a = x * matrices[geom, 0] + y * matrices[geom, 3] + z * matrices[geom, 6]
        b = x * matrices[geom, 1] + y * matrices[geom, 4] + z * matrices[geom, 7]
        c = x * matrices[geom, 2] + y * matrices[geom, 5] + z * matrices[geom, 8]
        least = np.inf
        while corner < fingers.until[side, i]:
            point = fingers.corners[corner]
            least = min(least, a * point[0] + b * point[1] + c * point[2])
            corner += 1
        if i < count - fingers.pads:
            links = min(links, at + least)
        else:
            pads = min(pads, at + least)
    return links, pads


@leaf
def _links_apart(model, data, angles, links):
    """Whether no two links touch of which one is the arm's.

    Measures those again that may have lost most of their distance.
    """
    if _turn(angles, links.weight, links.origin) < 1.0:
        return True
    for j in range(len(angles)):
        links.weight[j] = 0.0
        links.origin[j] = angles[j]
    for p in range(len(links.pairs)):
        spare = links.slack[p] - _turn(angles, links.reach[p], links.anchor[p])
        if spare <= STALE_SHARE * links.slack[p]:
            spare = mj_geomDistance(model, data, links.pairs[p, 0], links.pairs[p, 1], MAX_LINK_DISTANCE, 0) - MARGIN
            links.slack[p] = max(spare, 0.0)
            for j in range(len(angles)):
                links.anchor[p, j] = angles[j]
        _limit(links.weight, links.reach[p], spare)
    return links.weight[0] < np.inf


@leaf
def _turn(angles, weight, origin):
    """Weighted sum of turns since `origin`."""
    total = 0.0
    for j in range(len(angles)):
        total += weight[j] * abs(angles[j] - origin[j])
    return total


@leaf
def _limit(weight, reach, spare):
    """Raise weights so that a pair apart by `spare` stays apart; infinite where it is not apart."""
    for j in range(len(weight)):
        weight[j] = max(weight[j], reach[j] / spare) if spare > 0.0 else np.inf
