"""What a driving agent is given at one time, and what it decides.

Shapes: C cameras, N plans, T poses.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from world4scorer.engine.scene.indices import State


@dataclass(frozen=True, eq=False)
class CameraCalibration:
    """Intrinsics and extrinsics of the cameras."""

    intrinsics: NDArray[np.float64]
    """(C, 3, 3) in pixels of the images."""
    rotation: NDArray[np.float64]
    """(C, 3, 3) camera axes -> ego axes."""
    translation: NDArray[np.float64]
    """(C, 3) in the ego frame [m]."""


@dataclass(frozen=True, eq=False)
class Observation:
    """Images and ego state at one time."""

    time: float
    """s"""
    images: tuple[NDArray[np.uint8] | Image.Image, ...]
    """C images (h, w, 3) or Pillow's, all of one size."""
    pose: NDArray[np.float64]
    """(3,) x, y [m], heading [rad] of the rear axle, in the frame of the route."""
    velocity: NDArray[np.float64]
    """(2,) forward, left [m/s]."""
    acceleration: NDArray[np.float64]
    """(2,) forward, left [m/s^2]."""
    command: NDArray[np.float32]
    """(4,) one-hot left, forward, right, unknown; unused with `keep_commands`."""
    yaw_rate: float = 0.0
    """rad/s"""
    steering: float = 0.0
    """rad"""


@dataclass(frozen=True, eq=False)
class Decision:
    """The chosen plan and its candidates."""

    plans: NDArray[np.float32]
    """(N, T, 3) in ego axes"""
    utility: NDArray[np.float64]
    """(N,) predicted utility, less what the speed limit costs"""
    ranked: NDArray[np.float64]
    """(N,) utility after corridor and route re-ranking, before inertial re-ranking"""
    chosen: int
    command: NDArray[np.float32]
    """(4,) command given to the planner."""
    route_point: NDArray[np.float64] | None
    """(2,) in ego axes [m]; None without a route."""
    followed: NDArray[np.float32] | None = None
    """(T, 3) poses to follow instead of the chosen plan's; None for the plan itself."""

    @property
    def plan(self) -> NDArray[np.float32]:
        """(T, 3) the plan to follow."""
        return np.asarray(self.plans[self.chosen]) if self.followed is None else self.followed


def ego_state(observation: Observation) -> NDArray[np.float64]:
    """(11,) the state from which plans are rolled out."""
    state = np.zeros(len(State))
    state[[State.X, State.Y, State.HEADING]] = observation.pose
    state[[State.VELOCITY_X, State.VELOCITY_Y]] = observation.velocity
    state[[State.ACCELERATION_X, State.ACCELERATION_Y]] = observation.acceleration
    state[State.STEERING_ANGLE] = observation.steering
    state[State.ANGULAR_VELOCITY] = observation.yaw_rate
    return state
