"""Creeping: an ego that has stood for long moves on a little, then pauses, and so on.

Imitation-trained planners tend to keep standing. Bench2Drive's agents therefore creep blindly after a while. Here,
where queues and red lights last longer, the ego creeps only by a plan whose utility is close to the best.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import numpy as np

from world4scorer.driving.closed_loop.city_routes import CityRoute
from world4scorer.driving.closed_loop.drivers import Driver, DriverOutput
from world4scorer.driving.closed_loop.infraction_monitor import SurroundingAgents
from world4scorer.driving.closed_loop.observation import Observation

STANDING_SPEED: Final = 0.1
"""Speed below which the ego stands [m/s]."""
STANDING_SECONDS: Final = 12.0
"""Standing time before the ego creeps [s]."""
CREEP_SECONDS: Final = 3.0
"""Duration of creeping [s]."""
PAUSE_SECONDS: Final = 2.0
"""Pause before the next creep [s]."""
MIN_CREEP_DISTANCE: Final = 3.0
"""Length of a plan that counts as moving [m]."""
MAX_UTILITY_LOSS: Final = 0.5
"""Largest gap in utility to the best plan."""


class CreepingDriver:
    """Wraps a driver and creeps after standing for long."""

    def __init__(self, driver: Driver) -> None:
        self._driver = driver
        self.uses_cameras = driver.uses_cameras
        self._stood_since = self._creeps_until = 0.0

    def begin(self, route: CityRoute) -> None:
        """Start a route."""
        self._driver.begin(route)
        self._stood_since = self._creeps_until = -np.inf

    def drive(self, observation: Observation, others: SurroundingAgents) -> DriverOutput:
        """The wrapped driver's plan, or a moving one after standing for long."""
        answer = self._driver.drive(observation, others)
        now = observation.time
        if observation.velocity[0] >= STANDING_SPEED or self._stood_since == -np.inf:
            self._stood_since = now if now >= self._creeps_until else self._stood_since
        elif now - self._stood_since >= STANDING_SECONDS and now >= self._creeps_until + PAUSE_SECONDS:
            self._creeps_until = now + CREEP_SECONDS
        if now >= self._creeps_until:
            return answer
        return _best_moving_plan(answer)


def _best_moving_plan(answer: DriverOutput) -> DriverOutput:
    """The best moving plan, if its utility is close to the best."""
    decision = answer.decision
    if decision is None:
        return answer
    far = np.linalg.norm(decision.plans[:, -1, :2], axis=1) >= MIN_CREEP_DISTANCE
    fits = far & (decision.utility >= decision.utility.max() - MAX_UTILITY_LOSS)
    if not fits.any():
        return answer
    chosen = int(np.argmax(np.where(fits, decision.ranked, -np.inf)))
    other = replace(decision, chosen=chosen, followed=None)
    return DriverOutput(other.plan, other)
