"""The columns that describe a facade: what a wall shows is computed from them where it is drawn."""

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
    """Of the wall [m]."""
    SEED = 8
    RED = 9
    GREEN = 10
    BLUE = 11
    """Colour of shop signs, balconies and shutters (linear)."""
    BALCONIES = 12
    """Every how many bays there is a balcony; 0 for none."""
