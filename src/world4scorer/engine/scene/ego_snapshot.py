"""The part of a scene that rollout and re-ranking need, for callers without a whole scene."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from world4scorer.engine.scene.geometry import Floats


class EgoContext(Protocol):
    """Interface of `Scene` and `EgoSnapshot`."""

    @property
    def token(self) -> str:
        """Token, for messages."""

    @property
    def log_name(self) -> str:
        """Name of the log or drive."""

    @property
    def time_us(self) -> int:
        """Time stamp [us]."""

    @property
    def ego_state(self) -> Floats:
        """(11,) columns of `State`."""


@dataclass(frozen=True, eq=False)
class EgoSnapshot:
    """The ego at one time, without its surroundings."""

    token: str
    log_name: str
    time_us: int
    ego_state: Floats
    """(11,) columns of `State`."""
