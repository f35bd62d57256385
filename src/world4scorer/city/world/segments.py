"""Select the segments of drives that become logs.

Every car of the ego's type is a candidate ego. Segments that are not physical or leave the place are excluded; the
rest are ranked by their situations, and long waits are thinned out.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from world4scorer.city.streets.places import Place
from world4scorer.city.streets.street_map import StreetMap
from world4scorer.city.world.expert import ExpertDrive, expert_drive
from world4scorer.city.world.recording import STEPS_PER_FRAME, Recording
from world4scorer.city.world.situations import Flags, Situations, find_situations, frame_rows, signal_links
from world4scorer.city.world.traffic import TIME_STEP
from world4scorer.engine.scene.geometry import direction
from world4scorer.engine.scene.vehicle import FRONT_OVERHANG

PAST_FRAMES: Final = 3
"""Frames before a decision, as in NAVSIM's splits."""
FUTURE_FRAMES: Final = 10
"""Frames after it."""
MAX_LOG_FRAMES: Final = 60
"""Frames."""
MIN_LOG_FRAMES: Final = 26
"""Frames."""
START_STRIDE: Final = 4
"""Frames between the starts of candidate segments."""
MIN_DISTANCE: Final = 5.0
"""Minimum distance driven in a log [m]."""
SETTLING_TIME: Final = 3.0
"""Time excluded after a car has appeared [s]."""
MIN_ACCELERATION, MAX_ACCELERATION = -3.9, 2.3
"""m/s^2"""
MAX_LATERAL_ACCELERATION: Final = 4.0
"""m/s^2"""
MAX_YAW_RATE: Final = 1.0
"""rad/s"""
MAX_CURVATURE: Final = 0.15
"""Curvature that the ego can drive [1/m]."""
MAX_DEVIATION: Final = 0.9
"""Maximum distance of the smoothed drive from SUMO's [m], to which the traffic reacted."""
MIN_ROUTE_LEFT: Final = 70.0
"""Minimum remaining route at the end of a log [m]."""
SITUATION_WEIGHTS: Final[Mapping[str, float]] = {
    "turn": 0.65,
    "crossing": 1.0,
    "cut_in": 1.0,
    "lane_change": 0.8,
    "yielding": 0.8,
    "start": 0.5,
    "stop": 0.3,
    "conflict": 0.3,
    "following": 0.2,
}
"""Score of a moving frame by situation, added to `BASE_WEIGHT`; waiting frames score 0."""
BASE_WEIGHT: Final = 0.2
SPEED_WEIGHT: Final = 0.04
"""Score per m/s up to `MAX_WEIGHTED_SPEED`: fast driving is rare in streets, and the most is at stake."""
MAX_WEIGHTED_SPEED: Final = 14.0
"""m/s"""
MAX_FRAME_SCORE: Final = 1.6
WAIT_KEPT, WAIT_CYCLE = 2, 8
"""Of every 8 waiting frames 2 consecutive ones are kept: extended comfort needs pairs."""


@dataclass(frozen=True, eq=False)
class LogSegment:
    """A part of a drive that becomes a log."""

    expert: ExpertDrive
    situations: Situations
    first: int
    """First frame within the drive."""
    frames: int
    score: float

    @property
    def rows(self) -> NDArray[np.int64]:
        """Rows of the drive, one per frame of the log."""
        return frame_rows(self.expert)[self.first : self.first + self.frames]

    @property
    def steps(self) -> NDArray[np.int64]:
        """Steps of the simulation, one per frame of the log."""
        return self.expert.drive.first_step + self.rows

    def decisions(self) -> NDArray[np.int64]:
        """Frames of the log (0 is its first) with enough past and future, waiting ones thinned."""
        frames = np.arange(PAST_FRAMES, self.frames - FUTURE_FRAMES)
        waits = self.situations.standing[self.first + frames]
        since = np.zeros(len(frames), np.int64)
        for index in range(1, len(frames)):
            since[index] = since[index - 1] + 1 if waits[index] and waits[index - 1] else 0
        return frames[~waits | (since % WAIT_CYCLE < WAIT_KEPT)]


def select_segments(recording: Recording, streets: StreetMap, place: Place, decisions: int) -> list[LogSegment]:
    """The best-scored segments with about `decisions` decision frames in total, in order of time."""
    links = signal_links(streets)
    lengths = edge_lengths(streets)
    found: list[LogSegment] = []
    for drive in recording.drives:
        if len(drive.front) < MIN_LOG_FRAMES * STEPS_PER_FRAME:
            continue
        expert = expert_drive(drive)
        situations = find_situations(expert, recording, streets, links)
        valid = valid_frames(expert, place, streets, lengths) & ~situations.touching
        found += _segments(expert, situations, valid)
    found.sort(key=lambda segment: (-segment.score, segment.expert.drive.name, segment.first))
    chosen: list[LogSegment] = []
    total = 0
    for segment in found:
        if total >= decisions:
            break
        if not any(_overlap(segment, other) for other in chosen):
            chosen.append(segment)
            total += len(segment.decisions())
    return sorted(chosen, key=lambda segment: (int(segment.steps[0]), segment.expert.drive.name))


