"""The ego vehicle of NAVSIM: a Chrysler Pacifica. All lengths in metres."""

from __future__ import annotations

from typing import Final

WIDTH: Final = 2.297
FRONT_OVERHANG: Final = 4.049
"""From the rear axle to the front bumper."""
REAR_OVERHANG: Final = 1.127
"""From the rear axle to the rear bumper."""
LENGTH: Final = FRONT_OVERHANG + REAR_OVERHANG
HALF_LENGTH: Final = LENGTH / 2
HALF_WIDTH: Final = WIDTH / 2
WHEEL_BASE: Final = 3.089
REAR_AXLE_TO_CENTRE: Final = HALF_LENGTH - REAR_OVERHANG
