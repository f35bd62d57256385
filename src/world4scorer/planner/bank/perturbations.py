"""Proposals for a scene's bank, by family; deterministic for seed and token."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from world4scorer.engine.scene.indices import PLAN_INTERVAL
from world4scorer.engine.scene.scene import Scene
from world4scorer.planner.bank import shape, timing
from world4scorer.planner.bank.config import BankConfig, Family
from world4scorer.planner.bank.logged import Floats, LoggedMotion, logged_motion

Perturbation = Callable[[LoggedMotion, BankConfig, np.random.Generator, int], Floats]

PERTURBATIONS: Final[dict[Family, Perturbation]] = {
    Family.LATERAL_OFFSET: shape.lateral_offset,
    Family.ENDPOINT_SHIFT: shape.endpoint_shift,
    Family.SPEED_SCALE: timing.speed_scale,
    Family.TIME_WARP: timing.time_warp,
    Family.EXTENSION: timing.extension,
    Family.SLOW_FIRST: timing.slow_first,
    Family.DELAY: timing.delay,
    Family.SHIFTED_TURN: shape.shifted_turn,
    Family.HARD_BRAKE: timing.hard_brake,
    Family.WRONG_BRANCH: shape.wrong_branch,
    Family.STATIONARY: timing.stationary,
}

NEEDS_MOTION: Final = (Family.SPEED_SCALE, Family.TIME_WARP, Family.SLOW_FIRST, Family.DELAY, Family.HARD_BRAKE)
"""Families that have no effect on a standing log."""
MIN_MOTION: Final = 1.0
"""Shortest log for which timing can be perturbed [m in 4 s]."""


@dataclass(frozen=True, eq=False)
class Proposals:
    """Candidates of one scene before selection."""

    plans: NDArray[np.float32]
    """(N, 8, 3)"""
    family: NDArray[np.int8]
    """(N,)"""


@dataclass(frozen=True)
class Perturbations:
    """Proposes perturbed copies of the logged trajectory."""

    config: BankConfig

    def propose(self, scene: Scene, round_number: int) -> Proposals | None:
        """Proposals for a scene and round; None without a logged trajectory."""
        logged = logged_motion(scene)
        if logged is None:
            return None
        return perturb(logged, self.config, scene_rng(self.config.seed, scene.token, round_number))


def perturb(logged: LoggedMotion, config: BankConfig, rng: np.random.Generator) -> Proposals:
    """One round of proposals around a logged trajectory, within the grip limit."""
    plans, family = [], []
    for kind, count in family_counts(logged, config).items():
        plans.append(PERTURBATIONS[kind](logged, config, rng, count))
        family.append(np.full(count, kind, np.int8))
    made, kind_of = np.concatenate(plans), np.concatenate(family)
    held = max_lateral_acceleration(made) <= config.grip
    return Proposals(made[held].astype(np.float32), kind_of[held])


def max_lateral_acceleration(plans: Floats) -> Floats:
    """Largest lateral acceleration (N,) [m/s^2] of plans (N, 8, 3), from one pose to the next."""
    poses = np.concatenate([np.zeros((len(plans), 1, 3)), plans], axis=1)
    change = np.diff(poses, axis=1) / PLAN_INTERVAL
    needed: Floats = np.abs(np.hypot(change[..., 0], change[..., 1]) * change[..., 2])
    return np.asarray(needed.max(axis=1))


def family_counts(logged: LoggedMotion, config: BankConfig) -> dict[Family, int]:
    """Number of proposals by family, from the shares of applicable families."""
    shares = {family: share for family, share in config.shares.items() if share > 0 and applies(family, logged, config)}
    places = config.proposals - 1
    ends = np.round(np.cumsum(list(shares.values())) / max(sum(shares.values()), 1e-12) * places).astype(int)
    counts = dict(zip(shares, np.diff(ends, prepend=0).tolist(), strict=True))
    return {family: count for family, count in counts.items() if count} | {Family.STATIONARY: 1}


def applies(family: Family, logged: LoggedMotion, config: BankConfig) -> bool:
    """Whether a family has an effect on this log."""
    if family in NEEDS_MOTION:
        return logged.length >= MIN_MOTION
    if family is Family.SHIFTED_TURN:
        return logged.length >= config.standing and abs(logged.turn) >= config.least_turn
    return True


def scene_rng(seed: int, token: str, round_number: int) -> np.random.Generator:
    """Random generator of a seed, token and round."""
    digest = hashlib.sha256(token.encode()).digest()
    words = np.frombuffer(digest, "<u4").tolist()
    return np.random.default_rng([seed, round_number, *words])
