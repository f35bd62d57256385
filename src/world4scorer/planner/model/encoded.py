"""What the network knows of a scene and of the ego, encoded: inputs of generator and predictor.

Shapes: B scenes, C cameras, Q scene queries per camera, D width.
"""

from __future__ import annotations

from typing import NamedTuple

from torch import Tensor

from world4scorer.planner.model.map_sampling import Maps
from world4scorer.planner.model.plan_sampling import Readable


class SceneFeatures(NamedTuple):
    """Encoded scene."""

    tokens: Tensor
    """(B, C * Q, D)"""
    readable: Readable | Maps | None
    """What plan sampling reads from, if the model has it"""

    def detach(self) -> SceneFeatures:
        """A detached copy."""
        return SceneFeatures(self.tokens.detach(), None if self.readable is None else self.readable.detach())


class Ego(NamedTuple):
    """Encoded ego status."""

    encoded: Tensor
    """(B, D)"""
    speed: Tensor
    """(B,) forward [m/s]"""
    route: Tensor | None = None
    """(B, 5, 2) from the ego along the route [m], if plans are read along it"""
    corridor: Tensor | None = None
    """(B, m, 2) route that the generator's plans shall stay near [m]"""
