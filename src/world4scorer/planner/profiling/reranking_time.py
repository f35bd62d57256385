"""Time of inertial re-ranking on the processor: rollouts of all plans, comparison with the last choice, choice."""

from __future__ import annotations

import statistics
import time
from typing import Final

import numpy as np

from world4scorer.engine.scene.ego_snapshot import EgoSnapshot
from world4scorer.engine.scene.indices import PLAN_INTERVAL, PLAN_POSES, State
from world4scorer.engine.selection.inertial import InertialReranker

PLANS: Final = 64
SPEED: Final = 8.0
"""m/s"""
WARM_UP: Final = 3
"""Calls that are not counted; the first compile kernels."""


def reranking_time(plans: int = PLANS, repeats: int = 100) -> float:
    """Median seconds of a choice among plans, each 0.5 s after the last, as in a log."""
    bends = np.linspace(-0.05, 0.05, plans)
    way = SPEED * PLAN_INTERVAL * np.arange(1, PLAN_POSES + 1)
    poses = np.stack([np.column_stack([way, 0.5 * bend * way**2, bend * way]) for bend in bends])
    utilities = np.random.default_rng(0).normal(size=plans)
    reranker, state = InertialReranker(), np.zeros(len(State))
    state[State.VELOCITY_X] = SPEED
    times = []
    for frame in range(repeats + WARM_UP):
        state[State.X] = SPEED * PLAN_INTERVAL * frame
        now = EgoSnapshot(f"frame {frame}", "log", round(1e6 * PLAN_INTERVAL * frame), state)
        start = time.perf_counter()
        reranker.choose(now, poses, utilities)
        times.append(time.perf_counter() - start)
    return statistics.median(times[WARM_UP:])
