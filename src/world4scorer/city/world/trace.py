"""What happens around an ego that is driven along given poses: everybody at each step, signals, pictures.

Shapes: T steps of 0.1 s and the moment before them, T + 1 rows; A road users.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from world4scorer.city.scenery.actors import ActorKind
from world4scorer.city.world.log_plan import FrameState
from world4scorer.city.world.log_renderer import TRACK_TYPES, track_token
from world4scorer.city.world.traffic import teleport_index
from world4scorer.engine.scene.indices import TrackType

NEVER: Final = -1


@dataclass(frozen=True, eq=False)
class Trace:
    """Everybody within 150 m of the ego at each step, as annotations of logs have them."""

    tokens: tuple[str, ...]
    """A names, those that the log gives them, in the order of their first sight."""
    types: NDArray[np.int8]
    """(A,) codes of `TrackType`."""
    sizes: NDArray[np.float64]
    """(A, 2) length, width [m]."""
    poses: NDArray[np.float64]
    """(A, T + 1, 3) x, y [m], heading [rad] of the box's centre; zeros where it is not there."""
    speeds: NDArray[np.float64]
    """(A, T + 1) m/s"""
    valid: NDArray[np.bool_]
    """(A, T + 1)"""
    signals: tuple[Mapping[str, str], ...]
    """SUMO's state texts of all signals, T + 1 times."""
    off_road: NDArray[np.bool_]
    """(T + 1,) where the ego is so far from every lane that the others do not see it; looked at every 0.5 s."""
    finish_step: int
    """First step at which the ego has left the traffic, as its route ended; -1 for never."""
    teleported: int
    """Road users seen here whom SUMO put here on the way, out of a jam, each under another name; not those put away."""
    files: Mapping[int, Mapping[str, bytes]]
    """JPEG files by step and camera."""

    def shifted(self, offset: NDArray[np.float64]) -> Trace:
        """The same in a frame whose origin lies elsewhere; `offset` (3,) is added to poses."""
        return replace(self, poses=np.where(self.valid[..., None], self.poses + offset, 0.0))


class TraceRecorder:
    """Frames one after the other, to be joined to an excursion."""

    def __init__(self, log: str, known: int) -> None:
        """`known` is how many road users the traffic has ever had until now."""
        self._log, self._known = log, known
        self._frames: list[FrameState] = []
        self._off_road: list[bool] = []
        self._finish_step = NEVER
        self._files: dict[int, Mapping[str, bytes]] = {}

    def add(self, frame: FrameState, off_road: bool | None, finished: bool, files: Mapping[str, bytes]) -> None:
        """Note a step; `off_road` None means as before."""
        if finished and self._finish_step == NEVER:
            self._finish_step = len(self._frames)
        if files:
            self._files[len(self._frames)] = files
        self._frames.append(frame)
        self._off_road.append(self._off_road[-1] if off_road is None else off_road)

    def finish(self) -> Trace:
        """All that was noted."""
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
            tokens=tuple(track_token(self._log, name) for name in row),
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
        )
