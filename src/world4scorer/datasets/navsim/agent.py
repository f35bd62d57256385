"""Adapter of a planner to the NAVSIM devkit's agent interface.

    # hydra configuration of the devkit
    agent:
      _target_: world4scorer.datasets.navsim.agent.World4ScorerAgent
      planner: "my_package.my_module:MyPlanner"

The devkit is imported when `World4ScorerAgent` is first asked for, not before. This is the only file that imports it.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import import_module
from typing import Any, Final, Protocol

import numpy as np
from numpy.typing import NDArray

from world4scorer.datasets.navsim.cameras import CAMERAS
from world4scorer.engine.scene.indices import PLAN_INTERVAL, PLAN_POSES
from world4scorer.engine.scene.plan import as_plans

SENSORS: Final = (*(name.lower() for name in CAMERAS), "lidar_pc")
INSTALL: Final = (
    "the NAVSIM devkit is not installed; it and nuplan-devkit are needed to run inside their scripts "
    "(see https://github.com/autonomousvision/navsim for how to install both). "
    "`w4s evaluate` scores a submission without them"
)


class Planner(Protocol):
    """Interface that the adapter needs.

    A planner may also have `sensors`, a mapping from names in `SENSORS` to True or to the history steps it wants
    (0 oldest .. 3 now); without it no sensor is loaded. It may have `initialize()`, called once before the first plan.
    """

    def plan(self, agent_input: Any) -> NDArray[Any]:
        """Return the plan (8, 3) for the devkit's AgentInput."""
        ...


def __getattr__(name: str) -> Any:
    if name == "World4ScorerAgent":
        return _agent_class()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


@cache
def _agent_class() -> type:
    try:
        agents = import_module("navsim.agents.abstract_agent")
        dataclasses = import_module("navsim.common.dataclasses")
        sampling = import_module("nuplan.planning.simulation.trajectory.trajectory_sampling")
    except ImportError as error:
        raise ImportError(f"World4ScorerAgent: {INSTALL} ({error})") from error
    base: Any = agents.AbstractAgent
    takes_sampling = "trajectory_sampling" in inspect.signature(base.__init__).parameters  # v2 does, v1 does not

    class World4ScorerAgent(base):  # type: ignore[misc]
        """A planner behind the devkit's agent interface."""

        def __init__(self, planner: Planner | str, name: str = "world4scorer", **options: Any) -> None:
            if takes_sampling:
                options.setdefault(
                    "trajectory_sampling",
                    sampling.TrajectorySampling(num_poses=PLAN_POSES, interval_length=PLAN_INTERVAL),
                )
            super().__init__(**options)
            self._planner = load_planner(planner) if isinstance(planner, str) else planner
            self._name = name

        def name(self) -> str:
            """Name of the agent."""
            return self._name

        def initialize(self) -> None:
            """Initialise the planner."""
            getattr(self._planner, "initialize", lambda: None)()

        def get_sensor_config(self) -> Any:
            """Sensors that the planner reads."""
            return dataclasses.SensorConfig(**_sensors(self._planner))

        def compute_trajectory(self, agent_input: Any) -> Any:
            """Plan with the planner."""
            poses = as_plans(np.asarray(self._planner.plan(agent_input))[None], "the planner's answer")[0]
            every = sampling.TrajectorySampling(num_poses=PLAN_POSES, interval_length=PLAN_INTERVAL)
            return dataclasses.Trajectory(poses.astype(np.float32), every)

    World4ScorerAgent.__module__ = __name__
    World4ScorerAgent.__qualname__ = "World4ScorerAgent"
    return World4ScorerAgent


def load_planner(path: str) -> Planner:
    """Return the planner at `package.module:name`; a class is called without arguments."""
    module, separator, attribute = path.partition(":")
    if not separator:
        raise ValueError(f"planner: {path!r} is not of the form 'package.module:name'")
    try:
        found = getattr(import_module(module), attribute)
    except (ImportError, AttributeError) as error:
        raise ValueError(f"planner: {path!r} cannot be imported: {error}") from error
    return found() if isinstance(found, type) else found  # type: ignore[no-any-return]


def _sensors(planner: Any) -> dict[str, bool | Sequence[int]]:
    wanted: Mapping[str, Any] = getattr(planner, "sensors", {})
    unknown = [name for name in wanted if name not in SENSORS]
    if unknown:
        raise ValueError(f"planner.sensors: unknown sensor {unknown[0]!r}; known: {', '.join(SENSORS)}")
    return {name: wanted.get(name, False) for name in SENSORS}
