"""Columns of the facade table, from which walls are shaded procedurally."""

from __future__ import annotations

from enum import IntEnum


class Facade(IntEnum):
    """Columns of the facade table (float32)."""

    DIR_X = 0
    """Unit vector along the wall."""
    DIR_Y = 1
    STOREYS = 2
    """Storeys per metre of height."""
    BAYS = 3
    """Windows per metre of length."""
    WIDE = 4
    """Share of a bay that is window."""
    TALL = 5
    """Share of a storey that is window."""
    SHOPS = 6
    """1 with shop windows at street level."""
    HEIGHT = 7
    """Height of the wall [m]."""
    SEED = 8
    RED = 9
    GREEN = 10
    BLUE = 11
    """Colour of shop signs, balconies and shutters (linear)."""
    BALCONIES = 12
    """Bays per balcony; 0 for none."""
