"""Agents that need no model: what the human drove, constant velocity, standing still.

An agent is a plain function from a scene to a plan (8, 3): x, y [m] and heading [rad] of the rear axle, every 0.5 s,
in the frame of the ego's pose now.

>>> AGENTS["constant-velocity"](store[token])
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

import numpy as np
from numpy.typing import NDArray

from world4scorer.engine.scene.ego_snapshot import EgoContext
from world4scorer.engine.scene.indices import PLAN_POSES, State
from world4scorer.engine.scene.scene import Scene

Agent = Callable[[Scene], NDArray[np.floating]]

INTERVAL: Final = 0.5
"""s between the poses of a plan."""


def human(scene: Scene) -> NDArray[np.floating]:
    """What was driven in the log."""
    if scene.human_future is None:
        raise ValueError(f"scene {scene.token!r} does not say what the human drove; leave out the agent 'human'")
    return scene.human_future


def constant_velocity(scene: EgoContext) -> NDArray[np.floating]:
    """Straight on at the speed of now, in single precision like the official agent."""
    velocity = scene.ego_state[[State.VELOCITY_X, State.VELOCITY_Y]].astype(np.float32)
    speed = np.sqrt(np.float64((velocity * velocity).sum()))
    plan = np.zeros((PLAN_POSES, 3), np.float32)
    plan[:, 0] = INTERVAL * np.arange(1, PLAN_POSES + 1) * speed
    return plan


def stationary(scene: Scene) -> NDArray[np.floating]:
    """Stay where the ego is now."""
    return np.zeros((PLAN_POSES, 3))


AGENTS: Final[Mapping[str, Agent]] = {"human": human, "constant-velocity": constant_velocity, "stationary": stationary}
