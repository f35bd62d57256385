"""Log plans: everything a log needs, taken from a recording, before rendering and writing.

Simulation and rendering are separate, so that many processes can render the frames of one simulation.
"""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from world4scorer.city.scenery.actors import Actors
from world4scorer.city.world.commands import RouteReader
from world4scorer.city.world.recording import Recording
from world4scorer.city.world.segments import LogSegment
from world4scorer.city.world.traffic import Agents, TrafficSnapshot, snapshot_actors

ANNOTATION_RADIUS: float = 150.0
"""Road users beyond this distance are neither drawn nor annotated [m]."""


@dataclass(frozen=True, eq=False)
class FrameState:
    """Ego and traffic of one frame, in coordinates of the street map."""

    step: int
    """Simulation step."""
    ego_pose: NDArray[np.float64]
    """(3,) x, y [m], heading [rad] of the rear axle."""
    speed: float
    acceleration: NDArray[np.float64]
    """(2,)"""
    yaw_rate: float
    command: int
    actors: Actors
    speeds: NDArray[np.float64]
    """(n,) speeds of the actors [m/s]."""
    names: tuple[str, ...]
    """n SUMO names of the actors."""
    signals: Mapping[str, str]


@dataclass(frozen=True, eq=False)
class LogPlan:
    """A log to be rendered and written."""

    name: str
    simulation: str
    network: str
    vehicle: str
    """SUMO id of the ego."""
    seed: int
    """Seed of the city."""
    weather_seed: int
    route: tuple[str, ...]
    """Edges from the start of the log to the destination."""
    frames: tuple[FrameState, ...]
    decisions: NDArray[np.int64]
    """Frames that become scenes of the split."""
    situations: Mapping[str, int]
    """Number of decision frames by situation."""

    def __str__(self) -> str:
        return self.name

    def token(self, frame: int) -> str:
        """Token of a frame: 16 hexadecimal digits."""
        return digest(self.seed, self.name, frame)


def digest(*parts: object) -> str:
    """Hash of the parts: 16 hexadecimal digits."""
    return hashlib.sha256("/".join(map(str, parts)).encode()).hexdigest()[:16]


def plan_log(
    segment: LogSegment, recording: Recording, routes: RouteReader, simulation: str, network: str, seed: int
) -> LogPlan:
    """Plan the log of a segment of a recording."""
    drive = segment.expert.drive
    name = f"{simulation}_{drive.name}_{segment.steps[0]:05d}"
    lanes = [drive.lane[row] for row in segment.rows]
    begin = next(edge for lane in lanes if (edge := routes.edge_of(lane, drive.route)) is not None)
    frames = tuple(
        _frame(segment, int(row), recording.snapshot_at(int(step)), recording.agents, routes)
        for row, step in zip(segment.rows, segment.steps, strict=True)
    )
    decisions = segment.decisions()
    return LogPlan(
        name=name,
        simulation=simulation,
        network=network,
        vehicle=drive.name,
        seed=seed,
        weather_seed=zlib.crc32(f"{seed}/{name}".encode()),
        route=drive.route[drive.route.index(begin) :],
        frames=frames,
        decisions=decisions,
        situations={"frames": len(decisions), **segment.situations.counts(segment.first + decisions)},
    )


def _frame(segment: LogSegment, row: int, snapshot: TrafficSnapshot, agents: Agents, routes: RouteReader) -> FrameState:
    expert = segment.expert
    snapshot = snapshot.around(expert.pose[row, :2], ANNOTATION_RADIUS, expert.drive.agent)
    return FrameState(
        step=snapshot.step,
        ego_pose=expert.pose[row].copy(),
        speed=float(expert.speed[row]),
        acceleration=expert.acceleration[row].copy(),
        yaw_rate=float(expert.yaw_rate[row]),
        command=routes.command_at(expert.drive.route, expert.pose[row]),
        actors=snapshot_actors(snapshot, agents),
        speeds=snapshot.speed,
        names=tuple(agents.ids[index] for index in snapshot.agent),
        signals=snapshot.signals,
    )
