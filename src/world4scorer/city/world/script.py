"""The script of a log: everything that is written and drawn, but not yet written and drawn.

Simulating and filming are apart, so that the frames of one simulation can be filmed by many processes.
"""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from world4scorer.city.scenery.actors import Actors
from world4scorer.city.world.casting import Stretch
from world4scorer.city.world.commands import RouteReader
from world4scorer.city.world.recording import Recording
from world4scorer.city.world.traffic import Agents, Moment, actors_at

FAR: float = 150.0
"""Road users further away are neither drawn nor annotated [m]."""


@dataclass(frozen=True, eq=False)
class ScriptFrame:
    """One frame; coordinates are those of the street map."""

    step: int
    """Of the simulation."""
    ego_pose: NDArray[np.float64]
    """(3,) rear axle."""
    speed: float
    acceleration: NDArray[np.float64]
    """(2,)"""
    yaw_rate: float
    command: int
    actors: Actors
    speeds: NDArray[np.float64]
    """(n,) of the actors [m/s]."""
    names: tuple[str, ...]
    """n names of the actors."""
    signals: Mapping[str, str]


@dataclass(frozen=True, eq=False)
class LogScript:
    """A log to be filmed and written."""

    name: str
    simulation: str
    network: str
    vehicle: str
    """SUMO's name of the ego."""
    seed: int
    """Of the city."""
    weather_seed: int
    route: tuple[str, ...]
    """Edges, from the one where the log begins to the destination."""
    frames: tuple[ScriptFrame, ...]
    decisions: NDArray[np.int64]
    """Frames that a split lists."""
    situations: Mapping[str, int]
    """How many decision frames carry each flag."""

    def __str__(self) -> str:
        return self.name

    def token(self, frame: int) -> str:
        """16 hexadecimal digits."""
        return digest(self.seed, self.name, frame)


def digest(*parts: object) -> str:
    """16 hexadecimal digits that stand for the parts."""
    return hashlib.sha256("/".join(map(str, parts)).encode()).hexdigest()[:16]


def write_script(
    stretch: Stretch, recording: Recording, routes: RouteReader, simulation: str, network: str, seed: int
) -> LogScript:
    """Take everything that a log needs out of a recording."""
    drive = stretch.expert.drive
    name = f"{simulation}_{drive.name}_{stretch.steps[0]:05d}"
    lanes = [drive.lane[row] for row in stretch.rows]
    begin = next(edge for lane in lanes if (edge := routes.edge_of(lane, drive.route)) is not None)
    frames = tuple(
        _frame(stretch, int(row), recording.moment_at(int(step)), recording.agents, routes)
        for row, step in zip(stretch.rows, stretch.steps, strict=True)
    )
    decisions = stretch.decisions()
    return LogScript(
        name=name,
        simulation=simulation,
        network=network,
        vehicle=drive.name,
        seed=seed,
        weather_seed=zlib.crc32(f"{seed}/{name}".encode()),
        route=drive.route[drive.route.index(begin) :],
        frames=frames,
        decisions=decisions,
        situations={"frames": len(decisions), **stretch.situations.counts(stretch.first + decisions)},
    )


def _frame(stretch: Stretch, row: int, moment: Moment, agents: Agents, routes: RouteReader) -> ScriptFrame:
    expert = stretch.expert
    moment = moment.around(expert.pose[row, :2], FAR, expert.drive.agent)
    return ScriptFrame(
        step=moment.step,
        ego_pose=expert.pose[row].copy(),
        speed=float(expert.speed[row]),
        acceleration=expert.acceleration[row].copy(),
        yaw_rate=float(expert.yaw_rate[row]),
        command=routes.command_at(expert.drive.route, expert.pose[row]),
        actors=actors_at(moment, agents),
        speeds=moment.speed,
        names=tuple(agents.ids[index] for index in moment.agent),
        signals=moment.signals,
    )
