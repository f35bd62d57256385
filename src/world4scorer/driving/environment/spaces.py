"""What an agent sees and does, as spaces of Gymnasium."""

from __future__ import annotations

import math
from typing import Any, Final

import numpy as np
from gymnasium import spaces
from numpy.typing import ArrayLike, NDArray

from world4scorer.datasets.navsim.cameras import VIEWS
from world4scorer.datasets.navsim.frames import COMMANDS
from world4scorer.driving.closed_loop.observation import Observation
from world4scorer.engine.routes.route import POLYLINE_DISTANCES, RouteCursor
from world4scorer.engine.scene.indices import PLAN_POSES
from world4scorer.engine.scene.plan import as_plans

EGO: Final = ("forward speed", "left speed", "forward acceleration", "left acceleration", "yaw rate", "steering")
"""Numbers of the ego status: m/s, m/s^2, rad/s, rad."""
FARTHEST: Final = (160.0, 80.0, math.pi)
"""Largest absolute x, y [m] and heading [rad] of a pose in a plan."""

Observed = dict[str, NDArray[Any]]


def observation_space(height: int, width: int, images: bool) -> spaces.Space[Any]:
    """Space of observations: `images` (cameras, height, width, 3), `ego`, `command` and `route`."""
    parts: dict[str, spaces.Space[Any]] = {
        "ego": spaces.Box(-np.inf, np.inf, (len(EGO),), np.float32),
        "command": spaces.Box(0.0, 1.0, (len(COMMANDS),), np.float32),
        "route": spaces.Box(-np.inf, np.inf, (len(POLYLINE_DISTANCES), 2), np.float32),
    }
    if images:
        parts["images"] = spaces.Box(0, 255, (len(VIEWS), height, width, 3), np.uint8)
    return spaces.Dict(parts)


def action_space(pool: ArrayLike | None) -> spaces.Box | spaces.Discrete[Any]:
    """Space of actions: a plan (8, 3), or an index into a pool of plans (N, 8, 3)."""
    if pool is not None:
        return spaces.Discrete(len(as_plans(pool, "pool")))
    high = np.broadcast_to(np.array(FARTHEST, np.float32), (PLAN_POSES, 3)).copy()
    return spaces.Box(-high, high, dtype=np.float32)


def observed(observation: Observation, cursor: RouteCursor, images: bool) -> Observed:
    """An observation as a member of the space; the cursor is moved to the ego."""
    cursor.advance(observation.pose[:2])
    numbers = [*observation.velocity, *observation.acceleration, observation.yaw_rate, observation.steering]
    found: Observed = {
        "ego": np.array(numbers, np.float32),
        "command": np.asarray(observation.command, np.float32),
        "route": cursor.polyline(observation.pose).astype(np.float32),
    }
    if images:
        found["images"] = np.stack([np.asarray(image) for image in observation.images])
    return found
