"""Geoms that can be left out of collision detection, and checks that they touched nothing.

Only the cube, the finger pads and the floor ever touch in ordinary episodes, yet MuJoCo spends a third of its time on
the other links of arm and gripper. `quick_model` copies the model without their collisions; `clearance_of` gathers
what `clearance_kernels` needs to verify, after each physics step, that none of the collisions left out could have been:

- pairs of links: the distance of a pair was measured at some joint angles, and no pair comes closer than that less
  the sum over joints of turn x reach, where reach bounds how far a point of the geom can lie from the joint's axis;
- the cube against links and walls: the sphere around the cube against the box around the geom; where these meet, the
  distance when last measured less the cube's motion in the geom's frame since;
- links and the floor: the lowest corner of the box around the geom.

Where a bound does not suffice, the distance is measured anew. A step in which something may have touched has to be
repeated in the complete model.
"""

from __future__ import annotations

import copy
from typing import NamedTuple

import mujoco
import numpy as np
from numpy.typing import NDArray

from world4scorer.cube.simulator.cube_env import Floats
from world4scorer.cube.simulator.link_pairs import approach, bodies_collide, collides, reach

Indices = NDArray[np.int64]

CUBE, FLOOR = "object_0", "floor"
GRIPPER, SIDES = "ur5e/robotiq/", ("right", "left")
PADS = tuple(f"{GRIPPER}{side}_pad{number}" for side in SIDES for number in (1, 2))
CUBE_JOINT = "object_joint_0"
FINGER_JOINTS = ("driver", "coupler", "spring_link", "follower")
GRID_CELL = 0.012
"""Cell size of the grids of joint angles [rad]."""
GRID_SIZE = 108
"""Along each side of a grid."""
LOWEST_ANGLE = -0.4
"""Where grids begin [rad]; joints turn from -0.3 to 0.8, and angles beyond the grid belong to its outermost cells."""


class Boxes(NamedTuple):
    """G links and W walls, which must not touch the cube; the links must not touch the floor either."""

    cube: int
    """Geom of the cube."""
    cube_radius: float
    """Radius of the sphere around it [m]."""
    floor_height: float
    """[m]"""
    geoms: Indices
    """(G + W,), links first."""
    links: int
    """G"""
    centre: Floats
    """Of the boxes around them, in their own frames [m], (G + W, 3)."""
    half: Floats
    """Half the edges of these boxes [m], (G + W, 3)."""
    slack: Floats
    """Distance from the cube when last measured, less a margin [m], (G + W,); 0 before the first time."""
    pose: Floats
    """The cube in the geom's frame at that time: position [m], rotation matrix; (G + W, 12)."""


class Links(NamedTuple):
    """P pairs of links, at least one of them of the arm; J joints of the robot."""

    pairs: Indices
    """Geoms, (P, 2)."""
    reach: Floats
    """Bound on how far a pair approaches for a joint's turn [m/rad], (P, J)."""
    slack: Floats
    """Distance of each pair when last measured, less a margin [m], (P,); 0 before the first time."""
    anchor: Floats
    """Joint angles at that time [rad], (P, J)."""
    weight: Floats
    """No pair touches while sum(weight |angle - origin|) < 1 [1/rad], (J,)."""
    origin: Floats
    """[rad], (J,)"""


class Fingers(NamedTuple):
    """Right and left finger (2), each of K joints and in Q pairs of links within it and with the gripper's base.

    Four joints of a finger form a closed loop of two freedoms: driver and spring link. So each cell of a grid of these
    two angles (N, N) soon has an origin close to all angles that fall into it.
    """

    joints: Indices
    """Among the joint angles, (2, K): driver, coupler, spring link, follower."""
    pairs: Indices
    """Geoms, (2, Q, 2)."""
    reach: Floats
    """As for links, (2, Q, K)."""
    weight: Floats
    """As for links, (2, N, N, K)."""
    origin: Floats
    """As for links, (2, N, N, K)."""
    inner: Floats
    """How far right of the gripper's middle the right finger was at the origin [m], or left of it the left one: its
    links, its pads; (2, N, N, 2)."""
    swing: Floats
    """Bound on how far a point of a finger moves for a joint's turn [m/rad], (2, K)."""
    base: int
    """Geom of the gripper's base."""
    middle: Floats
    """A point of the gripper's middle, in that geom's frame [m], (3,)."""
    axis: Floats
    """From left to right, in that geom's frame, (3,)."""
    geoms: Indices
    """Of each finger, (2, M): pads last."""
    pads: int
    """How many of them are pads: those of one finger may touch those of the other."""
    corners: Floats
    """Of their convex hulls, in their own frames [m], (corners of all, 3)."""
    until: Indices
    """Where the corners of each end, (2, M)."""


