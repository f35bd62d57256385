"""Traffic around an ego that is moved along given poses: road users, signals and images by step.

Shapes: T + 1 rows for T steps of 0.1 s and the step before them; A road users.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from world4scorer.city.scenery.actors import ActorKind
from world4scorer.city.world.log_plan import FrameState, digest
from world4scorer.city.world.log_renderer import TRACK_TYPES
from world4scorer.city.world.traffic import teleport_index
from world4scorer.engine.scene.indices import TrackType

NEVER: Final = -1


@dataclass(frozen=True, eq=False)
class Trace:
    """Road users within 150 m of the ego at each step."""

    tokens: tuple[str, ...]
    """A track tokens, in order of first appearance."""
    types: NDArray[np.int8]
    """(A,) codes of `TrackType`."""
    sizes: NDArray[np.float64]
    """(A, 2) length, width [m]."""
    poses: NDArray[np.float64]
    """(A, T + 1, 3) x, y [m], heading [rad] of box centres; zeros where not valid."""
    speeds: NDArray[np.float64]
    """(A, T + 1) m/s"""
    valid: NDArray[np.bool_]
    """(A, T + 1)"""
    signals: tuple[Mapping[str, str], ...]
    """T + 1 SUMO state strings of all traffic lights."""
    off_road: NDArray[np.bool_]
    """(T + 1,) whether the ego is too far from every lane for traffic to react to it; updated every 0.5 s."""
    finish_step: int
    """First step at which the ego is removed at the end of its route; -1 for never."""
    teleported: int
    """Number of road users that SUMO teleported into this trace, each under a new name."""
    files: Mapping[int, Mapping[str, bytes]]
    """JPEG files by step and camera."""
    rendered: Mapping[int, FrameState] = field(default_factory=dict)
    """Ego and traffic at the steps with images, in coordinates of the street map."""

    def shifted(self, offset: NDArray[np.float64]) -> Trace:
        """The trace with `offset` (3,) added to poses."""
        return replace(self, poses=np.where(self.valid[..., None], self.poses + offset, 0.0))


class TraceRecorder:
    """Collects frames into a trace."""

    def __init__(self, log: str, known: int) -> None:
        """`known` is the number of road users the traffic has had so far."""
        self._log, self._known = log, known
        self._frames: list[FrameState] = []
        self._off_road: list[bool] = []
        self._finish_step = NEVER
        self._files: dict[int, Mapping[str, bytes]] = {}

    def add(self, frame: FrameState, off_road: bool | None, finished: bool, files: Mapping[str, bytes]) -> None:
        """Append a step; `off_road` None repeats the last value."""
        if finished and self._finish_step == NEVER:
            self._finish_step = len(self._frames)
        if files:
            self._files[len(self._frames)] = files
        self._frames.append(frame)
        self._off_road.append(self._off_road[-1] if off_road is None else off_road)

    def finish(self) -> Trace:
        """The trace of all steps."""
        row: dict[str, int] = {}
        for frame in self._frames:
            for name in frame.names:
                row.setdefault(name, len(row))
        shape = (len(row), len(self._frames))
        types, sizes = np.zeros(len(row), np.int8), np.zeros((len(row), 2))
        poses, speeds, valid = np.zeros((*shape, 3)), np.zeros(shape), np.zeros(shape, np.bool_)
        for step, frame in enumerate(self._frames):
            rows = [row[name] for name in frame.names]
            types[rows] = [TRACK_TYPES.get(ActorKind(kind), TrackType.VEHICLE) for kind in frame.actors.kind]
            sizes[rows] = frame.actors.size[:, :2]
            poses[rows, step], speeds[rows, step], valid[rows, step] = frame.actors.pose, frame.speeds, True
        return Trace(
            tokens=tuple(digest(self._log, name) for name in row),
            types=types,
            sizes=sizes,
            poses=poses,
            speeds=speeds,
            valid=valid,
            signals=tuple(frame.signals for frame in self._frames),
            off_road=np.array(self._off_road),
            finish_step=self._finish_step,
            teleported=sum(teleport_index(name) >= self._known for name in row),
            files=self._files,
            rendered={step: self._frames[step] for step in self._files},
        )
