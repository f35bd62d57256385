"""Ego states of nuPlan objects as rows of `State`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from world4scorer.datasets.navsim.pickles import pickled_field
from world4scorer.engine.scene.indices import State
from world4scorer.engine.scene.vehicle import REAR_AXLE_TO_CENTRE


def ego_row(state: Any) -> NDArray[np.float64]:
    """(11,) of an ego state, which stores the centre of its box."""
    centre = pickled_field(pickled_field(state, "car_footprint"), "center")
    moving = pickled_field(state, "dynamic_car_state")
    velocity = pickled_field(moving, "rear_axle_velocity_2d")
    acceleration = pickled_field(moving, "rear_axle_acceleration_2d")
    heading = float(pickled_field(centre, "heading"))
    row = np.zeros(len(State))
    row[State.X] = pickled_field(centre, "x") - REAR_AXLE_TO_CENTRE * np.cos(heading)
    row[State.Y] = pickled_field(centre, "y") - REAR_AXLE_TO_CENTRE * np.sin(heading)
    row[State.HEADING] = heading
    row[State.VELOCITY_X], row[State.VELOCITY_Y] = pickled_field(velocity, "x"), pickled_field(velocity, "y")
    row[State.ACCELERATION_X] = pickled_field(acceleration, "x")
    row[State.ACCELERATION_Y] = pickled_field(acceleration, "y")
    row[State.STEERING_ANGLE] = pickled_field(state, "tire_steering_angle")
    row[State.STEERING_RATE] = pickled_field(moving, "tire_steering_rate", 0.0)
    row[State.ANGULAR_VELOCITY] = pickled_field(moving, "angular_velocity", 0.0)
    row[State.ANGULAR_ACCELERATION] = pickled_field(moving, "angular_acceleration", 0.0)
    return row


def ego_time(state: Any) -> int:
    """Time stamp of an ego state [us]."""
    return int(pickled_field(pickled_field(state, "time_point"), "time_us"))


def trajectory_rows(trajectory: Any) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """States (n, 11) and time stamps (n,) [us] of an interpolated trajectory."""
    states = list(pickled_field(trajectory, "trajectory"))
    return np.array([ego_row(state) for state in states]), np.array([ego_time(state) for state in states], np.int64)


def poses_of(path: Iterable[Any]) -> NDArray[np.float64]:
    """(n, 3) x, y [m], heading [rad] of nuPlan poses."""
    names = ("x", "y", "heading")
    return np.array([[float(pickled_field(pose, name)) for name in names] for pose in path]).reshape(-1, 3)
