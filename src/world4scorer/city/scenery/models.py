"""Models of all actor kinds as one table for the instancing kernel."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from world4scorer.city.scenery import people, vehicles
from world4scorer.city.scenery.actors import ActorKind
from world4scorer.city.scenery.mesh_builder import MeshBuilder
from world4scorer.city.scenery.roles import ROLE_MATERIAL, role_colours
from world4scorer.city.scenery.surface import SurfaceClass

Size = tuple[float, float, float]

_SHAPES: Final[dict[ActorKind, tuple[Callable[[], MeshBuilder], Size, float, float, SurfaceClass]]] = {
    # drawing, nominal length, width, height [m], height of the hip [m], length of a full step [m]
    ActorKind.CAR: (vehicles.car, (4.42, 1.82, 1.50), 0, 1, SurfaceClass.VEHICLE),
    ActorKind.VAN: (vehicles.van, (5.62, 2.03, 2.30), 0, 1, SurfaceClass.VEHICLE),
    ActorKind.TRUCK: (vehicles.truck, (8.02, 2.5, 3.40), 0, 1, SurfaceClass.VEHICLE),
    ActorKind.BUS: (vehicles.bus, (12.02, 2.52, 3.10), 0, 1, SurfaceClass.VEHICLE),
    ActorKind.MOTORCYCLE: (people.motorcycle, (2.08, 0.76, 1.64), 0, 1, SurfaceClass.BICYCLE),
    ActorKind.BICYCLE: (people.bicycle, (1.77, 0.6, 1.74), 0.98, 5.0, SurfaceClass.BICYCLE),
    ActorKind.PEDESTRIAN: (people.pedestrian, (0.6, 0.62, 1.775), 0.9, 1.4, SurfaceClass.PEDESTRIAN),
    ActorKind.CONE: (people.cone, (0.4, 0.4, 0.75), 0, 1, SurfaceClass.OBSTACLE),
    ActorKind.BARRIER: (people.barrier, (0.5, 2.0, 1.0), 0, 1, SurfaceClass.OBSTACLE),
}
LIMB_SWING: Final = {ActorKind.PEDESTRIAN: 0.5, ActorKind.BICYCLE: 0.22}
"""Amplitude of legs [rad]."""


class Models(NamedTuple):
    """Template triangles of all kinds; corners are fractions of an actor's length, width and height."""

    start: NDArray[np.int64]
    """(kinds + 1,) first triangle of each kind."""
    corners: NDArray[np.float32]
    """(n, 3, 3) x and y in [-0.5, 0.5], z in [0, 1]."""
    role: NDArray[np.uint8]
    """(n,)"""
    limb: NDArray[np.uint8]
    """(n,)"""
    hip: NDArray[np.float32]
    """(kinds,) height of the joint that legs swing about, as a share of the height."""
    step: NDArray[np.float32]
    """(kinds,) metres per full swing."""
    swing: NDArray[np.float32]
    """(kinds,) amplitude [rad]."""
    surface: NDArray[np.uint8]
    """(kinds,) `SurfaceClass`."""
    colours: NDArray[np.float32]
    """(roles, choices, 3)"""
    material: NDArray[np.uint8]
    """(roles,)"""


@cache
def actor_models() -> Models:
    """Build the models of all kinds."""
    corners, roles, limbs, start = [], [], [], [0]
    for drawing, nominal, *_ in (_SHAPES[kind] for kind in ActorKind):
        shape, role, limb = drawing().arrays()
        corners.append((shape / np.array(nominal)).astype(np.float32))
        roles.append(role)
        limbs.append(limb)
        start.append(start[-1] + len(role))
    rows = [_SHAPES[kind] for kind in ActorKind]
    return Models(
        np.array(start),
        np.concatenate(corners),
        np.concatenate(roles),
        np.concatenate(limbs),
        np.array([hip / nominal[2] for _, nominal, hip, _, _ in rows], np.float32),
        np.array([step for *_, step, _ in rows], np.float32),
        np.array([LIMB_SWING.get(kind, 0.0) for kind in ActorKind], np.float32),
        np.array([surface for *_, surface in rows], np.uint8),
        role_colours(),
        ROLE_MATERIAL,
    )
