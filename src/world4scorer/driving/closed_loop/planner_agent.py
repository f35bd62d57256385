"""A planner as a driving agent: from one observation to the plan to follow.

The same agent drives in the city and answers requests of the planner server.

>>> agent = PlannerAgent(Planner.from_pretrained("runs/city/planner"), AgentOptions(route=4.0))
>>> agent.begin("route 7", Route(points), CommandTracker(nodes, options))
>>> decision = agent.decide(Observation(...))    # twice a second
>>> decision.plan                                # (8, 3)

Shapes: C cameras, N plans, T poses.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import torch
from numpy.typing import NDArray
from PIL import Image
from torch import Tensor

from world4scorer.driving.closed_loop.observation import CameraCalibration, Decision, Observation, ego_state
from world4scorer.driving.closed_loop.prompt_start import without_wait
from world4scorer.engine.routes.commands import CommandTracker, one_hot
from world4scorer.engine.routes.route import Route, RouteCursor
from world4scorer.engine.scene.ego_snapshot import EgoSnapshot
from world4scorer.engine.scene.geometry import relative_poses
from world4scorer.engine.selection.corridor import CORRIDOR_LENGTH, corridor_utility
from world4scorer.engine.selection.inertial import InertialReranker, check_weight
from world4scorer.engine.selection.route import RouteRule, check_rule, route_agreement, route_utility
from world4scorer.engine.selection.speed_limit import limited_utility
from world4scorer.engine.selection.start import starting_utility
from world4scorer.engine.selection.utility import Benchmark
from world4scorer.planner.model.config import EGO_CHOICES, EGO_NUMBERS
from world4scorer.planner.model.dense_encoder import Perception
from world4scorer.planner.model.images import fit_intrinsics, fit_view, normalise
from world4scorer.planner.model.plan_sampling import Cameras
from world4scorer.planner.planner import Planner

FRAME_SECONDS: Final = 0.5
"""Time between the two frames that a forecast is made from [s]."""
MAX_JITTER: Final = 0.05
"""Largest deviation from it [s]."""


@dataclass(frozen=True)
class AgentOptions:
    """How an agent chooses among its plans; by default the plan of highest utility, framewise."""

    benchmark: Benchmark = "v1"
    """Benchmark whose utility ranks plans."""
    inertial: float = 0.0
    """Weight of inertial re-ranking; 1 in the paper, 0 for none."""
    route: float = 0.0
    """Weight of route re-ranking in standard deviations of the utility; 4 in the paper, 0 for none."""
    keep_commands: bool = False
    """Take the command from the nodes of the route and keep it until a node is passed."""
    route_rule: RouteRule = "published"
    """How route re-ranking compares plans with the route."""
    speed_limit: float = 0.0
    """Speed above which plans lose utility [m/s]; 0 for none."""
    corridor: float = 0.0
    """Utility that plans lose for each metre outside a corridor around the route; 0 for none."""
    start: float = 0.0
    """Utility that plans gain for moving off at once; 0 for none."""
    progress: float = 0.0
    """Weight of progress in the utility; 0 for the benchmark's."""
    prompt: bool = False
    """Begin plans at once when at rest, without the wait at their beginning (`prompt_start.py`)."""

    def __post_init__(self) -> None:
        check_weight(self.inertial)
        check_weight(self.route)
        check_weight(self.corridor)
        check_weight(self.start)
        check_weight(self.progress)
        check_rule(self.route_rule)
        if not 0 <= self.speed_limit < np.inf:
            raise ValueError(f"speed limit {self.speed_limit}: want a speed [m/s], or 0 for none")


def v2_error_message(planner: object) -> str:
    """Error message for v2 utility with a planner that has no driving direction labels."""
    return (
        f"benchmark v2: counts driving direction compliance, for which {planner} was not trained (clips of Bench2Drive "
        "have no labels of it); use v1"
    )


