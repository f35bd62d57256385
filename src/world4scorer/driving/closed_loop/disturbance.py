"""Disturbances of a drive: a start beside the route, and pushes on the way.

States that a planner reaches by its own errors are rare in logs. A drive with disturbances visits many of them: it
starts from a shifted pose, heading and speed, and from time to time it follows, for a second, the chosen plan bent to
one side and stretched. Pushes are driven by the same tracker as plans, so that every trajectory is one that a car can
drive. Deterministic for a seed and a route.

>>> disturbance = Disturbance(DisturbanceConfig(), route.name)
>>> start = disturbance.start(route.start)
>>> plan = disturbance.disturb(plan)            # at every decision
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from world4scorer.city.world.episode import EpisodeStart
from world4scorer.city.world.recording import STEPS_PER_FRAME
from world4scorer.city.world.traffic import TIME_STEP
from world4scorer.engine.scene.geometry import to_global_axes, wrap

RAMP_SECONDS: Final = 1.5
"""A push reaches its full shift to the side after this time [s]."""


@dataclass(frozen=True)
class DisturbanceConfig:
    """Ranges of disturbances; values are drawn evenly between minus and plus these."""

    lateral: float = 0.5
    """Shift of the start to the side [m]."""
    heading: float = 0.26
    """Change of the heading at the start [rad]: 15 degrees."""
    speed: float = 0.2
    """Change of the speed, as a share: of the start, and of a push."""
    push: float = 1.5
    """Shift of a pushed plan to the side [m]; about a third of it is reached before the planner is back."""
    interval: float = 6.0
    """Mean time from the end of a push to the next [s]; 0 for none."""
    duration: float = 1.0
    """Length of a push [s]."""
    seed: int = 0

    def __post_init__(self) -> None:
        for name in ("lateral", "heading", "speed", "push", "interval", "duration"):
            if not 0 <= getattr(self, name) < np.inf:
                raise ValueError(f"disturbance {name}: {getattr(self, name)}; not below 0")
        if self.speed >= 1:
            raise ValueError(f"disturbance speed: {self.speed}; a share below 1")


class Disturbance:
    """The disturbances of one drive."""

    def __init__(self, config: DisturbanceConfig, route: str) -> None:
        self._config = config
        self._rng = np.random.default_rng([config.seed, zlib.crc32(route.encode())])
        self._side, self._stretch = 0.0, 1.0
        self._left = 0
        """Decisions that the present push still lasts."""

    def start(self, start: EpisodeStart) -> EpisodeStart:
        """The start with another last pose and speed; what was before stays as it was."""
        config, now = self._config, start.past[-1]
        side = self._draw(config.lateral)
        turn, factor = self._draw(config.heading), 1 + self._draw(config.speed)
        place = to_global_axes(np.array([[0.0, side]]), now.pose)[0]
        pose = np.array([*place, wrap(now.pose[2] + turn)])
        return replace(start, past=(*start.past[:-1], replace(now, pose=pose, velocity=now.velocity * factor)))

    def disturb(self, plan: NDArray[np.floating[Any]]) -> NDArray[np.floating[Any]]:
        """The plan (T, 3) to follow until the next decision: the given one, or a pushed one."""
        config, step = self._config, STEPS_PER_FRAME * TIME_STEP
        if not self._left and config.interval and self._rng.random() < step / config.interval:
            self._left = max(1, round(config.duration / step))
            self._side, self._stretch = self._draw(config.push), 1 + self._draw(config.speed)
        if not self._left:
            return plan
        self._left -= 1
        return pushed(plan, self._side, self._stretch)

    def _draw(self, most: float) -> float:
        return float(self._rng.uniform(-most, most))


def pushed(plan: NDArray[np.floating[Any]], side: float, stretch: float) -> NDArray[np.floating[Any]]:
    """A plan (T, 3) whose poses are stretched away from the ego and shifted to a side [m], gradually."""
    times = STEPS_PER_FRAME * TIME_STEP * np.arange(1, len(plan) + 1)
    # A car that hardly moves cannot get aside.
    reach = np.linalg.norm(plan[-1, :2])
    shift = side * np.minimum(times / RAMP_SECONDS, 1.0) * min(1.0, reach / 8.0)
    moved = np.array(plan, np.float64)
    moved[:, :2] *= stretch
    moved[:, 0] -= shift * np.sin(plan[:, 2])
    moved[:, 1] += shift * np.cos(plan[:, 2])
    return moved
