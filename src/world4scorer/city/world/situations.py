"""Situation flags of a drive's frames: turns, red lights, following, yielding, lane changes, starts.

The flags select which segments become logs, and are counted in the dataset's report.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from itertools import pairwise
from typing import Final

import numpy as np
from numpy.typing import NDArray

from world4scorer.city.streets.street_map import LaneUse, SignalLink, StreetMap
from world4scorer.city.world.encounters import NO_AGENT, find_conflicts, find_contacts, find_leaders
from world4scorer.city.world.expert import ExpertDrive
from world4scorer.city.world.recording import STEPS_PER_FRAME, Recording
from world4scorer.city.world.traffic import TrafficSnapshot
from world4scorer.engine.scene.geometry import arc_length, direction, wrap

Flags = NDArray[np.bool_]

STANDING_SPEED: Final = 0.3
"""Speed below which a vehicle stands [m/s]."""
SLOW_SPEED: Final = 2.0
"""m/s"""
SLOW_DRIVING: Final = (0.5, 5.0)
"""Lowest and highest speed of slow driving [m/s]."""
FAST_DRIVING: Final = 7.0
"""Speed above which driving is fast for city streets [m/s]."""
STEADY_RANGE: Final = 1.5
"""Largest change of speed within 4 s of steady driving [m/s]."""
STEADY_ANGLE: Final = 0.12
"""Largest change of heading within 4 s of straight driving [rad]."""
TURN_ANGLE: Final = 0.35
"""Change of heading within 4 s that makes a turn [rad]."""
NEAR_DISTANCE: Final = 20.0
"""Distance of a near agent [m]."""
LEADER_RANGE: Final = 50.0
"""Search range for leaders [m]."""
FOLLOWING_TIME: Final = 2.5
"""Time gap within which a leader counts, plus `FOLLOWING_GAP` [s]."""
FOLLOWING_GAP: Final = 6.0
"""m"""
HALF_CORRIDOR: Final = 0.9
"""Boxes within this distance of the path block it [m]."""
STOP_LINE_DISTANCE: Final = 14.0
"""Distance from the end of the lane [m]."""
CUT_IN_GAP: Final = 18.0
"""m"""
HORIZON_FRAMES: Final = 8
MIN_STARTING_SPEED: Final = 3.0
"""Minimum ego speed assumed for conflicts [m/s]."""


@dataclass(frozen=True, eq=False)
class Situations:
    """Flags (F,) of the frames of a drive."""

    near_agent: Flags
    """An agent within 20 m."""
    left_turn: Flags
    right_turn: Flags
    standing: Flags
    """Standing throughout the next 4 s."""
    start: Flags
    """Standing now, moving within 4 s."""
    stop: Flags
    """Moving now, standing within 4 s."""
    red_light: Flags
    """Slow or stopping at a red light."""
    following: Flags
    queue: Flags
    """Slow behind a slow leader."""
    yielding: Flags
    """Slow before a junction without a red light or leader."""
    crossing: Flags
    """A crossing agent would be hit at this speed."""
    cut_in: Flags
    """Another agent became the leader by a lane change."""
    lane_change: Flags
    conflict: Flags
    """Keeping the speed would hit an agent within 4 s."""
    slow: Flags
    """Driving at 0.5 to 5 m/s."""
    fast: Flags
    """Driving at more than 7 m/s."""
    uneventful: Flags
    """Straight on at nearly constant speed for 4 s, and nothing of the above but agents near by."""
    touching: Flags
    """A box comes within 0.1 m before the next frame; excluded from logs."""

    @property
    def interaction(self) -> Flags:
        """An agent that affects the metrics."""
        return self.conflict | self.following | self.queue | self.crossing | self.cut_in

    @property
    def turn(self) -> Flags:
        """Left or right turn."""
        return self.left_turn | self.right_turn

    def counts(self, rows: slice | NDArray[np.int64]) -> dict[str, int]:
        """Number of the frames `rows` with each flag."""
        names = [flag.name for flag in fields(self) if flag.name != "touching"]
        return {name: int(getattr(self, name)[rows].sum()) for name in [*names, "interaction"]}


def frame_rows(expert: ExpertDrive) -> NDArray[np.int64]:
    """Rows of the drive at 2 Hz steps."""
    first = expert.drive.first_step
    start = -first % STEPS_PER_FRAME
    return np.arange(start, len(expert.speed), STEPS_PER_FRAME)


def find_situations(
    expert: ExpertDrive, recording: Recording, streets: StreetMap, links: Mapping[tuple[str, str], SignalLink]
) -> Situations:
    """Flags of all frames of a drive; `links` from `signal_links`."""
    rows = frame_rows(expert)
    pose, speed = expert.pose[rows], expert.speed[rows]
    snapshots = [recording.snapshot_at(expert.drive.first_step + int(row)) for row in rows]
    boxes, ids, pace, count = _boxes(expert, recording, snapshots)
    path, first = _path(expert, rows)
    frames = len(rows)
    leaders, conflicts = np.empty(frames, np.int64), np.empty(frames, np.int64)
    gaps, nearest, touching = np.empty(frames), np.empty(frames), np.empty(frames, np.bool_)
    find_leaders(pose, boxes, count, path, first, HALF_CORRIDOR, LEADER_RANGE, leaders, gaps, nearest)
    find_contacts(pose, boxes, ids, count, touching)
    find_conflicts(pose, speed, boxes, ids, count, path, first, MIN_STARTING_SPEED, conflicts)
    has_leader = leaders != NO_AGENT
    at = np.arange(frames)
    leader_pace = np.where(has_leader, pace[at, leaders], 0.0)
    leader_turn = np.abs(wrap(boxes[at, leaders, 2] - pose[:, 2]))
    close = has_leader & (gaps < FOLLOWING_GAP + FOLLOWING_TIME * speed)
    hit_turn = np.abs(wrap(boxes[at, conflicts, 2] - pose[:, 2]))
    conflict = conflicts != NO_AGENT
    turn = _ahead(pose[:, 2], "last") - pose[:, 2]
    moves, stands = speed > STANDING_SPEED, speed <= STANDING_SPEED
    slowest, fastest = _ahead(speed, "min"), _ahead(speed, "max")
    to_line, red = _signals_ahead(expert, rows, snapshots, streets, links)
    slow_near_line = (slowest < SLOW_SPEED) & (speed < 6.0) & (to_line < STOP_LINE_DISTANCE)
    lanes = [expert.drive.lane[row] for row in rows]
    found = Situations(
        near_agent=nearest <= NEAR_DISTANCE,
        left_turn=turn > TURN_ANGLE,
        right_turn=turn < -TURN_ANGLE,
        standing=fastest <= STANDING_SPEED,
        start=stands & (fastest > 1.0),
        stop=moves & (slowest <= STANDING_SPEED),
        red_light=red & (to_line < 30.0) & (slowest < SLOW_SPEED),
        following=close & moves & (leader_turn < 0.8) & (leader_pace > STANDING_SPEED),
        queue=close & (speed < SLOW_SPEED) & (leader_pace < SLOW_SPEED) & (leader_turn < 0.8),
        yielding=slow_near_line & ~red & ~close & (fastest > STANDING_SPEED),
        crossing=conflict & (hit_turn > 0.6),
        cut_in=_cut_ins(leaders, ids, gaps, lanes),
        lane_change=_lane_changes(lanes, streets),
        conflict=conflict,
        slow=(speed >= SLOW_DRIVING[0]) & (speed <= SLOW_DRIVING[1]),
        fast=speed > FAST_DRIVING,
        uneventful=(fastest - slowest < STEADY_RANGE) & (slowest > SLOW_DRIVING[1]) & (np.abs(turn) < STEADY_ANGLE),
        touching=touching,
    )
    eventful = found.interaction | found.turn | found.lane_change | found.yielding | found.red_light
    return replace(found, uneventful=found.uneventful & ~eventful)


def signal_links(streets: StreetMap) -> dict[tuple[str, str], SignalLink]:
    """Signal links of cars by lane and next edge."""
    return {
        (connection.from_lane, streets.lanes[connection.to_lane].edge): connection.link
        for connection in streets.connections
        if connection.link is not None and connection.use is LaneUse.DRIVE
    }


def _boxes(
    expert: ExpertDrive, recording: Recording, snapshots: Sequence[TrafficSnapshot]
) -> tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.float64], NDArray[np.int64]]:
    """Boxes (F, A, 5), agent ids (F, A), speeds (F, A) and counts (F,), without the ego."""
    sizes = np.array(recording.agents.sizes)
    near = []
    for snapshot, place in zip(snapshots, expert.pose[frame_rows(expert)], strict=True):
        keep = (snapshot.agent != expert.drive.agent) & (np.abs(snapshot.pose[:, :2] - place[:2]).max(1) < 100.0)
        near.append(np.flatnonzero(keep))
    most = max(1, max(len(rows) for rows in near))
    boxes, pace = np.zeros((len(near), most, 5)), np.zeros((len(near), most))
    ids, count = np.full((len(near), most), -1, np.int64), np.array([len(rows) for rows in near])
    for frame, (rows, snapshot) in enumerate(zip(near, snapshots, strict=True)):
        agents = snapshot.agent[rows]
        boxes[frame, : len(rows), :3] = snapshot.pose[rows]
        boxes[frame, : len(rows), 3:] = sizes[agents, :2]
        ids[frame, : len(rows)] = agents
        pace[frame, : len(rows)] = snapshot.speed[rows]
    return boxes, ids, pace, count


def _path(expert: ExpertDrive, rows: NDArray[np.int64]) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Path of the rear axle as points 1 m apart, extended straight, and the point of each frame."""
    step = np.linalg.norm(np.diff(expert.pose[:, :2], axis=0), axis=1)
    along = arc_length(expert.pose[:, :2])
    moving = np.concatenate([[True], step > 1e-6])
    grid = np.arange(0.0, along[-1] + 1e-9, 1.0)
    x = np.interp(grid, along[moving], expert.pose[moving, 0])
    y = np.interp(grid, along[moving], expert.pose[moving, 1])
    end, heading = expert.pose[-1, :2], expert.pose[-1, 2]
    beyond = np.arange(1.0, LEADER_RANGE + 20.0)[:, None] * direction(heading)
    return np.concatenate([np.column_stack([x, y]), end + beyond]), along[rows].astype(np.int64)


