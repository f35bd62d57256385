"""Infractions: their names in records, and the numbers that stand in their messages."""

from __future__ import annotations

import re
from enum import StrEnum
from typing import Final

PERCENTAGE: Final = re.compile(r"(\d+(?:\.\d+)?(?:e[+-]?\d+)?|-?\b(?:nan|inf))\s*%", re.IGNORECASE)


class Infraction(StrEnum):
    """What a leaderboard's record lists messages under."""

    LAYOUT_COLLISION = "collisions_layout"
    PEDESTRIAN_COLLISION = "collisions_pedestrian"
    VEHICLE_COLLISION = "collisions_vehicle"
    RED_LIGHT = "red_light"
    STOP_SIGN = "stop_infraction"
    OUTSIDE_LANES = "outside_route_lanes"
    SLOW = "min_speed_infractions"
    EMERGENCY_VEHICLE = "yield_emergency_vehicle_infractions"
    SCENARIO_TIMEOUT = "scenario_timeouts"
    DEVIATION = "route_dev"
    BLOCKED = "vehicle_blocked"
    ROUTE_TIMEOUT = "route_timeout"


def outside_lanes(metres: float, share: float) -> str:
    """The message about having left the route's lanes; `share` is of the distance driven, 0 to 1."""
    return (
        f"Agent went outside its route lanes for about {metres:.3f} meters ({100 * share:.2f}% of the completed route)"
    )


def slower_than_others(percentage: float) -> str:
    """The message about the ego's mean speed at a checkpoint, in percent of the surrounding traffic's."""
    return f"Average speed is {percentage:.2f}% of the surrounding traffic's one"


def percentage(message: str) -> float:
    """The last percentage in a message; NaN or infinite where the leaderboard divided by zero."""
    found = PERCENTAGE.findall(message)
    if not found:
        raise ValueError(f"message {message!r}: no percentage in it")
    return float(found[-1])


def share_outside(message: str) -> float:
    """How much of the distance driven lay outside the route's lanes, 0 to 1."""
    share = percentage(message) / 100
    if not 0 <= share <= 1:
        raise ValueError(f"message {message!r}: not from 0 % to 100 % of the route")
    return share
