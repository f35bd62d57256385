"""Intelligent driver model: the acceleration of a vehicle from its speed, its target speed and the gap ahead.

a = 1 - (v / v0)^4 - (s* / s)^2, clipped to [-2, 1] m/s^2, where s* = 1 + 1.5 v + v (v - v_lead) / (2 sqrt(2)) is the
desired gap and s, at least 1 m, the present one. s* is not clipped: where the vehicle ahead is much faster it is
negative, and its square brakes.
"""

from __future__ import annotations

from typing import Final

from world4scorer.engine.kernels import inlined

TARGET_SPEED: Final = 10.0
"""Target speed before any lane with a limit was met [m/s]."""
MIN_GAP: Final = 1.0
"""m"""
HEADWAY: Final = 1.5
"""s"""
MAX_ACCELERATION: Final = 1.0
"""m/s^2"""
MAX_DECELERATION: Final = 2.0
"""m/s^2"""


@inlined
def acceleration(speed, target, gap, lead_speed):
    """Acceleration [m/s^2] at `gap` [m] behind something that moves with `lead_speed` [m/s] along the own heading."""
    braking = speed * (speed - lead_speed) / (2.0 * (MAX_ACCELERATION * MAX_DECELERATION) ** 0.5)
    share = (MIN_GAP + HEADWAY * speed + braking) / max(gap, MIN_GAP)
    ratio = speed / target
    free = 1.0 - (ratio * ratio) * (ratio * ratio)
    return min(max(MAX_ACCELERATION * (free - share * share), -MAX_DECELERATION), MAX_ACCELERATION)
