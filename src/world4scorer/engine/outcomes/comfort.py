"""C (v1.1) and HC (v2.2), comfort: 1 if six filtered signals stay within their bounds at every sample, else 0.

| signal                  | bounds (strict)        | v1.1 filter: window, order        | v2.2 filter               |
|-------------------------|------------------------|-----------------------------------|---------------------------|
| longitudinal acc.       | -4.05 .. 2.40 m/s^2    | 41, 2                             | 8, 2                      |
| lateral acc.            | +- 4.89 m/s^2          | 41, 2                             | 8, 2                      |
| jerk of acc. magnitude  | +- 8.37 m/s^3          | 8, 2, then derivative 41, 2       | 8, 2, then derivative 15, 2 |
| longitudinal jerk       | +- 4.13 m/s^3          | 8, 2, then derivative 41, 2       | 8, 2, then derivative 15, 2 |
| yaw acceleration        | +- 1.93 rad/s^2        | 2nd derivative of heading, 5, 3   | the same                  |
| yaw rate                | +- 0.95 rad/s          | derivative of heading, 5, 2       | the same                  |

v1.1 uses the 41 rows of the rollout. v2.2 prepends the ego's recorded past (see `history_comfort`) and uses the
longitudinal acceleration at the box centre: that of the rear axle + 1.461 m * (yaw rate^2 + yaw acceleration).

Shapes: S samples, N rollouts.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from world4scorer.engine.kernels import kernel, leaf
from world4scorer.engine.outcomes.savgol import Filter, savgol, smooth, unwrap
from world4scorer.engine.scene.indices import STEPS, State
from world4scorer.engine.scene.vehicle import REAR_AXLE_TO_CENTRE

ACCELERATION_X: Final = int(State.ACCELERATION_X)
ACCELERATION_Y: Final = int(State.ACCELERATION_Y)
HEADING: Final = int(State.HEADING)
ANGULAR_VELOCITY: Final = int(State.ANGULAR_VELOCITY)
ANGULAR_ACCELERATION: Final = int(State.ANGULAR_ACCELERATION)

CHECKS: Final = (
    "longitudinal_acceleration",
    "lateral_acceleration",
    "jerk_magnitude",
    "longitudinal_jerk",
    "yaw_acceleration",
    "yaw_rate",
)
LOWER_BOUNDS: Final = (-4.05, -4.89, -8.37, -4.13, -1.93, -0.95)
UPPER_BOUNDS: Final = (2.40, 4.89, 8.37, 4.13, 1.93, 0.95)


class ComfortFilters(NamedTuple):
    """The filters of one version for one number of samples."""

    acceleration: Filter
    before_jerk: Filter
    jerk: Filter
    yaw_acceleration: Filter
    yaw_rate: Filter


def comfort_filters_v1() -> ComfortFilters:
    """Filters of v1.1 on the rows of a rollout."""
    return _filters(STEPS, acceleration_window=STEPS, jerk_window=STEPS)


def comfort_filters_v2(samples: int) -> ComfortFilters:
    """Filters of v2.2 on history and rollout."""
    return _filters(samples, acceleration_window=8, jerk_window=15)


def _filters(samples: int, acceleration_window: int, jerk_window: int) -> ComfortFilters:
    return ComfortFilters(
        acceleration=savgol(samples, acceleration_window, order=2),
        before_jerk=savgol(samples, 8, order=2),
        jerk=savgol(samples, jerk_window, order=2, derivative=1),
        yaw_acceleration=savgol(samples, 5, order=3, derivative=2),
        yaw_rate=savgol(samples, 5, order=2, derivative=1),
    )


@kernel
def comfort(states, history, at_centre, filters, score, step, cause, within):
    """Score rollouts `states` (11, T, N) after `history` (H, 11): fill `score` (N,) and `within` (N, 6) by check.

    Where a check fails, `step` (N,) is the first row of the rollout out of bounds (negative: of the history, counted
    back from the rollout), and `cause` (N,) the check.
    """
    rows = history.shape[0]
    samples, rollouts = rows + states.shape[1], states.shape[2]
    longitudinal = np.empty((samples, rollouts))
    lateral = np.empty((samples, rollouts))
    magnitude = np.empty((samples, rollouts))
    wrapped = np.empty((samples, rollouts))
    _signals(states, history, at_centre, longitudinal, lateral, magnitude, wrapped)
    heading = np.empty((samples, rollouts))
    unwrap(wrapped, heading)

    first = np.empty((len(CHECKS), rollouts), np.int64)
    smoothed = wrapped  # no longer needed
    series = np.empty((samples, rollouts))
    work = np.empty((4, rollouts))
    smooth(filters.acceleration, longitudinal, work, series)
    _first_outside(series, 0, first)
    smooth(filters.acceleration, lateral, work, series)
    _first_outside(series, 1, first)
    smooth(filters.before_jerk, magnitude, work, smoothed)
    smooth(filters.jerk, smoothed, work, series)
    _first_outside(series, 2, first)
    smooth(filters.before_jerk, longitudinal, work, smoothed)
    smooth(filters.jerk, smoothed, work, series)
    _first_outside(series, 3, first)
    smooth(filters.yaw_acceleration, heading, work, series)
    _first_outside(series, 4, first)
    smooth(filters.yaw_rate, heading, work, series)
    _first_outside(series, 5, first)
    for n in range(rollouts):
        earliest = samples
        score[n], step[n], cause[n] = 1.0, 0, -1
        for check in range(len(CHECKS)):
            within[n, check] = first[check, n] == samples
            if first[check, n] < earliest:
                earliest = first[check, n]
                score[n], step[n], cause[n] = 0.0, earliest - rows, check


@leaf
def _signals(states, history, at_centre, longitudinal, lateral, magnitude, heading):
    """Fill the signals (S, N): longitudinal, lateral and total acceleration, and the heading."""
    rows, rollouts = history.shape[0], states.shape[2]
    for i in range(rows):
        ax, ay = history[i, ACCELERATION_X], history[i, ACCELERATION_Y]
        centre = history[i, ANGULAR_VELOCITY] * history[i, ANGULAR_VELOCITY] + history[i, ANGULAR_ACCELERATION]
        for n in range(rollouts):
            longitudinal[i, n] = ax + (REAR_AXLE_TO_CENTRE * centre if at_centre else 0.0)
            lateral[i, n] = ay
            magnitude[i, n] = np.sqrt(ax * ax + ay * ay)
            heading[i, n] = history[i, HEADING]
    for t in range(states.shape[1]):
        i = rows + t
        for n in range(rollouts):
            longitudinal[i, n] = states[ACCELERATION_X, t, n]
        if at_centre:
            for n in range(rollouts):
                rate = states[ANGULAR_VELOCITY, t, n]
                longitudinal[i, n] += REAR_AXLE_TO_CENTRE * (rate * rate + states[ANGULAR_ACCELERATION, t, n])
        for n in range(rollouts):
            lateral[i, n] = states[ACCELERATION_Y, t, n]
        for n in range(rollouts):
            ax, ay = states[ACCELERATION_X, t, n], states[ACCELERATION_Y, t, n]
            magnitude[i, n] = np.sqrt(ax * ax + ay * ay)
        for n in range(rollouts):
            heading[i, n] = states[HEADING, t, n]


@leaf
def _first_outside(series, check, first):
    """Fill row `check` of `first` (6, N) with the first sample out of bounds, or S."""
    samples, rollouts = series.shape
    low, high = LOWER_BOUNDS[check], UPPER_BOUNDS[check]
    for n in range(rollouts):
        first[check, n] = samples
    for i in range(samples - 1, -1, -1):
        for n in range(rollouts):
            inside = series[i, n] > low and series[i, n] < high
            first[check, n] = first[check, n] if inside else i
