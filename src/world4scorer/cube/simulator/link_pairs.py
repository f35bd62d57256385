"""Which geoms MuJoCo lets collide, and how fast joints can bring two of them together."""

from __future__ import annotations

import mujoco
import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def collides(model: mujoco.MjModel, a: int, b: int) -> bool:
    """By the masks of two geoms."""
    types, affinities = model.geom_contype, model.geom_conaffinity
    return bool(types[a] & affinities[b] or types[b] & affinities[a])


def bodies_collide(model: mujoco.MjModel, a: int, b: int) -> bool:
    """Not between bodies that are welded together, parent and child, or excluded by name: MuJoCo's rules."""
    bodies = sorted((int(model.geom_bodyid[a]), int(model.geom_bodyid[b])))
    weld_a, weld_b = (int(model.body_weldid[body]) for body in bodies)
    parent_a, parent_b = (int(model.body_weldid[model.body_parentid[weld]]) for weld in (weld_a, weld_b))
    related = weld_a == weld_b or (weld_a and weld_b and (weld_a == parent_b or weld_b == parent_a))
    return not related and (bodies[0] << 16) + bodies[1] not in model.exclude_signature


def approach(first: Floats, second: Floats) -> Floats:
    """How far two geoms can approach each other for a joint's turn [m/rad], by what `reach` is for each.

    A joint that moves both moves neither against the other.
    """
    return np.where((first > 0.0) & (second > 0.0), 0.0, np.maximum(first, second))


def reach(model: mujoco.MjModel, geom: int, joint: int) -> float:
    """Bound on the distance between a joint's axis and a point of a geom that it moves, at any joint angles; or 0."""
    body = int(model.geom_bodyid[geom])
    reach = float(np.linalg.norm(model.geom_pos[geom]) + model.geom_rbound[geom])
    while body != model.jnt_bodyid[joint]:
        if body == 0:
            return 0.0
        # A hinge away from its body's origin swings that origin about its anchor.
        count, first = int(model.body_jntnum[body]), int(model.body_jntadr[body])
        swing = 2.0 * sum(float(np.linalg.norm(model.jnt_pos[first + k])) for k in range(count))
        reach += float(np.linalg.norm(model.body_pos[body])) + swing
        body = int(model.body_parentid[body])
    return reach + float(np.linalg.norm(model.jnt_pos[joint]))