class Clearance(NamedTuple):
    """What is verified, and what earlier measurements have shown, which kernels add to."""

    boxes: Boxes
    links: Links
    fingers: Fingers


def quick_model(model: mujoco.MjModel) -> mujoco.MjModel:
    """A copy in which only cube, floor and finger pads collide."""
    quick = copy.copy(model)
    kept = [model.geom(name).id for name in (CUBE, FLOOR, *PADS)]
    left_out = np.setdiff1d(np.arange(model.ngeom), kept)
    for masks, of_bodies in (
        (quick.geom_contype, quick.body_contype),
        (quick.geom_conaffinity, quick.body_conaffinity),
    ):
        masks[left_out] = 0
        of_bodies[:] = 0
        np.bitwise_or.at(of_bodies, model.geom_bodyid, masks)
    quick.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_MIDPHASE  # for meshes of many faces; none is left
    return quick


def clearance_of(model: mujoco.MjModel) -> Clearance:
    """Everything that collides in `model` and not in `quick_model(model)`."""
    _check(model)
    cube, floor, pads = model.geom(CUBE).id, model.geom(FLOOR).id, [model.geom(name).id for name in PADS]
    robot = [g for g in range(model.ngeom) if collides(model, g, g) and g not in (cube, floor)]
    walls = [g for g in range(model.ngeom) if g not in (*robot, cube, floor) and collides(model, g, cube)]
    pairs = np.array(
        [
            (a, b)
            for i, a in enumerate(robot)
            for b in robot[i + 1 :]
            if not (a in pads and b in pads) and collides(model, a, b) and bodies_collide(model, a, b)
        ]
    )
    of_geoms = {geom: np.array([reach(model, geom, joint) for joint in range(_hinges(model))]) for geom in robot}
    reaches = np.array([approach(of_geoms[a], of_geoms[b]) for a, b in pairs])
    joints = np.array([[model.joint(f"{GRIPPER}{s}_{j}_joint").id for j in FINGER_JOINTS] for s in SIDES])
    moved = reaches > 0.0
    by_arm = np.delete(moved, joints.ravel(), axis=1).any(axis=1)
    by_right, by_left = (moved[:, own].any(axis=1) for own in joints)
    within = [~by_arm & by_right & ~by_left, ~by_arm & by_left & ~by_right]
    return Clearance(
        _boxes(model, [g for g in robot if g not in pads], walls),
        _links(pairs[by_arm], reaches[by_arm]),
        _fingers(model, joints, [(pairs[own], reaches[own]) for own in within]),
    )


def _hinges(model: mujoco.MjModel) -> int:
    """Number of joints of the robot."""
    return int((model.jnt_type == mujoco.mjtJoint.mjJNT_HINGE).sum())


def _boxes(model: mujoco.MjModel, links: list[int], walls: list[int]) -> Boxes:
    geoms = np.array(links + walls)
    return Boxes(
        cube=model.geom(CUBE).id,
        cube_radius=float(model.geom_rbound[model.geom(CUBE).id]),
        floor_height=float(model.geom(FLOOR).pos[2]),
        geoms=geoms,
        links=len(links),
        centre=model.geom_aabb[geoms, :3].copy(),
        half=model.geom_aabb[geoms, 3:].copy(),
        slack=np.zeros(len(geoms)),
        pose=np.zeros((len(geoms), 12)),
    )


def _links(pairs: Indices, reaches: Floats) -> Links:
    joints = reaches.shape[1]
    return Links(
        pairs=pairs,
        reach=reaches,
        slack=np.zeros(len(pairs)),
        anchor=np.zeros((len(pairs), joints)),
        weight=np.full(joints, np.inf),
        origin=np.full(joints, np.inf),
    )


