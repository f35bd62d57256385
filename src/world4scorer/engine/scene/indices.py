"""Columns and codes of packed arrays."""

from __future__ import annotations

from enum import IntEnum
from typing import Final

DT: Final = 0.1
"""Step of every simulated or replayed series [s]."""

STEPS: Final = 41
"""Rows of a rollout: now (row 0) and forty steps of 0.1 s."""

PLAN_POSES: Final = 8
"""Poses of a plan."""

LOGGED_POSES: Final = 10
"""Maximum poses of a logged trajectory in training: five seconds."""

PLAN_INTERVAL: Final = 0.5
"""Time between the poses of a plan [s]; the first pose lies one interval ahead."""


class State(IntEnum):
    """Columns of an ego state. Poses, speeds and accelerations are those of the rear axle."""

    X = 0
    """m, global frame"""
    Y = 1
    """m, global frame"""
    HEADING = 2
    """rad, counter-clockwise from +x"""
    VELOCITY_X = 3
    """m/s, body frame, forward"""
    VELOCITY_Y = 4
    """m/s, body frame, left"""
    ACCELERATION_X = 5
    """m/s^2, body frame, forward"""
    ACCELERATION_Y = 6
    """m/s^2, body frame, left"""
    STEERING_ANGLE = 7
    """rad, tyre angle"""
    STEERING_RATE = 8
    """rad/s"""
    ANGULAR_VELOCITY = 9
    """rad/s"""
    ANGULAR_ACCELERATION = 10
    """rad/s^2"""


class Box(IntEnum):
    """Columns of a tracked box at one step."""

    X = 0
    """m, centre, global frame"""
    Y = 1
    """m, centre, global frame"""
    HEADING = 2
    """rad"""
    LENGTH = 3
    """m"""
    WIDTH = 4
    """m"""
    VELOCITY_X = 5
    """m/s, global frame"""
    VELOCITY_Y = 6
    """m/s, global frame"""


class TrackType(IntEnum):
    """Type of a track. The first three move; the rest are static."""

    VEHICLE = 0
    PEDESTRIAN = 1
    BICYCLE = 2
    TRAFFIC_CONE = 3
    BARRIER = 4
    CZONE_SIGN = 5
    GENERIC_OBJECT = 6


FIRST_STATIC_TYPE: Final = int(TrackType.TRAFFIC_CONE)


class Layer(IntEnum):
    """Layer of a map polygon; values are nuPlan's."""

    LANE = 0
    INTERSECTION = 1
    DRIVABLE_AREA = 5
    LANE_CONNECTOR = 11
    CARPARK_AREA = 15
    ROADBLOCK = 17
    SIGNAL_AREA = 100
    """Not in nuPlan: an area closed by a red light and used for nothing else."""
    FAR_LANE = 101
    """Not in nuPlan: a lane or connector beyond the map with a vehicle on it now; for reactive traffic only."""
    FAR_INTERSECTION = 102
    """Not in nuPlan: an intersection, likewise."""


DRIVABLE_LAYERS: Final = (Layer.ROADBLOCK, Layer.INTERSECTION, Layer.DRIVABLE_AREA, Layer.CARPARK_AREA)
LANE_LAYERS: Final = (Layer.LANE, Layer.LANE_CONNECTOR)


class Light(IntEnum):
    """State of a traffic light."""

    GREEN = 0
    YELLOW = 1
    RED = 2
    UNKNOWN = 3