class PlannerAgent:
    """A planner that keeps its progress along the route and its last choice."""

    def __init__(
        self, planner: Planner, options: AgentOptions | None = None, rig: CameraCalibration | None = None
    ) -> None:
        self.planner = planner
        self.options: AgentOptions = options or AgentOptions()
        self.rig = rig
        self._reranker = InertialReranker(self.options.inertial)
        self._name = ""
        self._cursor: RouteCursor | None = None
        self._keeper: CommandTracker | None = None
        self._fitted: tuple[tuple[int, int], Cameras] | None = None
        self._before: tuple[Observation, Perception] | None = None

    @property
    def takes_route_point(self) -> bool:
        """Whether the planner was trained with a route point."""
        return self.planner.config.ego_numbers > EGO_NUMBERS

    def begin(self, name: str, route: Route | None = None, keeper: CommandTracker | None = None) -> None:
        """Start a drive; resets all state."""
        needs_route = self.takes_route_point or self.options.route > 0 or self.options.corridor > 0
        if needs_route and route is None:
            raise ValueError(f"drive {name!r}: no route; a route point, route re-ranking or a corridor needs one")
        if self.options.keep_commands and keeper is None:
            raise ValueError(f"drive {name!r}: no nodes of the route; keeping commands needs them")
        self._name = name
        self._cursor = None if route is None else RouteCursor(route)
        self._keeper = keeper
        self._reranker.reset()
        self._before = None

    @property
    def travelled(self) -> float | None:
        """Distance along the route at the last decision [m]; None without a route."""
        return None if self._cursor is None else float(self._cursor.route.distance[self._cursor.index])

    def decide(self, observation: Observation, views: Tensor | None = None) -> Decision:
        """Propose plans, score them, choose one.

        Args:
            observation: Images and ego state.
            views: Result of `views`, if already computed; resizing large images is slow.
        """
        command = np.asarray(observation.command, np.float32)
        if self.options.keep_commands:
            assert self._keeper is not None
            command = one_hot(self._keeper.command(observation.pose))
        point = polyline = None
        if self._cursor is not None:
            self._cursor.advance(observation.pose[:2])
            polyline = self._cursor.polyline(observation.pose)
            point = self._cursor.route_point(observation.pose)
        image = self._perceive(observation, self.views(observation) if views is None else views)
        status = self._status(observation, command, point, polyline)
        scored = self.planner(image, status, self._cameras(observation), self._corridor(observation))
        plans = scored.plans[0].float().cpu().numpy()
        utility = scored.utility(self.options.benchmark, self.options.progress)[0].double().cpu().numpy()
        if self.options.speed_limit:
            utility = limited_utility(utility, plans, self.options.speed_limit)
        if self.options.start:
            utility = starting_utility(utility, plans, self.options.start)
        ranked = self._follow_route(observation, plans, utility)
        chosen = self._choose(observation, plans, ranked)
        speed = float(np.hypot(*observation.velocity[:2]))
        followed = without_wait(plans[chosen], speed) if self.options.prompt else None
        return Decision(plans, utility, ranked, chosen, command, point, followed)

    def _follow_route(
        self, observation: Observation, plans: NDArray[np.float32], utility: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Utilities (N,) after what the options say of the route."""
        options, ranked = self.options, utility
        if options.corridor:
            assert self._cursor is not None
            ahead = self._cursor.ahead(observation.pose, CORRIDOR_LENGTH)
            ranked = corridor_utility(ranked, plans, ahead, options.corridor)
        if options.route:
            assert self._cursor is not None
            agreement = route_agreement(plans, self._cursor.ahead(observation.pose), options.route_rule)
            ranked = route_utility(ranked, agreement, options.route, options.route_rule)
        return ranked

    def _corridor(self, observation: Observation) -> Tensor | None:
        """The route (1, m, 2) that plans shall stay near, if the options ask for it."""
        if not self.options.corridor:
            return None
        assert self._cursor is not None
        ahead = self._cursor.ahead(observation.pose, CORRIDOR_LENGTH)
        return torch.from_numpy(ahead[None]).to(self._device, torch.float32) if len(ahead) > 1 else None

    def _perceive(self, observation: Observation, views: Tensor) -> Tensor | Perception:
        """The views, or for a planner with a forecast what its encoder makes of them and of the frame before."""
        if not self.planner.config.forecast:
            return views
        before = pose_before = None
        if self._before is not None and abs(observation.time - self._before[0].time - FRAME_SECONDS) < MAX_JITTER:
            earlier, before = self._before
            pose = relative_poses(earlier.pose[None], observation.pose)
            pose_before = torch.from_numpy(pose).to(self._device, torch.float32)
        seen = self.planner.perceive(views, before, pose_before, self._cameras(observation))
        self._before = observation, seen
        return seen

    def _choose(self, observation: Observation, plans: NDArray[np.float32], ranked: NDArray[np.float64]) -> int:
        if not self.options.inertial:
            return int(np.argmax(ranked))
        time_us = round(observation.time * 1e6)
        moment = EgoSnapshot(f"{self._name} at {observation.time:.1f} s", self._name, time_us, ego_state(observation))
        return self._reranker.choose(moment, plans, ranked)

    def views(self, observation: Observation) -> Tensor:
        """The images as the planner takes them (1, C, 3, H, W)."""
        config = self.planner.config
        if len(observation.images) < config.cameras:
            raise ValueError(f"images: {len(observation.images)}; the planner needs {config.cameras}")
        views = [fit_view(_picture(image), config) for image in observation.images[: config.cameras]]
        return normalise(torch.from_numpy(np.stack(views))[None].to(self._device))

    def _status(
        self,
        observation: Observation,
        command: NDArray[np.float32],
        point: NDArray[np.float64] | None,
        polyline: NDArray[np.float64] | None,
    ) -> Tensor:
        numbers: list[Any] = [np.zeros(3), observation.velocity, observation.acceleration, command]
        if self.takes_route_point:
            assert point is not None
            numbers.append(point)
        if self.planner.config.ego_numbers == EGO_CHOICES[-1]:
            assert polyline is not None
            numbers.append(polyline.ravel())
        return torch.from_numpy(np.concatenate(numbers).astype(np.float32))[None].to(self._device)

    def _cameras(self, observation: Observation) -> Cameras | None:
        """Calibration scaled to the planner's views, for planners with plan sampling."""
        config = self.planner.config
        if not config.plan_sampling:
            return None
        if self.rig is None:
            raise ValueError("rig: missing; this planner needs the camera calibration")
        width, height = _picture(observation.images[0]).size
        if self._fitted is None or self._fitted[0] != (height, width):
            count = config.cameras
            fitted = fit_intrinsics(self.rig.intrinsics[:count], width, height, config)
            parts = (fitted, self.rig.rotation[:count], self.rig.translation[:count])
            tensors = [torch.from_numpy(np.asarray(part, np.float32))[None].to(self._device) for part in parts]
            self._fitted = (height, width), Cameras(*tensors)
        return self._fitted[1]

    @property
    def _device(self) -> torch.device:
        return next(self.planner.parameters()).device


def _picture(image: NDArray[np.uint8] | Image.Image) -> Image.Image:
    return image if isinstance(image, Image.Image) else Image.fromarray(image)
