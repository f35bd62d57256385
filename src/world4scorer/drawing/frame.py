"""Global metres to the picture's: the rear axle at the origin, forward to the right."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from world4scorer.engine.scene.indices import Box, State
from world4scorer.engine.scene.scene import Scene
from world4scorer.engine.scene.vehicle import FRONT_OVERHANG, HALF_WIDTH, REAR_OVERHANG

Floats = NDArray[np.float64]


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

    def local(self, points: Floats) -> Floats:
        """Turn global points (..., 2) into this frame."""
        cosine, sine = np.cos(self.heading), np.sin(self.heading)
        dx, dy = points[..., 0] - self.x, points[..., 1] - self.y
        return np.stack([cosine * dx + sine * dy, cosine * dy - sine * dx], axis=-1)

    def ego_box(self, state: Floats) -> Floats:
        """Return the corners (4, 2) of the ego at a global state or pose (3..,)."""
        ends = np.array([FRONT_OVERHANG, -REAR_OVERHANG, -REAR_OVERHANG, FRONT_OVERHANG])
        return self.local(_turned(ends, HALF_WIDTH * np.array([1.0, 1.0, -1.0, -1.0]), *state[:3]))

    def track_box(self, box: Floats) -> Floats:
        """Return the corners (4, 2) of a track's box (7,)."""
        ends = box[Box.LENGTH] / 2 * np.array([1.0, -1.0, -1.0, 1.0])
        sides = box[Box.WIDTH] / 2 * np.array([1.0, 1.0, -1.0, -1.0])
        return self.local(_turned(ends, sides, box[Box.X], box[Box.Y], box[Box.HEADING]))


def _turned(forward: Floats, left: Floats, x: float, y: float, heading: float) -> Floats:
    cosine, sine = np.cos(heading), np.sin(heading)
    return np.stack([x + forward * cosine - left * sine, y + forward * sine + left * cosine], axis=-1)
