"""Drivers of the closed loop: a planner, and baselines. Each returns a plan twice a second.

SUMO's own driver needs no plan; see `drive.py`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from world4scorer.city.streets.map_index import MapIndex
from world4scorer.city.world.log_renderer import LOG_EPOCH_US
from world4scorer.datasets.navsim.annotations import Annotations
from world4scorer.datasets.navsim.frames import LogFrame
from world4scorer.datasets.navsim.map_reader import read_city_map
from world4scorer.datasets.prepare.scene_builder import SceneBuilder
from world4scorer.driving.closed_loop.city_routes import CityRoute
from world4scorer.driving.closed_loop.infraction_monitor import SurroundingAgents
from world4scorer.driving.closed_loop.observation import Decision, Observation, ego_state
from world4scorer.engine.scene.ego_snapshot import EgoSnapshot
from world4scorer.engine.scene.geometry import direction, plan_of_steps, relative_poses, wrap
from world4scorer.evaluation.scores.agents import constant_velocity

if TYPE_CHECKING:
    from world4scorer.driving.closed_loop.planner_agent import PlannerAgent
    from world4scorer.planner.training.controls import EgoStatusPlanner


@dataclass(frozen=True, eq=False)
class DriverOutput:
    """A driver's plan, and the candidates it was chosen from."""

    plan: NDArray[np.floating[Any]]
    """(8, 3) x forward [m], y left [m], heading [rad] in the ego frame, every 0.5 s."""
    decision: Decision | None = None
    """The pool of candidates, if there is one."""


class Driver(Protocol):
    """Returns plans along routes, one route at a time."""

    uses_cameras: bool
    """Whether camera images are rendered for it."""

    def begin(self, route: CityRoute) -> None:
        """Start a route."""

    def drive(self, observation: Observation, others: SurroundingAgents) -> DriverOutput:
        """The next plan; only privileged drivers use `others`."""


class PlannerDriver:
    """Drives by a `PlannerAgent`."""

    uses_cameras = True

    def __init__(self, agent: PlannerAgent) -> None:
        self._agent = agent

    def begin(self, route: CityRoute) -> None:
        """Start a route."""
        self._agent.begin(route.name, route.route, route.command_keeper())

    def drive(self, observation: Observation, others: SurroundingAgents) -> DriverOutput:
        """The agent's chosen plan."""
        decision = self._agent.decide(observation)
        return DriverOutput(decision.plan, decision)


class ConstantVelocityDriver:
    """Keeps heading and speed."""

    uses_cameras = False

    def begin(self, route: CityRoute) -> None:
        """Stateless."""

    def drive(self, observation: Observation, others: SurroundingAgents) -> DriverOutput:
        """Straight on at constant velocity."""
        return DriverOutput(constant_velocity(EgoSnapshot("", "", 0, ego_state(observation))))


class EgoStatusDriver:
    """An MLP of speed, acceleration and command: a baseline without images."""

    uses_cameras = False

    def __init__(self, planner: EgoStatusPlanner) -> None:
        self._planner = planner

    def begin(self, route: CityRoute) -> None:
        """Stateless."""

    def drive(self, observation: Observation, others: SurroundingAgents) -> DriverOutput:
        """The MLP's plan."""
        import torch

        numbers = np.concatenate([np.zeros(3), observation.velocity, observation.acceleration, observation.command])
        with torch.no_grad():
            plan = self._planner(torch.from_numpy(numbers.astype(np.float32))[None])[0]
        return DriverOutput(plan.numpy())


class PdmClosedDriver:
    """NAVSIM's reference planner, with privileged access to map, boxes and lights."""

    uses_cameras = False

    def __init__(self, maps: Path, location: str, index: MapIndex) -> None:
        self._maps, self._location, self._index = maps, location, index
        self._route: CityRoute | None = None
        self._blocks: tuple[str, ...] = ()

    @cached_property
    def _preparer(self) -> SceneBuilder:
        return SceneBuilder(read_city_map(self._maps, self._location))

    def begin(self, route: CityRoute) -> None:
        """Look up the roadblocks of the route."""
        self._route = route
        self._blocks = tuple(self._index.route(route.start.route))

    def drive(self, observation: Observation, others: SurroundingAgents) -> DriverOutput:
        """Plan from ground truth."""
        poses = self._preparer.plan(self._frame(observation, others)).poses_v1
        return DriverOutput(plan_of_steps(poses, observation.pose))

    def _frame(self, observation: Observation, others: SurroundingAgents) -> LogFrame:
        assert self._route is not None
        name = self._route.name
        return LogFrame(
            token=f"{observation.time:.1f}",
            log_name=name,
            scene_token=name,
            map_location=self._location,
            time_us=LOG_EPOCH_US + round(observation.time * 1e6),
            ego_pose=observation.pose,
            velocity=observation.velocity,
            acceleration=observation.acceleration,
            command=observation.command.astype(np.int64),
            roadblock_ids=self._blocks,
            traffic_lights=tuple(self._index.lights(others.signals)),
            annotations=annotations_in_ego_frame(observation.pose, others),
            raw={},
            where=f"{name} at {observation.time:.1f} s",
        )


def annotations_in_ego_frame(pose: NDArray[np.float64], others: SurroundingAgents) -> Annotations:
    """Boxes in the ego frame at `pose` (3,); z and height are zero."""
    count = len(others.tokens)
    place = relative_poses(others.poses, pose)
    nothing = np.zeros(count)
    turn = wrap(place[:, 2])
    velocity = others.speeds[:, None] * np.column_stack([direction(turn), nothing])
    return Annotations(
        boxes=np.column_stack([place[:, :2], nothing, others.sizes, nothing, turn]),
        type=others.types,
        velocity=velocity,
        instance_tokens=tuple(others.tokens),
        track_tokens=tuple(others.tokens),
    )
