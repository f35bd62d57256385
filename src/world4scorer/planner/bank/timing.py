"""Perturbations of the progress along the log's path.

Each function makes `count` plans (count, 8, 3). Times are (T,), progress and speeds (N, T), N = count. All but
`stationary` begin with the ego's speed.
"""

from __future__ import annotations

import numpy as np

from world4scorer.engine.scene.indices import DT, PLAN_POSES
from world4scorer.planner.bank.config import BankConfig, Range
from world4scorer.planner.bank.logged import HORIZON, POSE_STEPS, TIME, Floats, LoggedMotion


def speed_scale(logged: LoggedMotion, config: BankConfig, rng: np.random.Generator, count: int) -> Floats:
    """Drive at a multiple of the log's speed."""
    scale, ramp = (draw_uniform(rng, span, count) for span in (config.speed_scale, config.speed_ramp))
    # A smooth step of length r is 1.5 / r steep.
    gentle = np.maximum(1.5 * np.abs(scale - 1.0) * logged.speed.max() / config.hardest, DT)
    factor = 1.0 + (scale - 1.0) * smooth_step(TIME / np.maximum(ramp, gentle))
    ceiling = np.maximum(config.fastest, logged.speed)
    return _poses_along(logged, integrate(np.minimum(logged.speed * factor, ceiling)))


def time_warp(logged: LoggedMotion, config: BankConfig, rng: np.random.Generator, count: int) -> Floats:
    """Reach the log's end at the same time, faster first and slower later, or vice versa."""
    change = _draw_pace_change(logged, config, config.time_warp, rng, count) * draw_signs(rng, count)
    clock = TIME + change * HORIZON / (2 * np.pi) * (1.0 - np.cos(2 * np.pi * TIME / HORIZON))
    return _poses_along(logged, _progress_at(logged, clock))


def extension(logged: LoggedMotion, config: BankConfig, rng: np.random.Generator, count: int) -> Floats:
    """Accelerate beyond the log; never behind it."""
    gain = draw_acceleration(logged, config, config.extension_acceleration, rng, count)
    start = draw_uniform(rng, config.extension_start, count)
    room = np.maximum(config.fastest - logged.speed, 0.0)
    extra = np.minimum(gain * np.maximum(TIME - start, 0.0), room)
    return _poses_along(logged, logged.progress + integrate(extra))


def slow_first(logged: LoggedMotion, config: BankConfig, rng: np.random.Generator, count: int) -> Floats:
    """Fall behind in the first half and catch up in the second; never ahead of the log."""
    depth = _draw_pace_change(logged, config, config.slow_first_depth, rng, count)
    recovery = draw_uniform(rng, config.slow_first_recovery, count)
    lost: Floats = _bump_integral(TIME)
    regained: Floats = recovery * _bump_integral(TIME - HORIZON / 2)
    return _poses_along(logged, _progress_at(logged, TIME - depth * (lost - regained)))


def delay(logged: LoggedMotion, config: BankConfig, rng: np.random.Generator, count: int) -> Floats:
    """Slow down until the plan lags the log by some time."""
    late, ramp = (draw_uniform(rng, span, count) for span in (config.delay, config.delay_ramp))
    # A smooth step of length r bends by 6 / r^2.
    gentle = np.maximum(np.sqrt(6.0 * late * logged.speed.max() / config.hardest), DT)
    return _poses_along(logged, _progress_at(logged, TIME - late * smooth_step(TIME / np.maximum(late * ramp, gentle))))


def hard_brake(logged: LoggedMotion, config: BankConfig, rng: np.random.Generator, count: int) -> Floats:
    """Brake hard from some time on; never ahead of the log."""
    strength, start = (draw_uniform(rng, span, count) for span in (config.brake, config.brake_start))
    before = np.interp(start, TIME, logged.speed)
    speed = np.minimum(logged.speed, np.maximum(before - strength * np.maximum(TIME - start, 0.0), 0.0))
    return _poses_along(logged, np.minimum(integrate(speed), logged.progress))


def stationary(logged: LoggedMotion, config: BankConfig, rng: np.random.Generator, count: int) -> Floats:
    """Stay at the current pose, whatever the speed."""
    return np.zeros((count, PLAN_POSES, 3))


def draw_uniform(rng: np.random.Generator, span: Range, count: int) -> Floats:
    """(count, 1) uniform numbers."""
    return rng.uniform(*span, size=(count, 1))


def draw_acceleration(
    logged: LoggedMotion, config: BankConfig, span: Range, rng: np.random.Generator, count: int
) -> Floats:
    """Accelerations (count, 1) [m/s^2]; scaled down at random where the log stands, often in a queue."""
    gain, share = draw_uniform(rng, span, count), draw_uniform(rng, (0.0, 1.0), count)
    return gain * share if logged.length < config.standing else gain


def draw_signs(rng: np.random.Generator, count: int) -> Floats:
    """(count, 1) of -1 and 1."""
    return np.where(rng.random((count, 1)) < 0.5, -1.0, 1.0)


def smooth_step(share: Floats) -> Floats:
    """Smoothstep from 0 at 0 to 1 at 1; steepest slope 1.5."""
    u = np.clip(share, 0.0, 1.0)
    return u * u * (3.0 - 2.0 * u)


def integrate(speed: Floats) -> Floats:
    """Distance (N, T) from speed (N, T)."""
    steps = (speed[:, 1:] + speed[:, :-1]) * (DT / 2)
    return np.concatenate([np.zeros((len(speed), 1)), np.cumsum(steps, axis=1)], axis=1)


def _draw_pace_change(
    logged: LoggedMotion, config: BankConfig, span: Range, rng: np.random.Generator, count: int
) -> Floats:
    """Draw amplitudes (count, 1) of a time-warp wave over the horizon, scaled to the acceleration limit."""
    most = config.hardest * HORIZON / (2 * np.pi) / max(float(logged.speed.max()), 1e-3)
    return draw_uniform(rng, span, count) * min(1.0, most / max(span[1], 1e-9))


def _bump_integral(time: Floats) -> Floats:
    """Integral of a bump of height 1 that begins at 0 and takes half of the horizon."""
    t = np.clip(time, 0.0, HORIZON / 2)
    return np.asarray(t / 2 - HORIZON / (8 * np.pi) * np.sin(4 * np.pi * t / HORIZON))


def _progress_at(logged: LoggedMotion, clock: Floats) -> Floats:
    """The log's progress at times `clock` within its 4 s."""
    return np.interp(clock, TIME, logged.progress)


def _poses_along(logged: LoggedMotion, progress: Floats) -> Floats:
    return logged.path.poses(progress[:, POSE_STEPS])
