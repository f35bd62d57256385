"""Recordings of simulations: all road users at 2 Hz, candidate egos at 10 Hz."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from world4scorer.city.world.traffic import TIME_STEP, Agents, Traffic, TrafficSnapshot
from world4scorer.city.world.vehicles import EGO_TYPE

STEPS_PER_FRAME: Final = 5
"""Simulation steps per log frame (0.5 s)."""


@dataclass(frozen=True, eq=False)
class Drive:
    """Motion of a candidate ego from appearance to removal, at 10 Hz."""

    agent: int
    name: str
    """SUMO vehicle id."""
    first_step: int
    front: NDArray[np.float64]
    """(n, 2) front bumper [m]."""
    angle: NDArray[np.float64]
    """(n,) heading of the lane [rad]."""
    speed: NDArray[np.float64]
    """(n,) m/s"""
    lane: tuple[str, ...]
    """n lane ids."""
    route: tuple[str, ...]
    """Edges from start to destination."""


@dataclass(frozen=True, eq=False)
class Recording:
    """A simulation after its warm-up."""

    agents: Agents
    snapshots: tuple[TrafficSnapshot, ...]
    """One snapshot per 0.5 s."""
    drives: tuple[Drive, ...]

    def snapshot_at(self, step: int) -> TrafficSnapshot:
        """The snapshot at a step, which must be a 2 Hz step."""
        return self.snapshots[(step - self.snapshots[0].step) // STEPS_PER_FRAME]


def record(
    network: str | os.PathLike[str], demand: str | os.PathLike[str], seed: int, warm_up: float, duration: float
) -> Recording:
    """Simulate `warm_up` seconds, then record `duration` seconds."""
    traffic = Traffic(network, demand, seed)
    try:
        first = round(warm_up / TIME_STEP)
        last = first + round(duration / TIME_STEP)
        snapshots: list[TrafficSnapshot] = []
        open_drives: dict[int, _OpenDrive] = {}
        drives: list[Drive] = []
        for step in range(1, last + 1):
            traffic.step()
            if step < first:
                continue
            if step % STEPS_PER_FRAME == 0:
                snapshots.append(traffic.snapshot())
            for agent in _follow(traffic, open_drives):
                drives.append(open_drives.pop(agent).finish())
        drives += [drive.finish() for drive in open_drives.values()]
    finally:
        traffic.close()
    return Recording(traffic.agents, tuple(snapshots), tuple(drive for drive in drives if len(drive.front) > 1))


class _OpenDrive:
    """A drive that is still being recorded."""

    def __init__(self, agent: int, name: str, first_step: int, route: tuple[str, ...]) -> None:
        self.agent, self.name, self.first_step, self.route = agent, name, first_step, route
        self.rows: list[tuple[float, float, float, float]] = []
        self.lanes: list[str] = []

    def finish(self) -> Drive:
        rows = np.array(self.rows).reshape(-1, 4)
        angle = np.unwrap(np.radians(90.0 - rows[:, 2]))
        return Drive(
            self.agent, self.name, self.first_step, rows[:, :2], angle, rows[:, 3], tuple(self.lanes), self.route
        )


def _follow(traffic: Traffic, drives: dict[int, _OpenDrive]) -> list[int]:
    """Append a row to the drive of each candidate ego; returns the agents whose drives ended."""
    vehicle = traffic.sumo.vehicle
    seen = set()
    for name, agent in traffic.present():
        if traffic.agents.types[agent] != EGO_TYPE:
            continue
        seen.add(agent)
        if agent not in drives:
            drives[agent] = _OpenDrive(agent, name, traffic.steps, tuple(vehicle.getRoute(name)))
        drives[agent].rows.append((*vehicle.getPosition(name), vehicle.getAngle(name), vehicle.getSpeed(name)))
        drives[agent].lanes.append(vehicle.getLaneID(name))
    return [agent for agent in drives if agent not in seen]
