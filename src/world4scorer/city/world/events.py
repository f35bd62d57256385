"""Staged events on an ego's route: a pedestrian crosses, a vehicle stands in the lane, a vehicle cuts in.

All participants, pedestrians too, are SUMO vehicles, so that the traffic reacts to them; they wait until the ego comes
near. Coordinates are those of the street map.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

import numpy as np

from world4scorer.city.streets.street_map import LaneUse, StreetMap
from world4scorer.city.world.traffic import TIME_STEP, Traffic
from world4scorer.city.world.vehicles import WALKER_SIZE, WALKER_TYPE
from world4scorer.engine.scene.geometry import Floats, arc_length

SPAWN_DISTANCE: Final = 90.0
"""Distance of the ego at which standing vehicles and pedestrians are spawned [m]."""
CUT_IN_SPAWN_DISTANCE: Final = 48.0
"""Distance of the ego at which a vehicle that will cut in is spawned; it drives at once [m]."""
MEETING_DISTANCE: Final = 25.0
"""Distance at which the ego has met a standing vehicle [m]."""
STOP_DURATION: Final = 8.0
"""A standing vehicle drives on this long after the ego has met it [s]."""
CUT_IN_SPEED_FACTOR: Final = 0.5
"""Speed before a cut-in / speed limit."""
CUT_IN_GAP: Final = 10.0
"""Bumper-to-bumper gap at which a vehicle cuts in, plus `CUT_IN_HEADWAY` x closing speed [m]."""
CUT_IN_HEADWAY: Final = 1.2
"""s"""
CUT_IN_DURATION: Final = 4.0
"""Time at low speed after the start of the lane change [s]."""
PEDESTRIAN_LEAD_TIME: Final = 3.4
"""A pedestrian sets off this long before the ego would arrive [s]."""
MIN_APPROACH_SPEED: Final = 3.0
"""Minimum ego speed assumed for that arrival [m/s]."""
WALKING_SPEED: Final = 1.5
"""m/s"""
PEDESTRIAN_SETBACK: Final = 0.8
"""Distance from the lanes at which pedestrians wait [m]."""
PEDESTRIAN_EXIT_DISTANCE: Final = 5.0
"""Distance beyond the lanes at which they are removed [m]."""
FORCED_LANE_CHANGE: Final = 0
"""SUMO lane change mode: only on request, ignoring gaps."""


class EventKind(StrEnum):
    """Kind of an event."""

    PEDESTRIAN = "pedestrian"
    STOPPED_VEHICLE = "stopped-vehicle"
    CUT_IN = "cut-in"


@dataclass(frozen=True)
class Event:
    """An event at a point of a route."""

    kind: EventKind
    lane: str
    """Lane of the ego's route."""
    position: float
    """Distance from the start of the lane [m]."""
    edges: tuple[str, ...]
    """The route from that lane on, for the event's vehicle."""
    side: int = -1
    """Side that the participant comes from: 1 left, -1 right."""


