"""Which stretches of which drives become logs.

Every car of the ego's type is a possible ego. Stretches that are not physical, or leave the place, are left out; of
the rest, those where something happens are taken first, and long waits are thinned out.
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
from world4scorer.city.world.traffic import STEP
from world4scorer.engine.scene.vehicle import FRONT_OVERHANG

HISTORY: Final = 3
"""Frames before a decision, as in NAVSIM's splits."""
FUTURE: Final = 10
"""Frames after it."""
LONGEST_LOG: Final = 60
"""Frames."""
SHORTEST_LOG: Final = 26
"""Frames."""
STARTS_APART: Final = 4
"""Frames between the stretches that are compared."""
SHORTEST_WAY: Final = 5.0
"""Of the ego in a log [m]."""
SETTLING_TIME: Final = 3.0
"""After a car has appeared [s]."""
HARDEST_BRAKING, HARDEST_ACCELERATION = -3.9, 2.3
"""m/s^2"""
HARDEST_CORNERING: Final = 4.0
"""m/s^2"""
FASTEST_TURN: Final = 1.0
"""rad/s"""
SHARPEST_TURN: Final = 0.15
"""Curvature that the ego can drive [1/m]."""
LARGEST_DEVIATION: Final = 0.9
"""Of the smooth drive from SUMO's [m]: the others reacted to the latter."""
ROUTE_LEFT: Final = 70.0
"""Of the way to the destination at the end of a log [m]."""
WEIGHTS: Final[Mapping[str, float]] = {
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
"""What makes a frame worth having; a moving one without any of these has `DULL`, a waiting one nothing."""
DULL: Final = 0.2
BRISK: Final = 0.04
"""Added per m/s, up to `BRISKEST`: fast driving is rare in streets, and the most is at stake."""
BRISKEST: Final = 14.0
"""m/s"""
MOST: Final = 1.6
WAIT_KEPT, WAIT_CYCLE = 2, 8
"""Of each eight frames of waiting, two are kept (two in a row: pairs are needed to judge consistency)."""


@dataclass(frozen=True, eq=False)
class Stretch:
    """A part of a drive that becomes a log."""

    expert: ExpertDrive
    situations: Situations
    first: int
    """Frame of the drive."""
    frames: int
    worth: float

    @property
    def rows(self) -> NDArray[np.int64]:
        """Rows of the drive, one per frame of the log."""
        return frame_rows(self.expert)[self.first : self.first + self.frames]

    @property
    def steps(self) -> NDArray[np.int64]:
        """Steps of the simulation, one per frame of the log."""
        return self.expert.drive.first_step + self.rows

    def decisions(self) -> NDArray[np.int64]:
        """Frames of the log (0 is its first) that a split lists: with past and future, waiting ones thinned."""
        frames = np.arange(HISTORY, self.frames - FUTURE)
        waits = self.situations.standing[self.first + frames]
        since = np.zeros(len(frames), np.int64)
        for index in range(1, len(frames)):
            since[index] = since[index - 1] + 1 if waits[index] and waits[index - 1] else 0
        return frames[~waits | (since % WAIT_CYCLE < WAIT_KEPT)]


def cast(recording: Recording, streets: StreetMap, place: Place, decisions: int) -> list[Stretch]:
    """Stretches with about `decisions` decision frames, the most worthwhile first chosen, in order of time."""
    links = signal_links(streets)
    lengths = edge_lengths(streets)
    found: list[Stretch] = []
    for drive in recording.drives:
        if len(drive.front) < SHORTEST_LOG * STEPS_PER_FRAME:
            continue
        expert = expert_drive(drive)
        situations = find_situations(expert, recording, streets, links)
        valid = valid_frames(expert, place, streets, lengths) & ~situations.touching
        found += _stretches(expert, situations, valid)
    found.sort(key=lambda stretch: (-stretch.worth, stretch.expert.drive.name, stretch.first))
    chosen: list[Stretch] = []
    total = 0
    for stretch in found:
        if total >= decisions:
            break
        if not any(_overlap(stretch, other) for other in chosen):
            chosen.append(stretch)
            total += len(stretch.decisions())
    return sorted(chosen, key=lambda stretch: (int(stretch.steps[0]), stretch.expert.drive.name))


def _stretches(expert: ExpertDrive, situations: Situations, valid: Flags) -> list[Stretch]:
    """All stretches of valid frames, overlapping ones included."""
    rows = frame_rows(expert)
    worth, travelled = _worth(situations, expert.speed[rows]), expert.travelled[rows]
    found = []
    edges = np.flatnonzero(np.diff(np.concatenate([[False], valid, [False]])))
    for begin, end in zip(edges[::2], edges[1::2], strict=True):
        frames = min(LONGEST_LOG, int(end - begin))
        if frames < SHORTEST_LOG:
            continue
        for first in range(int(begin), int(end) - frames + 1, STARTS_APART):
            core = slice(first + HISTORY, first + frames - FUTURE)
            if travelled[first + frames - 1] - travelled[first] > SHORTEST_WAY:
                found.append(Stretch(expert, situations, first, frames, float(worth[core].mean())))
    return found


def _worth(situations: Situations, speed: NDArray[np.float64]) -> NDArray[np.float64]:
    worth = DULL + BRISK * np.minimum(speed, BRISKEST)
    for name, weight in WEIGHTS.items():
        worth += weight * getattr(situations, name)
    return np.where(situations.standing, 0.0, np.minimum(worth, MOST))


def valid_frames(expert: ExpertDrive, place: Place, streets: StreetMap, lengths: Mapping[str, float]) -> Flags:
    """Frames at which all that happened since the last one is physical, inside the place and before the end."""
    drive = expert.drive
    direction = np.stack([np.cos(expert.pose[:, 2]), np.sin(expert.pose[:, 2])], axis=1)
    bumper = expert.pose[:, :2] + FRONT_OVERHANG * direction
    x0, y0, x1, y1 = place.area
    forward = expert.acceleration[:, 0]
    good = (
        (np.arange(len(forward)) * STEP >= SETTLING_TIME)
        & (forward > HARDEST_BRAKING)
        & (forward < HARDEST_ACCELERATION)
        & (np.abs(expert.acceleration[:, 1]) < HARDEST_CORNERING)
        & (np.abs(expert.yaw_rate) < FASTEST_TURN)
        & (np.abs(expert.yaw_rate) < SHARPEST_TURN * np.maximum(expert.speed, 1.0))
        & (np.linalg.norm(bumper - drive.front, axis=1) < LARGEST_DEVIATION)
        & (expert.pose[:, 0] > x0)
        & (expert.pose[:, 0] < x1)
        & (expert.pose[:, 1] > y0)
        & (expert.pose[:, 1] < y1)
        & (_route_left(expert, streets, lengths) > ROUTE_LEFT)
    )
    rows = frame_rows(expert)
    return np.array([good[max(0, row - STEPS_PER_FRAME + 1) : row + 1].all() for row in rows], np.bool_)


def _route_left(expert: ExpertDrive, streets: StreetMap, lengths: Mapping[str, float]) -> NDArray[np.float64]:
    """Metres of the route that lie ahead of each row, by lengths of edges."""
    drive = expert.drive
    ahead = np.cumsum([lengths.get(edge, 0.0) for edge in drive.route][::-1])[::-1]
    left = np.zeros(len(drive.lane))
    place_in_route = 0
    entered = 0.0
    for row, lane_id in enumerate(drive.lane):
        lane = streets.lanes.get(lane_id)
        if lane is not None and not lane.internal:
            while place_in_route < len(drive.route) and drive.route[place_in_route] != lane.edge:
                place_in_route += 1
                entered = expert.travelled[row]
        if place_in_route >= len(drive.route):
            break
        left[row] = ahead[place_in_route] - (expert.travelled[row] - entered)
    return left


def edge_lengths(streets: StreetMap) -> dict[str, float]:
    """Metres of every edge."""
    return {
        lane.edge: float(np.linalg.norm(np.diff(lane.shape, axis=0), axis=1).sum())
        for lane in streets.lanes.values()
        if not lane.internal
    }


def _overlap(one: Stretch, other: Stretch) -> bool:
    if one.expert.drive is not other.expert.drive:
        return False
    return one.first < other.first + other.frames and other.first < one.first + one.frames
