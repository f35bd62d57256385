"""Perturbation families of candidates; values are those of `bank_family.npy`."""

from __future__ import annotations

from enum import IntEnum


class Family(IntEnum):
    """How the logged trajectory was perturbed."""

    UNKNOWN = -1
    """Imported, or empty."""
    LATERAL_OFFSET = 0
    """Moves over to one side, and perhaps back."""
    ENDPOINT_SHIFT = 1
    """Drifts to one side until the end."""
    SPEED_SCALE = 2
    """Slower or faster throughout."""
    TIME_WARP = 3
    """Same path and end, other timing."""
    EXTENSION = 4
    """Goes on further and faster."""
    SLOW_FIRST = 5
    """Slow at first, then catches up."""
    DELAY = 6
    """Everything some time later."""
    SHIFTED_TURN = 7
    """Turns too early or too late."""
    HARD_BRAKE = 8
    """Brakes hard, to a stop if there is time."""
    WRONG_BRANCH = 9
    """Turns where the log goes straight, and the other way round."""
    STATIONARY = 10
    """Stays where it is."""

    @property
    def label(self) -> str:
        """Label in tables."""
        return self.name.lower().replace("_", " ")


FAMILIES = tuple(family for family in Family if family is not Family.UNKNOWN)
