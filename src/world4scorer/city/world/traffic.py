"""SUMO traffic as arrays of boxes, step by step.

SUMO moves front bumpers along lanes. A real vehicle's rear axle follows its front axle, so its heading changes smoothly
and it cuts corners; `Traffic` tracks every rear axle and returns the resulting boxes. SUMO allows one simulation per
process.
"""

from __future__ import annotations

import os
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from world4scorer.city.scenery.actors import ActorKind, Actors
from world4scorer.city.streets.errors import CityError
from world4scorer.city.streets.sumo import load_sumo, sumo_environment
from world4scorer.city.world.vehicles import PEDESTRIAN_SIZE, vehicle_type
from world4scorer.engine.scene.geometry import Floats

TIME_STEP: Final = 0.1
"""s"""
BRAKE, LEFT, RIGHT = 8, 2, 1
"""Bits of SUMO's vehicle signals."""
MAX_JUMP: Final = 1.6
"""Largest increase of a step's length [m]; beyond it SUMO teleported the road user, which gets a new name.
Gaps between lanes make steps of up to a metre."""
TELEPORT_MARK: Final = "~"
"""Separator in the names of teleported road users."""
MAX_FIRST_STEP: Final = 3.0
"""Assumed length of a road user's first step [m]."""
SUMO_OPTIONS: Final = (
    *("--step-length", f"{TIME_STEP}"),
    *("--lanechange.duration", "3"),
    *("--collision.action", "none"),
    *("--time-to-teleport", "60"),
    *("--ignore-route-errors", "true"),
    *("--no-step-log", "true"),
    *("--no-warnings", "true"),
    *("--xml-validation", "never"),
    *("--xml-validation.net", "never"),
)


def teleport_index(name: str) -> int:
    """Index of a teleported road user, from its name; -1 for all others."""
    _, found, index = name.partition(TELEPORT_MARK)
    return int(index) if found else -1


@dataclass(eq=False)
class Agents:
    """All road users so far, in order of appearance."""

    ids: list[str] = field(default_factory=list)
    types: list[str] = field(default_factory=list)
    kinds: list[ActorKind] = field(default_factory=list)
    sizes: list[tuple[float, float, float]] = field(default_factory=list)

    def add(self, name: str, type_name: str, kind: ActorKind, size: tuple[float, float, float]) -> int:
        """Append a road user and return its index."""
        self.ids.append(name)
        self.types.append(type_name)
        self.kinds.append(kind)
        self.sizes.append(size)
        return len(self.ids) - 1


@dataclass(frozen=True, eq=False)
class TrafficSnapshot:
    """All road users at one step."""

    step: int
    agent: NDArray[np.int64]
    """(n,) index into `Agents`."""
    pose: Floats
    """(n, 3) x, y [m], heading [rad] of the centre of the box."""
    speed: Floats
    """(n,) m/s"""
    lamps: NDArray[np.uint8]
    """(n,) bits `BRAKE`, `LEFT`, `RIGHT`."""
    travelled: Floats
    """(n,) distance since its appearance [m]."""
    signals: Mapping[str, str]
    """SUMO state string of every traffic light."""

    def around(self, point: Floats, radius: float, exclude: int) -> TrafficSnapshot:
        """Road users within `radius` [m] of a point (2,), except the agent `exclude` (the ego)."""
        near = np.linalg.norm(self.pose[:, :2] - point, axis=1) < radius
        rows = np.flatnonzero(near & (self.agent != exclude))
        columns = ("agent", "pose", "speed", "lamps", "travelled")
        return replace(self, **{name: getattr(self, name)[rows] for name in columns})


def snapshot_actors(snapshot: TrafficSnapshot, agents: Agents) -> Actors:
    """The road users of a snapshot for the renderer."""
    return Actors(
        pose=snapshot.pose,
        size=np.array([agents.sizes[index] for index in snapshot.agent]).reshape(-1, 3),
        kind=np.array([agents.kinds[index] for index in snapshot.agent], np.int8),
        look=np.array([zlib.crc32(agents.ids[index].encode()) for index in snapshot.agent], np.uint32),
        brake=snapshot.lamps & BRAKE > 0,
        left=snapshot.lamps & LEFT > 0,
        right=snapshot.lamps & RIGHT > 0,
        stride=snapshot.travelled,
    )


