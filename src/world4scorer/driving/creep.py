"""Creeping: an ego that has stood for long is moved on a little, then waits, and so on.

A planner that learned from drives has seen that who stands goes on standing. Bench2Drive's agents therefore roll on
after a while; the rule knows nothing of red lights.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from world4scorer.driving.city_routes import CityRoute
from world4scorer.driving.drivers import Answer, Driver
from world4scorer.driving.pilot import Sight
from world4scorer.driving.referee import Others
from world4scorer.scene.indices import PLAN_INTERVAL, PLAN_POSES

STANDING: Final = 0.1
"""Slower than this is standing [m/s]."""
PATIENCE: Final = 12.0
"""s of standing before"""
CREEPS: Final = 3.0
"""s"""
PAUSES: Final = 2.0
"""s before the next"""
SPEED: Final = 2.0
"""m/s"""


class Creeping:
    """Another driver, who creeps when standing for long."""

    def __init__(self, driver: Driver) -> None:
        self._driver = driver
        self.sees = driver.sees
        self._stood_since = self._creeps_until = 0.0

    def begin(self, route: CityRoute) -> None:
        """Start a route."""
        self._driver.begin(route)
        self._stood_since = self._creeps_until = -np.inf

    def drive(self, sight: Sight, others: Others) -> Answer:
        """The other's plan, or straight on slowly."""
        answer = self._driver.drive(sight, others)
        now = sight.time
        if sight.velocity[0] >= STANDING or self._stood_since == -np.inf:
            self._stood_since = now if now >= self._creeps_until else self._stood_since
        elif now - self._stood_since >= PATIENCE and now >= self._creeps_until + PAUSES:
            self._creeps_until = now + CREEPS
        if now >= self._creeps_until:
            return answer
        plan = np.zeros((PLAN_POSES, 3))
        plan[:, 0] = SPEED * PLAN_INTERVAL * np.arange(1, PLAN_POSES + 1)
        return Answer(plan, answer.decision)
