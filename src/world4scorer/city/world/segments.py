"""Select the segments of drives that become logs.

Every car of the ego's type is a candidate ego. Segments that are not physical or leave the place are excluded. Of the
rest a share takes those it wants (`Selection`): ranked by their situations, with long waits thinned out, for validation
and test; balanced, with uneventful driving thinned out too, for training.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from world4scorer.city.streets.places import Place
from world4scorer.city.streets.street_map import StreetMap
from world4scorer.city.world.expert import ExpertDrive, expert_drive
from world4scorer.city.world.recording import STEPS_PER_FRAME, Recording
from world4scorer.city.world.segment_balance import TARGET_SHARES, Candidates, choose_balanced
from world4scorer.city.world.situations import Flags, Situations, find_situations, frame_rows, signal_links
from world4scorer.city.world.traffic import TIME_STEP
from world4scorer.engine.scene.geometry import direction
from world4scorer.engine.scene.vehicle import FRONT_OVERHANG

Selection = Literal["ranked", "balanced"]
"""How segments are selected."""
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
UNEVENTFUL_KEPT, UNEVENTFUL_CYCLE = 2, 6
"""The same of uneventful frames, in balanced selections."""
BALANCED_LENGTHS: Final = (MAX_LOG_FRAMES, 44, 32)
"""Frames of the candidate segments of balanced selections."""


@dataclass(frozen=True, eq=False)
class LogSegment:
    """A part of a drive that becomes a log."""

    expert: ExpertDrive
    situations: Situations
    first: int
    """First frame within the drive."""
    frames: int
    score: float
    thin_uneventful: bool = False
    """Whether uneventful frames are thinned too."""

    @property
    def rows(self) -> NDArray[np.int64]:
        """Rows of the drive, one per frame of the log."""
        return frame_rows(self.expert)[self.first : self.first + self.frames]

    @property
    def steps(self) -> NDArray[np.int64]:
        """Steps of the simulation, one per frame of the log."""
        return self.expert.drive.first_step + self.rows

    def decisions(self) -> NDArray[np.int64]:
        """Frames of the log (0 is its first) with enough past and future, waiting and uneventful ones thinned."""
        frames = np.arange(PAST_FRAMES, self.frames - FUTURE_FRAMES)
        kept = _thinned(self.situations.standing[self.first + frames], WAIT_KEPT, WAIT_CYCLE)
        if self.thin_uneventful:
            kept &= _thinned(self.situations.uneventful[self.first + frames], UNEVENTFUL_KEPT, UNEVENTFUL_CYCLE)
        return frames[kept]


def _thinned(flags: Flags, kept: int, cycle: int) -> Flags:
    """All frames but some of the flagged ones: `kept` of every `cycle` in a row stay."""
    index = np.arange(len(flags))
    begins = flags & ~np.concatenate([[False], flags[:-1]])
    since = index - np.maximum.accumulate(np.where(begins, index, 0))
    return ~flags | (since % cycle < kept)


def select_segments(
    recording: Recording, streets: StreetMap, place: Place, decisions: int, selection: Selection = "ranked"
) -> list[LogSegment]:
    """Segments with about `decisions` decision frames in total, in order of time; fewer if the recording has fewer."""
    links = signal_links(streets)
    lengths = edge_lengths(streets)
    found: list[LogSegment] = []
    for drive in recording.drives:
        if len(drive.front) < MIN_LOG_FRAMES * STEPS_PER_FRAME:
            continue
        expert = expert_drive(drive)
        situations = find_situations(expert, recording, streets, links)
        valid = valid_frames(expert, place, streets, lengths) & ~situations.touching
        if selection == "ranked":
            found += _segments(expert, situations, valid, MAX_LOG_FRAMES)
        else:
            segments = [one for frames in BALANCED_LENGTHS for one in _segments(expert, situations, valid, frames)]
            different = {(segment.first, segment.frames): segment for segment in segments}
            found += [replace(segment, thin_uneventful=True) for segment in different.values()]
    chosen = _ranked(found, decisions) if selection == "ranked" else _balanced(found, decisions)
    return sorted(chosen, key=lambda segment: (int(segment.steps[0]), segment.expert.drive.name))


def _ranked(found: list[LogSegment], decisions: int) -> list[LogSegment]:
    """The best-scored segments."""
    found.sort(key=lambda segment: (-segment.score, segment.expert.drive.name, segment.first))
    chosen: list[LogSegment] = []
    total = 0
    for segment in found:
        if total >= decisions:
            break
        if not any(_overlap(segment, other) for other in chosen):
            chosen.append(segment)
            total += len(segment.decisions())
    return chosen


def _balanced(found: list[LogSegment], decisions: int) -> list[LogSegment]:
    """Segments with the wanted shares of situations."""
    if not found:
        return []
    decisions_of = [segment.decisions() for segment in found]
    counts = [
        segment.situations.counts(segment.first + rows) for segment, rows in zip(found, decisions_of, strict=True)
    ]
    candidates = Candidates(
        counts=np.array([[count[name] for name in TARGET_SHARES] for count in counts], np.float64),
        decisions=np.array([len(rows) for rows in decisions_of], np.float64),
        frames=np.array([segment.frames for segment in found]),
        drive=np.array([segment.expert.drive.agent for segment in found]),
        first=np.array([segment.first for segment in found]),
    )
    chosen = choose_balanced(candidates, decisions)
    return [found[index] for index in chosen]


def _segments(expert: ExpertDrive, situations: Situations, valid: Flags, longest: int) -> list[LogSegment]:
    """All segments of valid frames, as long as possible up to a limit, overlapping ones included."""
    rows = frame_rows(expert)
    score, travelled = _frame_scores(situations, expert.speed[rows]), expert.travelled[rows]
    found = []
    edges = np.flatnonzero(np.diff(np.concatenate([[False], valid, [False]])))
    for begin, end in zip(edges[::2], edges[1::2], strict=True):
        frames = min(longest, int(end - begin))
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
