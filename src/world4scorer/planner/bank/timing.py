"""Perturbations of when the ego is where: the way is the log's, the progress along it is another.

Each function makes `count` plans (count, 8, 3). Times are (T,), progress and speeds (N, T), N = count. All but
`stationary` begin with the speed that the ego has.
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
    """Be where the log ends at the same time, but hurry first and dawdle then, or the other way round."""
    change = _draw_pace_change(logged, config, config.time_warp, rng, count) * draw_signs(rng, count)
    clock = TIME + change * HORIZON / (2 * np.pi) * (1.0 - np.cos(2 * np.pi * TIME / HORIZON))
    return _poses_along(logged, _progress_at(logged, clock))


def extension(logged: LoggedMotion, config: BankConfig, rng: np.random.Generator, count: int) -> Floats:
    """Go on beyond the log, ever faster: never behind it."""
    gain = draw_acceleration(logged, config, config.extension_acceleration, rng, count)
    start = draw_uniform(rng, config.extension_start, count)
    room = np.maximum(config.fastest - logged.speed, 0.0)
    extra = np.minimum(gain * np.maximum(TIME - start, 0.0), room)
    return _poses_along(logged, logged.progress + integrate(extra))


def slow_first(logged: LoggedMotion, config: BankConfig, rng: np.random.Generator, count: int) -> Floats:
    """Lose time in the first half and catch up in the second: never ahead of the log."""
    depth = _draw_pace_change(logged, config, config.slow_first_depth, rng, count)
    recovery = draw_uniform(rng, config.slow_first_recovery, count)
    lost: Floats = _bump_integral(TIME)
    regained: Floats = recovery * _bump_integral(TIME - HORIZON / 2)
    return _poses_along(logged, _progress_at(logged, TIME - depth * (lost - regained)))


def delay(logged: LoggedMotion, config: BankConfig, rng: np.random.Generator, count: int) -> Floats:
    """Slow down until everything happens some time later than in the log."""
    late, ramp = (draw_uniform(rng, span, count) for span in (config.delay, config.delay_ramp))
    # A smooth step of length r bends by 6 / r^2.
    gentle = np.maximum(np.sqrt(6.0 * late * logged.speed.max() / config.hardest), DT)
    return _poses_along(logged, _progress_at(logged, TIME - late * smooth_step(TIME / np.maximum(late * ramp, gentle))))


def hard_brake(logged: LoggedMotion, config: BankConfig, rng: np.random.Generator, count: int) -> Floats:
    """Brake hard from some moment on: never further than the log."""
    strength, start = (draw_uniform(rng, span, count) for span in (config.brake, config.brake_start))
    before = np.interp(start, TIME, logged.speed)
    speed = np.minimum(logged.speed, np.maximum(before - strength * np.maximum(TIME - start, 0.0), 0.0))
    return _poses_along(logged, np.minimum(integrate(speed), logged.progress))


def stationary(logged: LoggedMotion, config: BankConfig, rng: np.random.Generator, count: int) -> Floats:
    """Stay where the ego is now, whatever its speed: the plan that a stopped car would make."""
    return np.zeros((count, PLAN_POSES, 3))


def draw_uniform(rng: np.random.Generator, span: Range, count: int) -> Floats:
    """(count, 1) uniform numbers."""
    return rng.uniform(*span, size=(count, 1))


def draw_acceleration(
    logged: LoggedMotion, config: BankConfig, span: Range, rng: np.random.Generator, count: int
) -> Floats:
    """Accelerations (count, 1) [m/s^2] to go on with. Where the log stands, often in a queue, some of them creep."""
    gain, share = draw_uniform(rng, span, count), draw_uniform(rng, (0.0, 1.0), count)
    return gain * share if logged.length < config.standing else gain


def draw_signs(rng: np.random.Generator, count: int) -> Floats:
    """(count, 1) of -1 and 1."""
    return np.where(rng.random((count, 1)) < 0.5, -1.0, 1.0)


def smooth_step(share: Floats) -> Floats:
    """From 0 at 0 to 1 at 1, level at both ends; 1.5 at its steepest."""
    u = np.clip(share, 0.0, 1.0)
    return u * u * (3.0 - 2.0 * u)


def integrate(speed: Floats) -> Floats:
    """Distance (N, T) from speed (N, T)."""
    steps = (speed[:, 1:] + speed[:, :-1]) * (DT / 2)
    return np.concatenate([np.zeros((len(speed), 1)), np.cumsum(steps, axis=1)], axis=1)


def _draw_pace_change(
    logged: LoggedMotion, config: BankConfig, span: Range, rng: np.random.Generator, count: int
) -> Floats:
    """Draw changes of pace (count, 1) of a wave over the horizon; the range shrinks where they would be too hard.

    The clock of such a wave speeds up by 2 pi / 4 s times the change per second.
    """
    most = config.hardest * HORIZON / (2 * np.pi) / max(float(logged.speed.max()), 1e-3)
    return draw_uniform(rng, span, count) * min(1.0, most / max(span[1], 1e-9))


def _bump_integral(time: Floats) -> Floats:
    """Integral of a bump of height 1 that begins at 0 and takes half of the horizon."""
    t = np.clip(time, 0.0, HORIZON / 2)
    return np.asarray(t / 2 - HORIZON / (8 * np.pi) * np.sin(4 * np.pi * t / HORIZON))


def _progress_at(logged: LoggedMotion, clock: Floats) -> Floats:
    """The log's progress at other times, which lie within its 4 s."""
    return np.interp(clock, TIME, logged.progress)


def _poses_along(logged: LoggedMotion, progress: Floats) -> Floats:
    return logged.path.poses(progress[:, POSE_STEPS])
