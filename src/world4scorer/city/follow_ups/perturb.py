"""Frames of a log seen from an ego that drives beside the expert: shifted, turned, faster or slower."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from world4scorer.city.world.log_plan import FrameState
from world4scorer.engine.scene.geometry import relative_points, to_global_axes, wrap

CLEARANCE: Final = (-4.0, 7.0, 2.6)
"""The ego is not shifted to where a road user's centre is nearer: behind, ahead, aside of the rear axle [m]."""


@dataclass(frozen=True)
class Offset:
    """How a follow-up's ego differs from the expert."""

    forward: float = 0.0
    """m"""
    left: float = 0.0
    """m"""
    heading: float = 0.0
    """rad"""
    speed: float = 0.0
    """m/s"""

    @classmethod
    def draw(cls, rng: np.random.Generator) -> Offset:
        """Draw an offset like those of planners a few seconds into a drive."""
        forward, left, heading, speed = rng.normal(0.0, (0.8, 0.35, 0.05, 1.0))
        return cls(float(forward), float(left), float(heading), float(speed))

    def apply(self, frame: FrameState) -> FrameState:
        """The frame with the ego moved; the traffic stays where it is."""
        x, y = to_global_axes(np.array([self.forward, self.left]), frame.ego_pose)
        pose = np.array([x, y, wrap(frame.ego_pose[2] + self.heading)])
        return replace(frame, ego_pose=pose, speed=max(frame.speed + self.speed, 0.0))


def is_clear(frame: FrameState) -> bool:
    """Whether no road user is where the ego stands."""
    behind, ahead, aside = CLEARANCE
    place = relative_points(frame.actors.pose[:, :2], frame.ego_pose)
    near = (place[:, 0] > behind) & (place[:, 0] < ahead) & (np.abs(place[:, 1]) < aside)
    return not near.any()