class EventRunner:
    """A running event; `step` is called before every step of the traffic."""

    def __init__(self, event: Event, streets: StreetMap, name: str) -> None:
        self.event, self.name = event, name
        self.met = False
        """Whether the ego has met it."""
        self._lane = streets.lanes[event.lane]
        self._point, self._ahead = _on_lane(self._lane.shape, event.position)
        self._left = np.array([-self._ahead[1], self._ahead[0]])
        beside = [lane for lane in streets.lanes.values() if lane.edge == self._lane.edge and lane.use is LaneUse.DRIVE]
        self._beside = {lane.index: lane.width for lane in beside}
        self._entered = self._over = False
        self._since = 0.0
        self._walked = 0.0

    def step(self, traffic: Traffic, bumper: Floats, speed: float) -> None:
        """Advance the event for an ego with its bumper at `bumper` (2,) and a speed [m/s]."""
        if self._over:
            return
        to_go = float((self._point - bumper) @ self._ahead)
        if self.event.kind is EventKind.PEDESTRIAN:
            self._walk(traffic, to_go, speed)
        elif not self._entered:
            near = CUT_IN_SPAWN_DISTANCE if self.event.kind is EventKind.CUT_IN else SPAWN_DISTANCE
            if float(np.linalg.norm(self._point - bumper)) < near:
                self._enter(traffic.sumo)
        elif self.name in traffic.sumo.vehicle.getIDList():
            if self.event.kind is EventKind.STOPPED_VEHICLE:
                self._stand(traffic.sumo, to_go)
            else:
                self._cut_in(traffic.sumo, bumper, speed)

    def _enter(self, sumo: Any) -> None:
        index, speed = self._lane.index, 0.0
        if self.event.kind is EventKind.CUT_IN:
            index, speed = index + self.event.side, CUT_IN_SPEED_FACTOR * self._lane.speed
        sumo.route.add(self.name, list(self.event.edges))
        kind = "van" if self.event.kind is EventKind.STOPPED_VEHICLE else "saloon"
        sumo.vehicle.add(
            self.name,
            self.name,
            typeID=kind,
            departLane=str(index),
            departPos=f"{self.event.position:.2f}",
            departSpeed=f"{speed:.2f}",
        )
        self._entered = True

    def _stand(self, sumo: Any, to_go: float) -> None:
        if to_go < MEETING_DISTANCE:
            self.met = True
            self._since += TIME_STEP
        if self._since < STOP_DURATION:
            sumo.vehicle.setSpeed(self.name, 0.0)
        else:
            sumo.vehicle.setSpeed(self.name, -1.0)
            self._over = True

    def _cut_in(self, sumo: Any, bumper: Floats, speed: float) -> None:
        slow = CUT_IN_SPEED_FACTOR * self._lane.speed
        sumo.vehicle.setLaneChangeMode(self.name, FORCED_LANE_CHANGE)
        sumo.vehicle.setSpeed(self.name, slow)
        gap = float((np.array(sumo.vehicle.getPosition(self.name)) - bumper) @ self._ahead)
        near = CUT_IN_GAP + CUT_IN_HEADWAY * max(speed - slow, 0.0)
        if not self.met and gap < near and sumo.vehicle.getRoadID(self.name) == self._lane.edge:
            sumo.vehicle.changeLane(self.name, self._lane.index, CUT_IN_DURATION)
            self.met = True
        if self.met:
            self._since += TIME_STEP
        if self._since > CUT_IN_DURATION or gap < 0.0:
            sumo.vehicle.setSpeed(self.name, -1.0)
            self._over = True

    def _walk(self, traffic: Traffic, to_go: float, speed: float) -> None:
        sumo = traffic.sumo
        own = self._lane.width / 2
        right = sum(width for index, width in self._beside.items() if index < self._lane.index)
        left = sum(width for index, width in self._beside.items() if index > self._lane.index)
        near, far = (own + right, own + left) if self.event.side < 0 else (own + left, own + right)
        if not self._entered and to_go < SPAWN_DISTANCE:
            add_walker_type(sumo)
            sumo.route.add(self.name, list(self.event.edges[:1]))
            sumo.vehicle.add(self.name, self.name, typeID=WALKER_TYPE)
            self._entered = True
        elif self._entered and self.name not in sumo.vehicle.getIDList():  # SUMO removes what others run into
            self._over = True
        if not self._entered or self._over:
            return
        if to_go < PEDESTRIAN_LEAD_TIME * max(speed, MIN_APPROACH_SPEED):
            self.met = True
        if self.met:
            self._walked += WALKING_SPEED * TIME_STEP
        if self._walked > near + PEDESTRIAN_SETBACK + far + PEDESTRIAN_EXIT_DISTANCE:
            sumo.vehicle.remove(self.name)
            self._over = True
            return
        across = -self.event.side * self._left  # walking direction
        place = self._point + across * (self._walked - near - PEDESTRIAN_SETBACK)
        angle = float(90.0 - np.degrees(np.arctan2(across[1], across[0]))) % 360.0
        sumo.vehicle.moveToXY(self.name, "", -1, float(place[0]), float(place[1]), angle, 2)


def event_runners(events: Sequence[Event], streets: StreetMap) -> list[EventRunner]:
    """A runner for each event, with a unique SUMO name."""
    return [EventRunner(event, streets, f"event{number}") for number, event in enumerate(events)]


def add_walker_type(sumo: Any) -> None:
    """Register the vehicle type of pedestrians, which route files on disk do not define."""
    if WALKER_TYPE in sumo.vehicletype.getIDList():
        return
    length, width, height = WALKER_SIZE
    sumo.vehicletype.copy("bicycle", WALKER_TYPE)
    sumo.vehicletype.setLength(WALKER_TYPE, length)
    sumo.vehicletype.setWidth(WALKER_TYPE, width)
    sumo.vehicletype.setHeight(WALKER_TYPE, height)
    sumo.vehicletype.setMinGap(WALKER_TYPE, 0.5)
    sumo.vehicletype.setVehicleClass(WALKER_TYPE, "passenger")


def _on_lane(shape: Floats, position: float) -> tuple[Floats, Floats]:
    """Point (2,) and direction (2,) at a distance along a centreline."""
    step = np.diff(shape, axis=0)
    length = np.linalg.norm(step, axis=1)
    along = arc_length(shape)
    piece = int(np.clip(np.searchsorted(along, position, side="right") - 1, 0, len(step) - 1))
    direction = step[piece] / length[piece]
    return shape[piece] + (position - along[piece]) * direction, direction
