"""`CityEnv`: routes of a city, one per episode, driven by plans.

>>> env = CityEnv("city", split="city_train")
>>> observation, info = env.reset(seed=0)
>>> observation, reward, terminated, truncated, info = env.step(plan)     # (8, 3), followed for half a second

The loop, the traffic and the rules are those of `w4s drive`. The reward is the change of the driving score, so that the
return of an episode is the score of its route, 0..1.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
from numpy.typing import ArrayLike, NDArray

from world4scorer.city.world.manifest import read_config, read_manifest
from world4scorer.city.world.simulation import CitySimulation, SimulationLost
from world4scorer.datasets.navsim.cameras import VIEWS
from world4scorer.driving.closed_loop.city_routes import CityRoute, find_routes
from world4scorer.driving.closed_loop.drive import STATUS_CRASHED, DrivingWorld, RouteDrive
from world4scorer.driving.closed_loop.drivers import DriverOutput
from world4scorer.driving.closed_loop.infraction_monitor import SurroundingAgents, TerminationRules
from world4scorer.driving.closed_loop.observation import Observation, ego_state
from world4scorer.driving.environment.spaces import Observed, action_space, observation_space, observed
from world4scorer.engine.outcomes.extended_comfort import extended_comfort
from world4scorer.engine.rollout.plans import roll_out
from world4scorer.engine.routes.route import RouteCursor
from world4scorer.engine.scene.ego_snapshot import EgoSnapshot
from world4scorer.engine.scene.indices import PLAN_INTERVAL
from world4scorer.engine.scene.plan import as_plans
from world4scorer.evaluation.leaderboard.infractions import Infraction

FRONT = VIEWS[0]


class CityEnv(gymnasium.Env[Observed, Any]):
    """A city to drive in: one route per episode, a plan every half second.

    An observation has `images` (cameras, H, W, 3), `ego` (speed, acceleration, yaw rate, steering), `command` (one-hot
    left, forward, right, unknown) and `route`, its course 10, 20, 40 and 60 m ahead in the ego frame, each divided by
    that distance. An action is a plan (8, 3), or with a `pool` the index of one. The episode terminates at the end of
    the route, and where the ego leaves it or is blocked; the time limit, or a crash of the simulator, truncates it.
    """

    metadata: dict[str, Any] = {"render_modes": ["rgb_array"], "render_fps": 2}  # noqa: RUF012 (as in its base)

    def __init__(
        self,
        root: str | os.PathLike[str],
        split: str = "city_train",
        *,
        routes: int | Sequence[CityRoute] = 8,
        images: bool = True,
        pool: ArrayLike | None = None,
        comfort: float = 0.0,
        rules: TerminationRules | None = None,
        render_mode: str | None = None,
    ) -> None:
        """Args:
        root: folder of a city (`w4s city make`).
        split: split whose simulations routes come from.
        routes: how many, or routes found before (`find_routes`); episodes draw from them.
        images: whether cameras are rendered, which takes most of the time.
        pool: (N, 8, 3) plans that actions choose from.
        comfort: reward of a plan that continues the one before (extended comfort).
        rules: what ends an episode.
        render_mode: `rgb_array` for the front camera; needs images.
        """
        if render_mode is not None and (render_mode not in self.metadata["render_modes"] or not images):
            raise ValueError(f"render_mode {render_mode!r}: choose 'rgb_array', with images")
        self._root = Path(root)
        config = read_config(read_manifest(self._root))
        self.routes: list[CityRoute] = (
            find_routes(self._root, split, routes) if isinstance(routes, int) else list(routes)
        )
        if not self.routes:
            raise ValueError("routes: none given; an episode needs one")
        self.observation_space = observation_space(config.height, config.width, images)
        self.action_space = action_space(pool)
        self.render_mode = render_mode
        self._pool = None if pool is None else as_plans(pool, "pool")
        self._images, self._comfort, self._rules = images, comfort, rules
        self._city: CitySimulation | None = None
        self._worlds: dict[str, DrivingWorld] = {}
        self._driver = _GivenPlan(images)
        self._drive: RouteDrive | None = None
        self._last: Observed = {}
        self._rollout: NDArray[np.float64] | None = None
        self._score = 0.0

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observed, dict[str, Any]]:
        """Begin a route: a random one, or that of `options["route"]`, its name or index."""
        super().reset(seed=seed)
        route = self._route((options or {}).get("route"))
        if self._city is None:
            self._city = CitySimulation(self._root)
        if route.place not in self._worlds:
            self._worlds[route.place] = DrivingWorld(self._root, route.place)
        self._city.start(route.simulation, route.start, images=False)
        self._drive = RouteDrive(self._city, self._worlds[route.place], route, self._driver, self._rules)
        self._drive.begin()
        self._cursor = RouteCursor(route.route)
        self._rollout, self._score = None, 0.0
        return self._observe(self._drive.observe()), self._info(self._drive, 0)

    def step(self, action: Any) -> tuple[Observed, float, bool, bool, dict[str, Any]]:
        """Follow a plan (8, 3), or one of the pool, for half a second."""
        drive = self._drive
        if drive is None or drive.monitor.end is not None:
            raise ValueError("step: no episode under way; call reset first")
        plan = self._plan(action)
        reward = self._comfort * self._continues(drive.observe(), plan)
        known = len(drive.monitor.infractions)
        self._driver.plan = plan
        try:
            drive.advance()
        except SimulationLost:  # SUMO crashes occasionally when the ego drives unlike any of its own drivers
            self.close()
            return self._last, reward, False, True, {**self._info(drive, known), "status": STATUS_CRASHED}
        score = drive.monitor.scores.composed / 100.0
        reward, self._score = reward + score - self._score, score
        over = drive.monitor.end is not None
        late = any(event.kind is Infraction.ROUTE_TIMEOUT for event in drive.monitor.infractions)
        return self._observe(drive.observe()), reward, over and not late, over and late, self._info(drive, known)

    def render(self) -> NDArray[np.uint8] | None:
        """The front camera (H, W, 3), if rendering was asked for."""
        if self.render_mode is None or not self._last:
            return None
        return np.asarray(self._last["images"][VIEWS.index(FRONT)], np.uint8)

    def close(self) -> None:
        """End the processes of the simulation."""
        if self._city is not None:
            self._city.close()
        self._city = self._drive = None

    def _route(self, wanted: str | int | None) -> CityRoute:
        if wanted is None:
            return self.routes[int(self.np_random.integers(len(self.routes)))]
        by_name = {route.name: route for route in self.routes}
        if isinstance(wanted, str) and wanted in by_name:
            return by_name[wanted]
        if isinstance(wanted, int) and 0 <= wanted < len(self.routes):
            return self.routes[wanted]
        raise ValueError(f"route {wanted!r}: not among the {len(self.routes)} of this environment")

    def _plan(self, action: Any) -> NDArray[np.float64]:
        if self._pool is None:
            return np.asarray(as_plans(np.asarray(action)[None], "action")[0])
        if not self.action_space.contains(action):
            raise ValueError(f"action {action!r}: the pool has plans 0 to {len(self._pool) - 1}")
        return np.asarray(self._pool[int(action)])

    def _continues(self, now: Observation, plan: NDArray[np.float64]) -> float:
        """1 if the plan continues the one before, else 0."""
        if not self._comfort:
            return 0.0
        moment = EgoSnapshot("episode", "episode", round(now.time * 1e6), ego_state(now))
        rollout, before = roll_out(moment, plan[None]), self._rollout
        self._rollout = rollout[0]
        return 0.0 if before is None else float(extended_comfort(rollout, before, PLAN_INTERVAL)[0])

    def _observe(self, observation: Observation) -> Observed:
        self._last = observed(observation, self._cursor, self._images)
        return self._last

    def _info(self, drive: RouteDrive, known: int) -> dict[str, Any]:
        """Route, progress, score, and what has happened since the first `known` infractions."""
        monitor = drive.monitor
        return {
            "route": drive.route.name,
            "scenario": drive.route.scenario,
            "progress_m": monitor.progress,
            "driving_score": monitor.scores.composed,
            "infractions": ", ".join(event.kind.value for event in monitor.infractions[known:]),
            "status": monitor.end or "",
        }


class _GivenPlan:
    """A driver that follows the plan it is given."""

    plan: NDArray[np.float64]

    def __init__(self, uses_cameras: bool) -> None:
        self.uses_cameras = uses_cameras

    def begin(self, route: CityRoute) -> None:
        """Stateless."""

    def drive(self, observation: Observation, others: SurroundingAgents) -> DriverOutput:
        """The plan."""
        return DriverOutput(self.plan)
