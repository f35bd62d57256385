"""Resample a plan's eight poses (or the reference's 0.1 s poses) to the 41 poses that the tracker follows.

Shapes: K knots, T = 41 samples, N plans.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from world4scorer.engine.kernels import kernel, leaf
from world4scorer.engine.rollout.angles import sine_cosine, wrap
from world4scorer.engine.scene.indices import DT, PLAN_INTERVAL, PLAN_POSES, STEPS, State

X: Final = int(State.X)
Y: Final = int(State.Y)
HEADING: Final = int(State.HEADING)
STEP_US: Final = 100_000
"""Spacing of the reference's poses [us]."""


@kernel
def sample_times(time_us):
    """(T,) integer time stamps [us] of the 41 samples.

    Seconds are truncated to whole microseconds, which makes some stamps 1 us early at epoch-size times; the official
    resampling does so, and it is visible at 1e-5 m.
    """
    seconds = time_us * 1e-6
    out = np.empty(STEPS, np.int64)
    for step in range(STEPS):
        out[step] = np.int64((step * DT + seconds) * 1e6)
    return out


@kernel
def resample_plans(plans, ego_state, time_us, out):
    """Resample plans (N, 8, 3), given in the ego frame, into `out` (3, T, N): global x, y, heading.

    The curve is piecewise linear through the ego's own pose now and the eight poses of the plan.
    """
    rollouts = plans.shape[0]
    times = np.empty(PLAN_POSES + 1, np.int64)
    times[0] = time_us
    for k in range(PLAN_POSES):
        times[k + 1] = np.int64((PLAN_INTERVAL * (k + 1) + time_us * 1e-6) * 1e6)
    x0, y0, heading0 = ego_state[X], ego_state[Y], ego_state[HEADING]
    sine, cosine = sine_cosine(heading0)
    knots = np.empty((3, PLAN_POSES + 1, rollouts))
    for n in range(rollouts):
        knots[0, 0, n] = x0
        knots[1, 0, n] = y0
        knots[2, 0, n] = heading0
        previous = heading0
        for k in range(PLAN_POSES):
            x, y, heading = plans[n, k, 0], plans[n, k, 1], plans[n, k, 2]
            # Rotate first, then move: at UTM-size coordinates the order of additions is worth 1e-9 m.
            knots[0, k + 1, n] = (cosine * x - sine * y) + x0
            knots[1, k + 1, n] = (sine * x + cosine * y) + y0
            previous += wrap(wrap(heading0 + heading) - previous)
            knots[2, k + 1, n] = previous
    _interpolate(knots, times, sample_times(time_us), 0, out)


@kernel
def resample_reference(poses, time_us, rollout, out):
    """Resample global poses (R, 3), 0.1 s apart from now on, into one column of `out` (3, T, N)."""
    count = poses.shape[0]
    times = np.empty(count, np.int64)
    knots = np.empty((3, count, 1))
    for k in range(count):
        times[k] = time_us + k * STEP_US
        knots[0, k, 0] = poses[k, 0]
        knots[1, k, 0] = poses[k, 1]
        knots[2, k, 0] = poses[k, 2] if k == 0 else knots[2, k - 1, 0] + wrap(poses[k, 2] - knots[2, k - 1, 0])
    _interpolate(knots, times, sample_times(time_us), rollout, out)


@leaf
def _interpolate(knots, times, samples, first, out):
    """Interpolate knots (3, K, N) linearly at `samples`, clipped to their span, into columns `first` on of `out`.

    The knots' headings come unwrapped.
    """
    count, rollouts = knots.shape[1], knots.shape[2]
    left = 0
    for step in range(samples.size):
        now = min(max(samples[step], times[0]), times[count - 1])
        while left < count - 2 and times[left + 1] <= now:
            left += 1
        passed = np.float64(now - times[left])
        span = np.float64(times[left + 1] - times[left])
        for column in range(3):
            for n in range(rollouts):
                start = knots[column, left, n]
                out[column, step, first + n] = (knots[column, left + 1, n] - start) / span * passed + start
        for n in range(first, first + rollouts):
            out[2, step, n] = wrap(out[2, step, n])