def _ahead(values: NDArray[np.float64], what: str) -> NDArray[np.float64]:
    """Minimum, maximum or last value over each frame and the next 4 s."""
    padded = np.concatenate([values, np.full(HORIZON_FRAMES, values[-1])])
    windows = np.lib.stride_tricks.sliding_window_view(padded, HORIZON_FRAMES + 1)
    found: NDArray[np.float64] = {"min": windows.min(1), "max": windows.max(1), "last": windows[:, -1]}[what]
    return found


def _signals_ahead(
    expert: ExpertDrive,
    rows: NDArray[np.int64],
    snapshots: Sequence[TrafficSnapshot],
    streets: StreetMap,
    links: Mapping[tuple[str, str], SignalLink],
) -> tuple[NDArray[np.float64], Flags]:
    """Distance to the end of the lane (F,) [m], 1000 inside junctions, and whether its light is red (F,)."""
    distance, red = np.full(len(rows), 1e3), np.zeros(len(rows), np.bool_)
    route = expert.drive.route
    following = dict(pairwise(route))
    for frame, (row, snapshot) in enumerate(zip(rows, snapshots, strict=True)):
        lane = streets.lanes.get(expert.drive.lane[row])
        if lane is None or lane.internal:
            continue
        distance[frame] = np.linalg.norm(lane.shape[-1] - expert.drive.front[row])
        link = links.get((lane.id, following.get(lane.edge, "")))
        if link is not None and link.signal in snapshot.signals:
            red[frame] = snapshot.signals[link.signal][link.index] in "ru"
    return distance, red


