"""Roll out plans: the entry points of this package."""

from __future__ import annotations

from typing import Final, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from world4scorer.engine.kernels import kernel
from world4scorer.engine.rollout.profile import CORRECTED, NAVSIM
from world4scorer.engine.rollout.resample import resample_plans, resample_reference
from world4scorer.engine.rollout.simulate import simulate
from world4scorer.engine.scene.ego_snapshot import EgoContext
from world4scorer.engine.scene.indices import STEPS
from world4scorer.engine.scene.plan import as_plans

LqrProfile = Literal["navsim", "corrected"]
"""`navsim`: the official simulator's tracker, quirk included; `corrected`: with the intended jerk penalty."""

MAX_RESIDUAL: Final = 1e-9
"""Maximum relative violation of the fits' normal equations."""

NO_POSES: Final = np.zeros((0, 3))


def roll_out(scene: EgoContext, plans: ArrayLike, lqr: LqrProfile = "navsim") -> NDArray[np.float64]:
    """Return the (N, 41, 11) ego states of plans (N, 8, 3), every 0.1 s from now, columns of `State`."""
    poses = as_plans(plans, scene.token)
    states, residuals = roll_out_kernel(poses, NO_POSES, scene.ego_state, scene.time_us, profile_code(lqr))
    check_residuals(residuals, scene.token)
    return plans_first(states)


def plans_first(states: NDArray[np.float64]) -> NDArray[np.float64]:
    """View (11, 41, N) as (N, 41, 11)."""
    return states.transpose(2, 1, 0)


def profile_code(lqr: str) -> int:
    """Return the kernel's code of an LQR profile."""
    codes = {"navsim": NAVSIM, "corrected": CORRECTED}
    if lqr not in codes:
        raise ValueError(f"lqr: unknown profile {lqr!r}; choose from {', '.join(codes)}")
    return codes[lqr]


def check_residuals(residuals: NDArray[np.float64], token: str, first: int = 0) -> None:
    """Raise an ArithmeticError where a fit did not solve its equations; the first rollout is of plan `first`."""
    bad = ~(residuals <= MAX_RESIDUAL)
    if bad.any():
        rollout = int(np.argmax(bad))
        raise ArithmeticError(
            f"rollout of plan {first + rollout} of {token}: the profile fit misses its equations by "
            f"{residuals[rollout]:.1e}; `w4s doctor` tells whether arithmetic on this machine can be trusted"
        )


@kernel
def roll_out_kernel(plans, reference, ego_state, time_us, profile):
    """States (11, T, L), residuals (L,) of plans (N, 8, 3) and, unless empty, a reference (R, 3) as the last."""
    count = plans.shape[0]
    rollouts = count + (1 if reference.shape[0] else 0)
    poses = np.empty((3, STEPS, rollouts))
    resample_plans(plans, ego_state, time_us, poses)
    if reference.shape[0]:
        resample_reference(reference, time_us, count, poses)
    states = np.empty((ego_state.size, STEPS, rollouts))
    for column in range(ego_state.size):
        for n in range(rollouts):
            states[column, 0, n] = ego_state[column]
    residuals = simulate(poses, profile, states)
    return states, residuals