class Traffic:
    """A running SUMO simulation."""

    def __init__(self, network: str | os.PathLike[str], demand: str | os.PathLike[str], seed: int) -> None:
        for path in (network, demand):
            if not Path(path).is_file():
                raise CityError(f"{path}: no such file; make the city again with `w4s city make`")
        self._sumo = load_sumo()
        command = ["sumo", "-n", str(network), "-r", str(demand), "--seed", str(seed), *SUMO_OPTIONS]
        try:
            with sumo_environment():
                self._sumo.start(command)
        except (self._sumo.TraCIException, self._sumo.FatalTraCIError) as error:
            raise CityError(f"{network}: SUMO cannot load it ({error}); delete it and make the city again") from error
        self.agents = Agents()
        self.steps = 0
        self._index: dict[str, int] = {}
        self._used: set[str] = set()
        self._rear = np.zeros((256, 2))
        self._front = np.zeros((256, 2))
        self._travelled = np.zeros(256)
        self._stride = np.zeros(256)  # length of the last step
        # Lengths from bumper to front axle, from front to rear axle, and from rear axle to the centre of the box.
        self._lengths = np.zeros((256, 3))
        self._order: NDArray[np.int64] = np.zeros(0, np.int64)
        self._names: list[str] = []
        self._poses = np.zeros((0, 3))

    @property
    def sumo(self) -> Any:
        """The `libsumo` module."""
        return self._sumo

    def close(self) -> None:
        """End the simulation, so that another can start in this process."""
        self._sumo.close()

    def present(self) -> Iterable[tuple[str, int]]:
        """Names and indices of the road users of the current step."""
        return zip(self._names, self._order.tolist(), strict=True)

    def rear_axle(self, name: str) -> Floats:
        """(3,) x, y [m], heading [rad] of the rear axle of a present vehicle."""
        row = self._names.index(name)
        return np.append(self._rear[self._order[row]], self._poses[row, 2])

    def step(self) -> None:
        """Simulate 0.1 s."""
        self._sumo.simulationStep()
        self.steps += 1
        vehicle, person = self._sumo.vehicle, self._sumo.person
        names = list(vehicle.getIDList())
        vehicles = len(names)
        position, angle = vehicle.getPosition, vehicle.getAngle
        rows = [(*position(name), angle(name)) for name in names]
        walkers = person.getIDList()
        position, angle = person.getPosition, person.getAngle
        rows += [(*position(name), angle(name)) for name in walkers]
        names += walkers
        state = np.array(rows).reshape(-1, 3)
        front, heading = state[:, :2], np.radians(90.0 - state[:, 2])
        order = np.array([self._index.get(name, -1) for name in names], np.int64)
        self._enter(names, order, front, heading, vehicles)
        self._drag(order, front, heading, vehicles)
        self._names = names
        self._order = order
        gone = self._index.keys() - set(names)
        for name in gone:
            del self._index[name]

    def snapshot(self) -> TrafficSnapshot:
        """All road users of the current step."""
        vehicle, person, light = self._sumo.vehicle, self._sumo.person, self._sumo.trafficlight
        walkers = set(person.getIDList())
        speed = [(person if name in walkers else vehicle).getSpeed(name) for name in self._names]
        lamps = [0 if name in walkers else vehicle.getSignals(name) & (BRAKE | LEFT | RIGHT) for name in self._names]
        return TrafficSnapshot(
            step=self.steps,
            agent=self._order.copy(),
            pose=self._poses.copy(),
            speed=np.array(speed, np.float64),
            lamps=np.array(lamps, np.uint8),
            travelled=self._travelled[self._order],
            signals={name: light.getRedYellowGreenState(name) for name in light.getIDList()},
        )

    def _enter(self, names: list[str], order: NDArray[np.int64], front: Floats, heading: Floats, vehicles: int) -> None:
        """Give new and teleported road users an index and a straight body; fills `order`."""
        moved = np.linalg.norm(front - self._front[order], axis=1)
        for row in np.flatnonzero((order < 0) | (moved > self._stride[order] + MAX_JUMP)):
            name = names[row]
            if row < vehicles:
                type_name = self._sumo.vehicle.getTypeID(name)
                kind = vehicle_type(type_name)
                size = (kind.length, kind.width, kind.height)
                ahead = kind.length - kind.rear_overhang - kind.wheelbase
                lengths = (ahead, kind.wheelbase, kind.length / 2 - kind.rear_overhang)
                index = self.agents.add(self._fresh(name), type_name, kind.kind, size)
            else:
                lengths = (0.0, 0.0, 0.0)
                index = self.agents.add(self._fresh(name), "pedestrian", ActorKind.PEDESTRIAN, PEDESTRIAN_SIZE)
            if index >= len(self._rear):
                for held in ("_rear", "_front", "_travelled", "_stride", "_lengths"):
                    old = getattr(self, held)
                    setattr(self, held, np.concatenate([old, np.zeros_like(old)]))
            direction = np.array([np.cos(heading[row]), np.sin(heading[row])])
            self._rear[index] = front[row] - (lengths[0] + lengths[1]) * direction
            self._front[index] = front[row]
            self._stride[index] = MAX_FIRST_STEP
            self._lengths[index] = lengths
            self._index[name] = order[row] = index

    def _fresh(self, name: str) -> str:
        """An unused name: SUMO's own, or with a number after teleporting."""
        fresh = name if name not in self._used else f"{name}{TELEPORT_MARK}{len(self.agents.ids)}"
        self._used.add(fresh)
        return fresh

    def _drag(self, order: NDArray[np.int64], front: Floats, heading: Floats, vehicles: int) -> None:
        """Move bodies to their new bumpers: the rear axle follows the front axle at wheelbase distance."""
        ahead, wheelbase, centre = self._lengths[order].T
        direction = np.stack([np.cos(heading), np.sin(heading)], axis=1)
        axle = front - ahead[:, None] * direction
        body = axle - self._rear[order]
        length = np.linalg.norm(body, axis=1)
        rolls = (np.arange(len(order)) < vehicles) & (length > 0.1)
        body = np.where(rolls[:, None], body / np.maximum(length, 0.1)[:, None], direction)
        rear = axle - wheelbase[:, None] * body
        self._stride[order] = np.linalg.norm(front - self._front[order], axis=1)
        self._travelled[order] += self._stride[order]
        self._front[order], self._rear[order] = front, rear
        self._poses = np.column_stack([rear + centre[:, None] * body, np.arctan2(body[:, 1], body[:, 0])])