def _segments(expert: ExpertDrive, situations: Situations, valid: Flags) -> list[LogSegment]:
    """All segments of valid frames, overlapping ones included."""
    rows = frame_rows(expert)
    score, travelled = _frame_scores(situations, expert.speed[rows]), expert.travelled[rows]
    found = []
    edges = np.flatnonzero(np.diff(np.concatenate([[False], valid, [False]])))
    for begin, end in zip(edges[::2], edges[1::2], strict=True):
        frames = min(MAX_LOG_FRAMES, int(end - begin))
        if frames < MIN_LOG_FRAMES:
            continue
        for first in range(int(begin), int(end) - frames + 1, START_STRIDE):
            core = slice(first + PAST_FRAMES, first + frames - FUTURE_FRAMES)
            if travelled[first + frames - 1] - travelled[first] > MIN_DISTANCE:
                found.append(LogSegment(expert, situations, first, frames, float(score[core].mean())))
    return found


def _frame_scores(situations: Situations, speed: NDArray[np.float64]) -> NDArray[np.float64]:
    score = BASE_WEIGHT + SPEED_WEIGHT * np.minimum(speed, MAX_WEIGHTED_SPEED)
    for name, weight in SITUATION_WEIGHTS.items():
        score += weight * getattr(situations, name)
    return np.where(situations.standing, 0.0, np.minimum(score, MAX_FRAME_SCORE))


def valid_frames(expert: ExpertDrive, place: Place, streets: StreetMap, lengths: Mapping[str, float]) -> Flags:
    """Frames whose motion since the last one is physical, inside the place and before the end of the route."""
    drive = expert.drive
    bumper = expert.pose[:, :2] + FRONT_OVERHANG * direction(expert.pose[:, 2])
    x0, y0, x1, y1 = place.area
    forward = expert.acceleration[:, 0]
    good = (
        (np.arange(len(forward)) * TIME_STEP >= SETTLING_TIME)
        & (forward > MIN_ACCELERATION)
        & (forward < MAX_ACCELERATION)
        & (np.abs(expert.acceleration[:, 1]) < MAX_LATERAL_ACCELERATION)
        & (np.abs(expert.yaw_rate) < MAX_YAW_RATE)
        & (np.abs(expert.yaw_rate) < MAX_CURVATURE * np.maximum(expert.speed, 1.0))
        & (np.linalg.norm(bumper - drive.front, axis=1) < MAX_DEVIATION)
        & (expert.pose[:, 0] > x0)
        & (expert.pose[:, 0] < x1)
        & (expert.pose[:, 1] > y0)
        & (expert.pose[:, 1] < y1)
        & (_route_left(expert, streets, lengths) > MIN_ROUTE_LEFT)
    )
    rows = frame_rows(expert)
    return np.array([good[max(0, row - STEPS_PER_FRAME + 1) : row + 1].all() for row in rows], np.bool_)


def _route_left(expert: ExpertDrive, streets: StreetMap, lengths: Mapping[str, float]) -> NDArray[np.float64]:
    """Remaining route at each row [m], by edge lengths."""
    drive = expert.drive
    ahead = np.cumsum([lengths.get(edge, 0.0) for edge in drive.route][::-1])[::-1]
    left = np.zeros(len(drive.lane))
    index = 0
    entered = 0.0
    for row, lane_id in enumerate(drive.lane):
        lane = streets.lanes.get(lane_id)
        if lane is not None and not lane.internal:
            while index < len(drive.route) and drive.route[index] != lane.edge:
                index += 1
                entered = expert.travelled[row]
        if index >= len(drive.route):
            break
        left[row] = ahead[index] - (expert.travelled[row] - entered)
    return left


def edge_lengths(streets: StreetMap) -> dict[str, float]:
    """Length of every edge [m]."""
    return {
        lane.edge: float(np.linalg.norm(np.diff(lane.shape, axis=0), axis=1).sum())
        for lane in streets.lanes.values()
        if not lane.internal
    }


def _overlap(one: LogSegment, other: LogSegment) -> bool:
    if one.expert.drive is not other.expert.drive:
        return False
    return one.first < other.first + other.frames and other.first < one.first + one.frames
