"""Interpolation of a log: ego and agents at any time.

Logs have 2 Hz; positions are cubic Hermite splines with the frames' velocities, headings follow the shorter arc.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np
from numpy.typing import NDArray

from world4scorer.datasets.navsim.frames import LogFrame
from world4scorer.datasets.navsim.logs import FRAME_US, Log
from world4scorer.engine.scene.geometry import turn, wrap

Floats = NDArray[np.float64]

MAX_FRAME_GAP: Final = 1.5 * FRAME_US
"""Larger gaps between frames [us] are not interpolated."""
CLOCK_JITTER: Final = 0.01
"""Jitter of frame times around multiples of 0.5 s [s]."""
PATH_STEPS: Final = 5
MAX_TRACK_JUMP: Final = 30.0
"""A track that jumps further than this [m] is treated as another one."""


@dataclass(frozen=True, eq=False)
class LogSnapshot:
    """State of a log at one time; n boxes."""

    frame: int
    """Index of the last frame at or before the time, up to clock jitter: the cameras' frame."""
    nearest: int
    """Index of the nearest frame, whose route and lights apply."""
    time: float
    """Since the log's beginning [s]."""
    ego_pose: Floats
    """(3,) x, y [m], heading [rad] of the rear axle, global."""
    speed: float
    """m/s"""
    boxes: Floats
    """(n, 5) x, y [m], heading [rad], length, width [m], global."""
    type: NDArray[np.int8]
    """(n,) codes of `TrackType`."""


@dataclass(frozen=True, eq=False)
class LogMotion:
    """A log with interpolated motion."""

    log: Log

    @cached_property
    def times(self) -> Floats:
        """(F,) of the frames, since the first [s]."""
        times: Floats = (self.log.times_us - self.log.times_us[0]) / 1e6
        return times

    @cached_property
    def ego(self) -> Floats:
        """(F, 3) poses of the frames."""
        return np.stack([frame.ego_pose for frame in self.log.frames])

    @cached_property
    def path(self) -> tuple[Floats, Floats]:
        """Times (W,) [s] and places (W, 2) [m] of the ego, `PATH_STEPS` from frame to frame."""
        steps = np.linspace(0.0, 1.0, PATH_STEPS, endpoint=False)
        times = [*(np.diff(self.times)[:, None] * steps + self.times[:-1, None]).ravel(), self.duration]
        return np.array(times), np.stack([self.ego_at(time) for time in times])[:, :2]

    @property
    def duration(self) -> float:
        """From the first frame to the last [s]."""
        return float(self.times[-1])

    def at(self, time: float) -> LogSnapshot:
        """Snapshot `time` seconds after the log's start, clamped to the log.

        A track in only one of the two neighbouring frames is present in the nearer half.
        """
        index, share = self._locate(time)
        nearest = index + int(share >= 0.5)
        here, there, share, span = self._neighbours(index, share)
        boxes, types = _interpolate_boxes(here, there, share, span)
        return LogSnapshot(
            frame=max(0, int(np.searchsorted(self.times, time + CLOCK_JITTER, side="right")) - 1),
            nearest=nearest,
            time=time,
            ego_pose=_interpolate_ego(here, there, share, span),
            speed=float((1 - share) * np.linalg.norm(here.velocity) + share * np.linalg.norm(there.velocity)),
            boxes=boxes,
            type=types,
        )

    def ego_at(self, time: float) -> Floats:
        """(3,) the ego's pose `time` seconds after the log's beginning."""
        return _interpolate_ego(*self._neighbours(*self._locate(time)))

    def _locate(self, time: float) -> tuple[int, float]:
        """Index of the last frame at or before a time, and the elapsed share of the interval to the next."""
        index = int(np.clip(np.searchsorted(self.times, time, side="right") - 1, 0, len(self.times) - 1))
        if index == len(self.times) - 1:
            return index, 0.0
        span = self.times[index + 1] - self.times[index]
        return index, float(np.clip((time - self.times[index]) / span, 0.0, 1.0))

    def _neighbours(self, index: int, share: float) -> tuple[LogFrame, LogFrame, float, float]:
        """Neighbouring frames, interpolation share, and the time between them [s]."""
        frames = self.log.frames
        here, there = frames[index], frames[min(index + 1, len(frames) - 1)]
        if there.time_us - here.time_us > MAX_FRAME_GAP:
            nearest = there if share >= 0.5 else here
            return nearest, nearest, 0.0, 0.0
        return here, there, share, (there.time_us - here.time_us) / 1e6


def _interpolate_ego(here: LogFrame, there: LogFrame, share: float, span: float) -> Floats:
    ends = np.stack([_ego_motion(here), _ego_motion(there)])
    pose: Floats = interpolate_poses(ends[:1], ends[1:], share, span)[0]
    return pose


def _ego_motion(frame: LogFrame) -> Floats:
    """(5,) x, y, heading, velocity x, y, global."""
    forward, left = frame.velocity
    return np.array([*frame.ego_pose, *turn(forward, left, frame.ego_pose[2])])


def _interpolate_boxes(here: LogFrame, there: LogFrame, share: float, span: float) -> tuple[Floats, NDArray[np.int8]]:
    """(n, 5) boxes and their types (n,)."""
    if share == 0.0 or here is there:
        return _boxes(here)
    now, then = _rows_by_token(here), _rows_by_token(there)
    (boxes, types), (later, later_types) = _boxes(here), _boxes(there)
    both = [(row, then[token]) for token, row in now.items() if token in then]
    pairs = np.array(both, np.int64).reshape(-1, 2)
    if len(pairs):
        jump = np.linalg.norm(here.global_boxes[pairs[:, 0], :2] - there.global_boxes[pairs[:, 1], :2], axis=1)
        pairs = pairs[jump <= MAX_TRACK_JUMP]
    moving = boxes[pairs[:, 0]].copy()
    if len(pairs):
        moving[:, :3] = interpolate_poses(here.global_boxes[pairs[:, 0]], there.global_boxes[pairs[:, 1]], share, span)
    rest, column = ((boxes, types), 0) if share < 0.5 else ((later, later_types), 1)
    alone = np.setdiff1d(np.arange(len(rest[0])), pairs[:, column])
    return np.concatenate([moving, rest[0][alone]]), np.concatenate([types[pairs[:, 0]], rest[1][alone]])


def _boxes(frame: LogFrame) -> tuple[Floats, NDArray[np.int8]]:
    if frame.annotations is None:
        return np.zeros((0, 5)), np.zeros(0, np.int8)
    return np.column_stack([frame.global_boxes[:, :3], frame.annotations.boxes[:, 3:5]]), frame.annotations.type


def _rows_by_token(frame: LogFrame) -> dict[str, int]:
    return {token: row for row, token in enumerate(frame.track_tokens)}


def interpolate_poses(here: Floats, there: Floats, share: float, span: float) -> Floats:
    """Poses (n, 3) a `share` of the time `span` [s] after `here` and before `there` (n, 5), which hold velocities."""
    s = share
    position = (
        (2 * s**3 - 3 * s**2 + 1) * here[:, :2]
        + (s**3 - 2 * s**2 + s) * span * here[:, 3:5]
        + (3 * s**2 - 2 * s**3) * there[:, :2]
        + (s**3 - s**2) * span * there[:, 3:5]
    )
    heading = here[:, 2] + s * wrap(there[:, 2] - here[:, 2])
    return np.column_stack([position, heading])
