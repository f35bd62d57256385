"""A drive as sheets show it, whatever world it was driven in.

Shapes: R samples of the path, F camera frames, n points of the route.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from world4scorer.evaluation.leaderboard.infractions import Infraction

Floats = NDArray[np.float64]


class SheetFault(NamedTuple):
    """An infraction with its time [s] and place [m]; slowness is a measurement and none."""

    kind: Infraction
    time: float
    place: tuple[float, float]

    @property
    def words(self) -> str:
        """Its name."""
        return self.kind.name.lower().replace("_", " ")


@dataclass(frozen=True, eq=False)
class SheetDrive:
    """One drive."""

    driver: str
    scenario: str
    score: float
    """Composed score [%]."""
    route: Floats
    """(n, 2) reference route [m]."""
    times: Floats
    """(R,) from the start of the drive [s]."""
    path: Floats
    """(R, 2) [m]"""
    frame_times: Floats
    """(F,) [s]"""
    frame: Callable[[int], NDArray[np.uint8] | None]
    """The front camera (H, W, 3) of one of the F frames; None if there is no image."""
    faults: tuple[SheetFault, ...]
    """In the order of time."""

    @property
    def duration(self) -> float:
        """s"""
        return float(self.times[-1])

    def frame_at(self, time: float) -> NDArray[np.uint8] | None:
        """The last image up to a time [s], the first before it."""
        if not len(self.frame_times):
            return None
        return self.frame(max(0, int(np.searchsorted(self.frame_times, time + 1e-6, side="right")) - 1))

    def place_at(self, times: Floats) -> Floats:
        """Places (K, 2) at some times [s]."""
        return np.stack([np.interp(times, self.times, self.path[:, axis]) for axis in (0, 1)], 1)
