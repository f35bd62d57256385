"""Ego frame of figures: origin at the rear axle, forward to the right."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from world4scorer.engine.scene.geometry import Floats, box_corners, relative_points
from world4scorer.engine.scene.indices import Box, State
from world4scorer.engine.scene.scene import Scene
from world4scorer.engine.scene.vehicle import FRONT_OVERHANG, HALF_WIDTH, REAR_OVERHANG


@dataclass(frozen=True, eq=False)
class EgoFrame:
    """The frame of an ego pose."""

    x: float
    y: float
    heading: float

    @classmethod
    def of(cls, scene: Scene) -> EgoFrame:
        """Return the frame of a scene's ego."""
        state = scene.ego_state
        return cls(float(state[State.X]), float(state[State.Y]), float(state[State.HEADING]))

    @property
    def pose(self) -> Floats:
        """(3,) x, y, heading."""
        return np.array([self.x, self.y, self.heading])

    def local(self, points: Floats) -> Floats:
        """Transform global points (..., 2) into this frame."""
        return relative_points(points, self.pose)

    def ego_box(self, state: Floats) -> Floats:
        """Return the corners (4, 2) of the ego at a global state or pose (3..,)."""
        return self.local(box_corners(state, FRONT_OVERHANG, REAR_OVERHANG, HALF_WIDTH))

    def track_box(self, box: Floats) -> Floats:
        """Return the corners (4, 2) of a track's box (7,)."""
        half_length, half_width = box[Box.LENGTH] / 2, box[Box.WIDTH] / 2
        return self.local(box_corners(box, half_length, half_length, half_width))
