"""`PDMSimulator`: states to track in, simulated states out."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from world4scorer.datasets.metric_cache.ego_states import ego_row
from world4scorer.engine.rollout.plans import LqrProfile, check_residuals, plans_first, profile_code
from world4scorer.engine.rollout.resample import resample_plans, resample_reference
from world4scorer.engine.rollout.simulate import simulate
from world4scorer.engine.scene.indices import DT, STEPS, State
from world4scorer.engine.scene.plan import as_plans
from world4scorer.engine.scene.scene import Scene


class PDMSimulator:
    """The devkits' simulator: an LQR tracker and a kinematic bicycle, 4 s at 10 Hz; the same in v1.1 and v2.2."""

    def __init__(self, proposal_sampling: Any = None, *, lqr: LqrProfile = "navsim") -> None:
        """Args:
        proposal_sampling: what the devkits' simulator takes; checked, as there is one sampling only.
        lqr: tracker as released, or with the intended jerk penalty.
        """
        check_sampling(proposal_sampling)
        self._profile = profile_code(lqr)

    def simulate_proposals(self, states: ArrayLike, initial_ego_state: Any) -> NDArray[np.float64]:
        """Track states (N, 41, 11), of which x, y and heading are read, from an ego state: (N, 41, 11).

        The ego state is a row (11,) of `State`, such as `MetricCache.ego_state`, or an object of nuPlan.
        """
        wanted = np.asarray(states, np.float64)
        if wanted.ndim != 3 or wanted.shape[1] != STEPS or wanted.shape[2] < 3:
            raise ValueError(f"states: shape {wanted.shape}; (proposals, {STEPS}, {len(State)}) is needed")
        start = np.asarray(initial_ego_state, np.float64) if _is_row(initial_ego_state) else ego_row(initial_ego_state)
        poses = np.ascontiguousarray(wanted[..., :3].transpose(2, 1, 0))
        simulated = np.empty((len(State), STEPS, len(wanted)))
        simulated[:, 0] = start[:, None]
        check_residuals(simulate(poses, self._profile, simulated), "these proposals")
        return plans_first(simulated)


def proposal_states(scene: Scene, plans: ArrayLike, with_reference: bool = False) -> NDArray[np.float64]:
    """States (N, 41, 11) to track for plans (N, 8, 3), as the devkits sample them: x, y, heading; the rest is 0.

    `with_reference` puts the scene's PDM-Closed trajectory first, as the official evaluation does.
    """
    poses = as_plans(plans, scene.token)
    first = 1 if with_reference else 0
    sampled = np.empty((3, STEPS, first + len(poses)))
    own = np.empty((3, STEPS, len(poses)))
    resample_plans(poses, scene.ego_state, scene.time_us, own)
    sampled[..., first:] = own
    if with_reference:
        resample_reference(scene.reference, scene.time_us, 0, sampled)
    states = np.zeros((first + len(poses), STEPS, len(State)))
    states[..., :3] = plans_first(sampled)
    return states


def check_sampling(sampling: Any) -> None:
    """Raise a ValueError for another sampling than 40 steps of 0.1 s."""
    if sampling is None:
        return
    steps, interval = getattr(sampling, "num_poses", None), getattr(sampling, "interval_length", None)
    if steps != STEPS - 1 or interval is None or not np.isclose(interval, DT):
        raise ValueError(f"proposal_sampling: {steps} poses every {interval} s; {STEPS - 1} every {DT} s are simulated")


def _is_row(state: Any) -> bool:
    return bool(np.shape(state) == (len(State),))
