"""Inertial re-ranking: among a planner's plans, prefer those that continue the one chosen before.

With c_i = 1 if plan i passes extended comfort against the plan chosen in the frame before, else 0, the choice is
argmax_i U_i + weight * log(0.01 + 0.99 c_i), the lowest index winning ties. Without a frame before (the first of a
log, or one more than 0.55 s after its predecessor) it is argmax_i U_i.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from world4scorer.engine.outcomes.extended_comfort import MAX_PAIR_INTERVAL, extended_comfort
from world4scorer.engine.rollout.plans import LqrProfile, roll_out
from world4scorer.engine.scene.checks import SceneError, as_array
from world4scorer.engine.scene.ego_snapshot import EgoContext
from world4scorer.engine.scene.plan import as_plans

LOG_FLOOR: Final = 0.01
"""Probability factor of a plan that does not continue the last."""


def check_weight(weight: float) -> None:
    """Raise a ValueError for a weight that re-ranking cannot use."""
    if not (np.isfinite(weight) and weight >= 0):
        raise ValueError(f"weight: {weight}; a finite number that is not negative is needed")


def inertial_utility(utilities: ArrayLike, continues: ArrayLike, weight: float = 1.0) -> NDArray[np.float64]:
    """Return utilities (N,) re-weighted by whether each plan `continues` (N,) the last: 1, 0, or in between."""
    base = as_array("utilities", utilities, np.float64, ("N",))
    passed = as_array("continues", continues, np.float64, (len(base),))
    return np.asarray(base + weight * np.log(LOG_FLOOR + (1.0 - LOG_FLOOR) * passed))


def pair_interval(now_us: int, before_us: int) -> float | None:
    """Return the time between two consecutive frames of a log [s], or None if they are too far apart to pair."""
    interval = (now_us - before_us) * 1e-6
    return interval if interval <= MAX_PAIR_INTERVAL else None


@dataclass
class _PreviousChoice:
    log_name: str
    time_us: int
    token: str
    rollout: NDArray[np.float64]
    """(41, 11)"""


class InertialReranker:
    """Selects plans along a log, each consistent with the last. Works with any planner's plans.

    >>> reranker = InertialReranker(weight=1.0)
    >>> chosen = reranker.choose(scene, plans, utilities)   # once a frame, in time order

    A new log, a gap, or `reset()` forgets the last choice.
    """

    def __init__(self, weight: float = 1.0, *, lqr: LqrProfile = "navsim") -> None:
        check_weight(weight)
        self.weight: float = float(weight)
        """Weight of consistency with the last choice."""
        self.lqr: LqrProfile = lqr
        """Tracker of the rollouts."""
        self.continued: NDArray[np.float64] | None = None
        """(N,) which plans of the last frame continued their predecessor; None where there was none."""
        self._memory: _PreviousChoice | None = None

    def __repr__(self) -> str:
        after = "" if self._memory is None else f", after {self._memory.token!r}"
        return f"InertialReranker(weight={self.weight:g}, lqr={self.lqr!r}{after})"

    def reset(self) -> None:
        """Forget the plan chosen before."""
        self._memory = None
        self.continued = None

    def choose(self, scene: EgoContext, plans: ArrayLike, utilities: ArrayLike) -> int:
        """Return the index of the plan to take.

        Args:
            scene: A scene, or any `EgoContext`: its ego state, time stamp and log are used.
            plans: (N, 8, 3) x forward [m], y left [m], heading [rad] in the ego frame, every 0.5 s.
            utilities: (N,) the planner's scores, e.g. log-probabilities; higher is better.
        """
        base = as_array(f"utilities of {scene.token}", utilities, np.float64, ("N",))
        poses = as_plans(plans, scene.token)
        if len(base) == 0 or len(base) != len(poses):
            raise SceneError(
                f"utilities of {scene.token}: {len(base)} values for {len(poses)} plans; one each, at least one"
            )
        rollouts = roll_out(scene, poses, self.lqr)
        interval = self._interval(scene)
        if interval is None or self._memory is None:
            self.continued = None
            chosen = int(np.argmax(base))
        else:
            self.continued = extended_comfort(rollouts, self._memory.rollout, interval)
            chosen = int(np.argmax(inertial_utility(base, self.continued, self.weight)))
        self._memory = _PreviousChoice(scene.log_name, scene.time_us, scene.token, rollouts[chosen].copy())
        return chosen

    def _interval(self, scene: EgoContext) -> float | None:
        last = self._memory
        if last is None or last.log_name != scene.log_name:
            return None
        if scene.time_us <= last.time_us:
            raise SceneError(
                f"scene {scene.token!r} is not later than {last.token!r} of the same log; "
                "give frames in time order, or call reset() before starting over"
            )
        return pair_interval(scene.time_us, last.time_us)
