"""Adapter of a planner to the NAVSIM devkit's agent interface.

    # hydra configuration of the devkit
    agent:
      _target_: world4scorer.datasets.navsim.agent.World4ScorerAgent
      checkpoint: runs/navsim                       # a server is started for it; or
      server: 127.0.0.1:4747                        # a `w4s serve` that runs already; or
      planner: "my_package.my_module:MyPlanner"     # any planner in this process
      options: {benchmark: v2, inertial: 1.0}       # re-ranked along each log

The devkit is imported when `World4ScorerAgent` is first asked for, not before. This is the only file that imports it.
It runs in the devkit's process, with Python 3.9 and NumPy 1.23, and imports nothing of this package but
`served_planner.py`, which does the same.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from functools import lru_cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from world4scorer.datasets.navsim.served_planner import ServedPlanner

if TYPE_CHECKING:  # annotations are not evaluated, so that they may be newer than the Python that runs this
    from numpy.typing import NDArray

PLAN_POSES = 8
PLAN_INTERVAL = 0.5
"""s"""
SENSORS = ("cam_f0", "cam_l0", "cam_l1", "cam_l2", "cam_r0", "cam_r1", "cam_r2", "cam_b0", "lidar_pc")
INSTALL = (
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


@lru_cache(None)
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
        """A planner behind the devkit's agent interface: of a run, of a server, or any."""

        def __init__(
            self,
            planner: Planner | str | None = None,
            *,
            server: str | None = None,
            checkpoint: str | None = None,
            weights: str = "best",
            options: Mapping[str, Any] | None = None,
            command: str = "w4s",
            name: str = "world4scorer",
            **of_devkit: Any,
        ) -> None:
            if takes_sampling:
                of_devkit.setdefault("trajectory_sampling", _every(sampling))
            super().__init__(**of_devkit)
            if planner is None:
                planner = ServedPlanner(server, checkpoint, weights, options, command)
            elif server is not None or checkpoint is not None or options is not None:
                raise ValueError("planner: leave out server, checkpoint and options, which belong to a served one")
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
            poses = np.asarray(self._planner.plan(agent_input), np.float32)
            if poses.shape != (PLAN_POSES, 3) or not np.isfinite(poses).all():
                raise ValueError(f"the planner's answer: expected shape (8, 3) and finite poses, got {poses.shape}")
            return dataclasses.Trajectory(poses, _every(sampling))

    World4ScorerAgent.__module__ = __name__
    World4ScorerAgent.__qualname__ = "World4ScorerAgent"
    return World4ScorerAgent


def _every(sampling: Any) -> Any:
    """The sampling of plans: eight poses, half a second apart."""
    return sampling.TrajectorySampling(num_poses=PLAN_POSES, interval_length=PLAN_INTERVAL)


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