def _fingers(model: mujoco.MjModel, joints: Indices, within: list[tuple[Indices, Floats]]) -> Fingers:
    """`within`: of each finger, its pairs and how far all joints reach."""
    pads = [[model.geom(name).id for name in PADS if side in name] for side in SIDES]
    links = [[_link_geom(model, f"{GRIPPER}{side}_{name}") for name in FINGER_JOINTS] for side in SIDES]
    geoms = np.array([own + of for own, of in zip(links, pads, strict=True)])
    corners = [_corners(model, int(geom)) for geom in geoms.ravel()]
    base = _link_geom(model, GRIPPER + "base")
    to_geom, middle, axis = model.geom_quat[base] * [1.0, -1.0, -1.0, -1.0], np.empty(3), np.empty(3)
    mujoco.mju_rotVecQuat(middle, -model.geom_pos[base], to_geom)
    mujoco.mju_rotVecQuat(axis, np.array([0.0, 1.0, 0.0]), to_geom)
    grid = (len(SIDES), GRID_SIZE, GRID_SIZE)
    return Fingers(
        joints=joints,
        pairs=np.array([pairs for pairs, _ in within]),
        reach=np.array([reaches[:, own] for own, (_, reaches) in zip(joints, within, strict=True)]),
        weight=np.full((*grid, len(FINGER_JOINTS)), np.inf),
        origin=np.full((*grid, len(FINGER_JOINTS)), np.inf),
        inner=np.zeros((*grid, 2)),
        swing=np.array(
            [
                [max(reach(model, int(geom), int(joint)) for geom in of_finger) for joint in own]
                for own, of_finger in zip(joints, geoms, strict=True)
            ]
        ),
        base=base,
        middle=middle,
        axis=axis,
        geoms=geoms,
        pads=len(pads[0]),
        corners=np.concatenate(corners),
        until=np.cumsum([len(own) for own in corners]).reshape(geoms.shape),
    )


def _link_geom(model: mujoco.MjModel, body: str) -> int:
    """The one geom of a body that collides."""
    (geom,) = np.flatnonzero((model.geom_bodyid == model.body(body).id) & (model.geom_contype > 0))
    return int(geom)


def _corners(model: mujoco.MjModel, geom: int) -> Floats:
    """Of the convex hull of a box or a mesh, in the geom's frame [m], (n, 3)."""
    if model.geom_type[geom] == mujoco.mjtGeom.mjGEOM_BOX:
        signs = np.stack(np.meshgrid([-1.0, 1.0], [-1.0, 1.0], [-1.0, 1.0]), axis=-1).reshape(-1, 3)
        return np.asarray(signs * model.geom_size[geom])
    mesh = int(model.geom_dataid[geom])
    graph = model.mesh_graph[model.mesh_graphadr[mesh] :]
    count = graph[0]  # then faces, an offset for each corner, and each corner's number among the mesh's vertices
    first = model.mesh_vertadr[mesh]
    return np.asarray(model.mesh_vert[first + graph[2 + count : 2 + 2 * count]], dtype=np.float64)


def _check(model: mujoco.MjModel) -> None:
    """Check the assumptions of this file about the model."""
    hinges = _hinges(model)
    floor = model.geom(FLOOR)
    presumed = {
        "hinges first, then the cube's free joint": hinges == model.njnt - 1
        and np.array_equal(model.jnt_qposadr[:hinges], np.arange(hinges))
        and model.joint(CUBE_JOINT).type[0] == mujoco.mjtJoint.mjJNT_FREE,
        "a level floor": floor.type[0] == mujoco.mjtGeom.mjGEOM_PLANE
        and model.geom_bodyid[floor.id] == 0
        and np.array_equal(floor.quat, [1.0, 0.0, 0.0, 0.0]),
        "a box as cube": model.geom(CUBE).type[0] == mujoco.mjtGeom.mjGEOM_BOX,
        "no contact margins": not model.geom_margin.any(),
        "no explicit contact pairs": model.npair == 0,
    }
    for what, holds in presumed.items():
        if not holds:
            raise ValueError(f"not OGBench's cube-single: the model lacks {what}; use ogbench 1.2.2's cube-single-v0")
