"""A stand-in for what the agent needs of CARLA's leaderboard, with CARLA's own types, and a car without a simulator."""

from __future__ import annotations

import enum
import importlib.util
import math
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any

import carla
import numpy as np

from world4scorer.driving.serving.agent_file import SOURCE

DOWN_SAMPLED = 50.0
"""m between the points that the base class keeps, besides those where the option changes."""
TICK = 0.05
WHEEL_BASE = 2.9
REAR_AXLE = 1.35
"""m behind the middle."""
WIDEST_ANGLE = math.radians(70)
"""Of the front wheels, as CARLA's cars have it."""


class Track(enum.Enum):
    SENSORS = "SENSORS"


class RoadOption(enum.Enum):
    LEFT = 1
    LANEFOLLOW = 4


class AutonomousAgent:
    """The base class: it keeps a thinner copy of the route."""

    def __init__(self, carla_host: str, carla_port: int, debug: bool = False) -> None:
        self.track: Track | None = None
        self._global_plan: Any = None
        self._global_plan_world_coord: Any = None

    def set_global_plan(self, global_plan_gps: Any, global_plan_world_coord: Any) -> None:
        kept, way = [0], 0.0
        for number in range(1, len(global_plan_world_coord)):
            (before, last), (here, option) = global_plan_world_coord[number - 1 : number + 1]
            way += before.location.distance(here.location)
            if option != last or way >= DOWN_SAMPLED or number == len(global_plan_world_coord) - 1:
                kept.append(number)
                way = 0.0
        self._global_plan_world_coord = [global_plan_world_coord[number] for number in kept]
        self._global_plan = [global_plan_gps[number] for number in kept]


class Provider:
    """The scenario runner's knowledge of the world."""

    hero: Any = None
    world: Any = None

    @classmethod
    def get_hero_actor(cls) -> Any:
        return cls.hero

    @classmethod
    def get_world(cls) -> Any:
        return cls.world


@contextmanager
def installed() -> Iterator[ModuleType]:
    """The agent's module, loaded from its file as the leaderboard does."""
    made = {
        "leaderboard": {},
        "leaderboard.autoagents": {},
        "leaderboard.autoagents.autonomous_agent": {"AutonomousAgent": AutonomousAgent, "Track": Track},
        "srunner": {},
        "srunner.scenariomanager": {},
        "srunner.scenariomanager.carla_data_provider": {"CarlaDataProvider": Provider},
    }
    before = {name: sys.modules.get(name) for name in made}
    for name, content in made.items():
        sys.modules[name] = ModuleType(name)
        vars(sys.modules[name]).update(content)
    try:
        spec = importlib.util.spec_from_file_location("world4scorer_agent", SOURCE)
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        yield module
    finally:
        Provider.hero = Provider.world = None
        for name, was in before.items():
            del sys.modules[name]
            if was is not None:
                sys.modules[name] = was


class Car:
    """An actor that a bicycle moves: inside, its rear axle in right-handed axes; outside, its middle in CARLA's."""

    is_alive = True
    attributes = {"role_name": "hero"}  # noqa: RUF012 - as CARLA has it

    def __init__(self, transform: carla.Transform) -> None:
        self.heading = -math.radians(transform.rotation.yaw)
        self.x = transform.location.x - REAR_AXLE * math.cos(self.heading)
        self.y = -transform.location.y - REAR_AXLE * math.sin(self.heading)
        self.speed = self.acceleration = self.yaw_rate = 0.0

    def drive(self, control: carla.VehicleControl) -> None:
        """Move on by a tick."""
        assert 0 <= control.throttle <= 1 and 0 <= control.brake <= 1 and -1 <= control.steer <= 1
        before = self.speed
        gained = 4.0 * control.throttle - 8.0 * control.brake - 0.1 * self.speed
        self.speed = max(0.0, self.speed + gained * TICK)
        self.acceleration = (self.speed - before) / TICK
        self.yaw_rate = self.speed * math.tan(-control.steer * WIDEST_ANGLE) / WHEEL_BASE
        self.x += self.speed * math.cos(self.heading) * TICK
        self.y += self.speed * math.sin(self.heading) * TICK
        self.heading += self.yaw_rate * TICK

    def get_transform(self) -> carla.Transform:
        x, y = self.x + REAR_AXLE * math.cos(self.heading), self.y + REAR_AXLE * math.sin(self.heading)
        return carla.Transform(carla.Location(x=x, y=-y), carla.Rotation(yaw=math.degrees(-self.heading)))

    def get_velocity(self) -> carla.Vector3D:
        return self._along(self.speed, REAR_AXLE * self.yaw_rate)

    def get_acceleration(self) -> carla.Vector3D:
        return self._along(self.acceleration, self.speed * self.yaw_rate)

    def get_angular_velocity(self) -> carla.Vector3D:
        return carla.Vector3D(0.0, 0.0, -math.degrees(self.yaw_rate))

    def _along(self, forward: float, left: float) -> carla.Vector3D:
        sine, cosine = math.sin(self.heading), math.cos(self.heading)
        return carla.Vector3D(cosine * forward - sine * left, -(sine * forward + cosine * left), 0.0)


ROAD = """<?xml version="1.0"?>
<OpenDRIVE>
  <header revMajor="1" revMinor="4" name="" version="1.0"/>
  <road name="turn" length="119.2699082" id="1" junction="-1">
    <link/>
    <planView>
      <geometry s="0" x="0" y="0" hdg="0" length="40"><line/></geometry>
      <geometry s="40" x="40" y="0" hdg="0" length="39.2699082"><arc curvature="0.04"/></geometry>
      <geometry s="79.2699082" x="65" y="25" hdg="1.5707963" length="40"><line/></geometry>
    </planView>
    <lanes><laneSection s="0">
      <center><lane id="0" type="none" level="false"/></center>
      <right>
        <lane id="-1" type="driving" level="false"><link/><width sOffset="0" a="3.5" b="0" c="0" d="0"/></lane>
      </right>
    </laneSection></lanes>
  </road>
</OpenDRIVE>
"""
"""40 m to the east, a quarter of a circle of 25 m to the left, 40 m to the north; the lane is 1.75 m to the right."""


def left_turn() -> list[tuple[carla.Transform, RoadOption]]:
    """The way along the road's one lane, a point each metre, as the leaderboard plans it."""
    waypoint = carla.Map("left turn", ROAD).get_waypoint_xodr(1, -1, 1.0)
    plan = []
    while True:
        option = RoadOption.LEFT if 40 <= waypoint.s <= 79.3 else RoadOption.LANEFOLLOW
        plan.append((waypoint.transform, option))
        following = waypoint.next(1.0)
        if not following:
            return plan
        waypoint = following[0]


def aside(car: Car, plan: list[tuple[carla.Transform, RoadOption]]) -> float:
    """m from the car to the nearest point of a plan."""
    return min(math.hypot(car.x - at.location.x, car.y + at.location.y) for at, _ in plan)


def pictures(module: ModuleType, height: int = 20, width: int = 40) -> dict[str, Any]:
    """What the cameras give: frame and BGRA bytes."""
    return {name: (0, np.zeros((height, width, 4), np.uint8)) for name, *_ in module.CAMERAS}
