"""Other road users and objects, replayed at 10 Hz, and traffic lights on the same time grid."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from world4scorer.engine.scene.checks import MAX_MAGNITUDE, SceneError, as_array, as_codes, in_range
from world4scorer.engine.scene.indices import STEPS, Box, Light, TrackType


@dataclass(frozen=True, eq=False)
class Tracks:
    """N tracks over T steps of 0.1 s from now."""

    ids: tuple[str, ...]
    """N unique ids."""
    type: NDArray[np.int8]
    """(N,) codes of `TrackType`."""
    boxes: NDArray[np.float64]
    """(N, T, 7) columns of `Box`; invalid entries are never read."""
    valid: NDArray[np.bool_]
    """(N, T) whether the track exists at that step."""
    current: NDArray[np.bool_] | None = None
    """(N,) whether the frame of now annotates the track; those valid at step 0 unless given.

    The two differ where a track is annotated in one later frame only: it is replayed at every step.
    """

    def __post_init__(self) -> None:
        put = object.__setattr__
        put(self, "ids", tuple(str(i) for i in self.ids))
        count = len(self.ids)
        if len(set(self.ids)) != count:
            raise SceneError("tracks.ids: names must be distinct")
        put(self, "type", as_codes("tracks.type", self.type, TrackType, count))
        put(self, "boxes", as_array("tracks.boxes", self.boxes, np.float64, (count, "T", len(Box)), finite=False))
        put(self, "valid", as_array("tracks.valid", self.valid, np.bool_, (count, self.boxes.shape[1])))
        if self.current is not None:
            put(self, "current", as_array("tracks.current", self.current, np.bool_, (count,)))
        if self.steps < STEPS:
            raise SceneError(f"tracks.boxes: {self.steps} steps of 0.1 s; at least {STEPS} are needed")
        bad = self.valid & ~in_range(self.boxes).all(axis=2)
        if bad.any():
            track, step = np.argwhere(bad)[0]
            raise SceneError(
                f"tracks.boxes: track {self.ids[track]!r} is not finite or beyond {MAX_MAGNITUDE:g} at step {step}"
            )
        negative = self.valid & (self.boxes[..., [Box.LENGTH, Box.WIDTH]] < 0).any(axis=2)
        if negative.any():
            track, step = np.argwhere(negative)[0]
            raise SceneError(f"tracks.boxes: track {self.ids[track]!r} has a negative size at step {step}")

    @property
    def steps(self) -> int:
        """T, the number of 0.1 s steps."""
        return int(self.boxes.shape[1])

    @property
    def annotated_now(self) -> NDArray[np.bool_]:
        """(N,) which tracks the frame of now annotates."""
        return self.valid[:, 0] if self.current is None else self.current & self.valid[:, 0]

    @classmethod
    def none(cls, steps: int = 51) -> Tracks:
        """Return no tracks."""
        return cls((), np.zeros(0, np.int8), np.zeros((0, steps, len(Box))), np.zeros((0, steps), np.bool_))


@dataclass(frozen=True, eq=False)
class Lights:
    """K traffic lights over T steps of 0.1 s. A light closes one map polygon, usually a lane connector."""

    polygon: NDArray[np.int64]
    """(K,) polygon index in the scene's map; -1 where the light's connector is not in the map."""
    status: NDArray[np.int8]
    """(K, T) codes of `Light`."""
    on_route: NDArray[np.bool_]
    """(K,) whether the light is on the ego's route; others are ignored."""

    def __post_init__(self) -> None:
        put = object.__setattr__
        put(self, "polygon", as_array("lights.polygon", self.polygon, np.int64, ("K",)))
        count = len(self.polygon)
        status = as_array("lights.status", self.status, np.int8, (count, "T"))
        put(self, "status", status)
        as_codes("lights.status", status.reshape(-1), Light, status.size)
        put(self, "on_route", as_array("lights.on_route", self.on_route, np.bool_, (count,)))
        if self.status.shape[1] < STEPS:
            raise SceneError(f"lights.status: {self.status.shape[1]} steps of 0.1 s; at least {STEPS} are needed")

    @classmethod
    def none(cls, steps: int = STEPS) -> Lights:
        """Return no lights."""
        return cls(np.zeros(0, np.int64), np.zeros((0, steps), np.int8), np.zeros(0, np.bool_))
