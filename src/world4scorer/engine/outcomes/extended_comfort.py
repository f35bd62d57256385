"""EC, extended comfort (v2.2): does the plan chosen now continue the one chosen before? 1 or 0.

Both rollouts are cut to the time they share: with k = round(interval / 0.1 s), rows 0..40-k of the present one and rows
k..40 of the previous one. Four signals are filtered after cutting and compared; the root mean square of the
difference must not exceed

* 0.7 m/s^2 for the acceleration magnitude (window 8, order 2),
* 0.5 m/s^3 for its derivative (window 15, order 2),
* 0.1 rad/s for the yaw rate (derivative of the heading, window 5, order 2),
* 0.1 rad/s^2 for the yaw acceleration (second derivative, window 5, order 2).

Positions are not compared.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from world4scorer.engine.kernels import kernel, leaf
from world4scorer.engine.outcomes.savgol import Filter, savgol, smooth, unwrap
from world4scorer.engine.scene.checks import SceneError, as_array
from world4scorer.engine.scene.geometry import Floats
from world4scorer.engine.scene.indices import DT, STEPS, State

ACCELERATION_X: Final = int(State.ACCELERATION_X)
ACCELERATION_Y: Final = int(State.ACCELERATION_Y)
HEADING: Final = int(State.HEADING)

SIGNALS: Final = ("acceleration", "jerk", "yaw_rate", "yaw_acceleration")
MAX_RMS_DIFFERENCES: Final = (0.7, 0.5, 0.1, 0.1)
"""Largest root mean square differences, inclusive."""
MAX_PAIR_INTERVAL: Final = 0.55
"""Maximum time between two frames of a pair [s]."""


class ExtendedComfortFilters(NamedTuple):
    """Filters for one length of overlap."""

    acceleration: Filter
    jerk: Filter
    yaw_rate: Filter
    yaw_acceleration: Filter


def overlap_shift(interval_s: float) -> int:
    """Rows by which the previous rollout is ahead; halves round to even."""
    return round(interval_s / DT)


def extended_comfort(rollouts_now: ArrayLike, rollout_previous: ArrayLike, interval_s: float) -> Floats:
    """Return (N,) 1.0 or 0.0: does each rollout of now (N, 41, 11) continue the previous one (41, 11)?

    `interval_s` is the time between the two frames. `extended_comfort_rms` returns the difference of each signal.
    """
    rms = extended_comfort_rms(rollouts_now, rollout_previous, interval_s)
    return np.asarray((rms <= np.array(MAX_RMS_DIFFERENCES)).all(axis=1), np.float64)


def extended_comfort_pairs(
    rollouts_now: ArrayLike, rollouts_previous: ArrayLike, interval_s: float
) -> NDArray[np.bool_]:
    """Return (N, M): does each rollout of now (N, 41, 11) continue each previous one (M, 41, 11)?"""
    now, previous, shift = _aligned(rollouts_now, rollouts_previous, interval_s)
    return pairs_within(now, previous, shift, filters_for(STEPS - shift))  # type: ignore[no-any-return]


def extended_comfort_rms(rollouts_now: ArrayLike, rollout_previous: ArrayLike, interval_s: float) -> Floats:
    """Return the (N, 4) root mean square differences of `SIGNALS`."""
    one = as_array("rollout_previous", rollout_previous, np.float64, (STEPS, len(State)))[None]
    now, previous, shift = _aligned(rollouts_now, one, interval_s)
    return rms_differences(now, previous, shift, filters_for(STEPS - shift))  # type: ignore[no-any-return]


def _aligned(rollouts_now: Any, rollouts_previous: Any, interval_s: float) -> tuple[Any, Any, int]:
    """Both in the layout of the kernels, and the rows by which the previous ones are ahead."""
    shift = overlap_shift(interval_s)
    if not interval_s > 0.0 or STEPS - shift < 4:
        raise SceneError(f"interval_s: {interval_s} s between frames leaves no overlap to compare")
    now = plans_last(as_array("rollouts_now", rollouts_now, np.float64, ("N", STEPS, len(State))))
    previous = plans_last(as_array("rollouts_previous", rollouts_previous, np.float64, ("M", STEPS, len(State))))
    return now, previous, shift


def filters_for(samples: int) -> ExtendedComfortFilters:
    """Filters for an overlap of `samples` rows."""
    return ExtendedComfortFilters(
        acceleration=savgol(samples, 8, order=2),
        jerk=savgol(samples, 15, order=2, derivative=1),
        yaw_rate=savgol(samples, 5, order=2, derivative=1),
        yaw_acceleration=savgol(samples, 5, order=2, derivative=2),
    )


def plans_last(rollouts: Floats) -> Floats:
    """View (N, 41, 11) as the (11, 41, N) of the kernels; no copy for rollouts of this package."""
    return np.ascontiguousarray(rollouts.transpose(2, 1, 0))


@kernel
def rms_differences(now, previous, shift, filters):
    """(N, 4) differences of rollouts `now` (11, T, N) from the one (or N) of `previous` (11, T, 1 or N)."""
    out = np.empty((now.shape[2], len(SIGNALS)))
    samples = now.shape[1] - shift
    _compare(_signals(now, 0, samples, filters), _signals(previous, shift, samples, filters), out)
    return out


@kernel
def pairs_within(now, previous, shift, filters):
    """(N, M) whether rollout n of `now` (11, T, N) stays within all limits of rollout m of `previous` (11, T, M)."""
    others = previous.shape[2]
    out = np.empty((now.shape[2], others), np.bool_)
    samples = now.shape[1] - shift
    present, before = _signals(now, 0, samples, filters), _signals(previous, shift, samples, filters)
    _compare_pairs(present, before, np.empty(others), out)
    return out


@kernel
def _signals(states, first, samples, filters):
    """The signals (4, S, N) of `samples` rows of states (11, T, N), from `first` on."""
    rollouts = states.shape[2]
    out = np.empty((len(SIGNALS), samples, rollouts))
    _filtered(states, first, filters, np.empty((3, samples, rollouts)), out)
    return out


@leaf
def _compare_pairs(present, before, total, out):
    signals, samples, rollouts = present.shape
    others = total.size
    for n in range(rollouts):
        for m in range(others):
            out[n, m] = True
        for signal in range(signals):
            for m in range(others):
                total[m] = 0.0
            for i in range(samples):
                value = present[signal, i, n]
                for m in range(others):
                    difference = value - before[signal, i, m]
                    total[m] += difference * difference
            for m in range(others):
                out[n, m] &= np.sqrt(total[m] / samples) <= MAX_RMS_DIFFERENCES[signal]


@leaf
def _filtered(states, first, filters, scratch, out):
    """Fill `out` (4, S, N) with the signals of rows `first` on; `scratch` is (3, S, N)."""
    magnitude, heading, work = scratch[0], scratch[1], scratch[2]
    samples, rollouts = work.shape
    for i in range(samples):
        for n in range(rollouts):
            ax, ay = states[ACCELERATION_X, first + i, n], states[ACCELERATION_Y, first + i, n]
            magnitude[i, n] = np.sqrt(ax * ax + ay * ay)
        for n in range(rollouts):
            work[i, n] = states[HEADING, first + i, n]
    unwrap(work, heading)
    smooth(filters.acceleration, magnitude, work, out[0])
    smooth(filters.jerk, out[0], work, out[1])
    smooth(filters.yaw_rate, heading, work, out[2])
    smooth(filters.yaw_acceleration, heading, work, out[3])


@leaf
def _compare(present, before, out):
    signals, samples, rollouts = present.shape
    alone = before.shape[2] == 1
    for signal in range(signals):
        for n in range(rollouts):
            total = 0.0
            for i in range(samples):
                difference = present[signal, i, n] - before[signal, i, 0 if alone else n]
                total += difference * difference
            out[n, signal] = np.sqrt(total / samples)