def _lane_changes(lanes: list[str], streets: StreetMap) -> Flags:
    """Lane changes on the same edge within the next 2 s."""
    flags = np.zeros(len(lanes), np.bool_)
    for frame in range(len(lanes) - 1):
        now, then = streets.lanes.get(lanes[frame]), streets.lanes.get(lanes[frame + 1])
        if now is not None and then is not None and now.edge == then.edge and now.index != then.index:
            flags[max(0, frame - 3) : frame + 2] = True
    return flags


def _cut_ins(leaders: NDArray[np.int64], ids: NDArray[np.int64], gaps: NDArray[np.float64], lanes: list[str]) -> Flags:
    """A close new leader while the ego stayed in its lane and any old leader was further away."""
    flags = np.zeros(len(leaders), np.bool_)
    who = np.where(leaders == NO_AGENT, NO_AGENT, ids[np.arange(len(leaders)), leaders])
    for frame in range(1, len(leaders)):
        new = who[frame] != NO_AGENT and who[frame] != who[frame - 1]
        if (
            new
            and gaps[frame] < CUT_IN_GAP
            and gaps[frame - 1] > gaps[frame] + 4.0
            and lanes[frame] == lanes[frame - 1]
        ):
            flags[max(0, frame - 3) : frame + 1] = True
    return flags
