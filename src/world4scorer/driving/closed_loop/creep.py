"""Creeping: an ego that has stood for long is moved on a little, then waits, and so on.

A planner that learned from drives has seen that who stands goes on standing. Bench2Drive's agents therefore roll on
blindly after a while. Here, where queues and red lights last longer, an ego moves on only by a plan of its own that it
finds hardly worse than standing.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import numpy as np

from world4scorer.driving.closed_loop.city_routes import CityRoute
from world4scorer.driving.closed_loop.drivers import Answer, Driver
from world4scorer.driving.closed_loop.pilot import Sight
from world4scorer.driving.closed_loop.referee import Others

STANDING: Final = 0.1
"""Slower than this is standing [m/s]."""
PATIENCE: Final = 12.0
"""s of standing before"""
CREEPS: Final = 3.0
"""s"""
PAUSES: Final = 2.0
"""s before the next"""
FAR: Final = 3.0
"""A plan that leads so far moves on [m]."""
WILLING: Final = 0.5
"""Utility by which it may fall behind the best."""


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
        """The other's plan, or, after a long stand, one that moves on."""
        answer = self._driver.drive(sight, others)
        now = sight.time
        if sight.velocity[0] >= STANDING or self._stood_since == -np.inf:
            self._stood_since = now if now >= self._creeps_until else self._stood_since
        elif now - self._stood_since >= PATIENCE and now >= self._creeps_until + PAUSES:
            self._creeps_until = now + CREEPS
        if now >= self._creeps_until:
            return answer
        return _moving_on(answer)


def _moving_on(answer: Answer) -> Answer:
    """The best plan that moves on, if it is good enough."""
    decision = answer.decision
    if decision is None:
        return answer
    far = np.linalg.norm(decision.plans[:, -1, :2], axis=1) >= FAR
    fits = far & (decision.utility >= decision.utility.max() - WILLING)
    if not fits.any():
        return answer
    chosen = int(np.argmax(np.where(fits, decision.ranked, -np.inf)))
    other = replace(decision, chosen=chosen)
    return Answer(other.plan, other)
