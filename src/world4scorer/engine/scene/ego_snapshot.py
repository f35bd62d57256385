"""A moment of a drive: what rolling plans out and re-ranking them need of a scene, for those who have no more."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray


class EgoContext(Protocol):
    """Any `Scene` is one, and so is an `EgoSnapshot`."""

    @property
    def token(self) -> str:
        """Names it in messages."""

    @property
    def log_name(self) -> str:
        """Moments of one drive have the same."""

    @property
    def time_us(self) -> int:
        """us"""

    @property
    def ego_state(self) -> NDArray[np.float64]:
        """(11,) columns of `State`."""


@dataclass(frozen=True, eq=False)
class EgoSnapshot:
    """The ego alone."""

    token: str
    log_name: str
    time_us: int
    ego_state: NDArray[np.float64]
    """(11,) columns of `State`."""
