"""Rollouts in NumPy: dense least squares, one plan at a time."""

from __future__ import annotations

import numpy as np

DT = 0.1
WHEEL_BASE = 3.089


def wrap(angle):
    return np.arctan2(np.sin(angle), np.cos(angle))


def sample_times(time_us):
    return np.array([int((v + time_us * 1e-6) * 1e6) for v in np.arange(41) * 0.1])


def interpolate(knot_times, knots, samples):
    """Piecewise linear through (K, 3) knots; headings take the short way round."""
    samples = np.clip(samples, knot_times[0], knot_times[-1])
    columns = [knots[:, 0], knots[:, 1], np.unwrap(knots[:, 2])]
    out = np.stack([np.interp(samples, knot_times, column) for column in columns], -1)
    out[:, 2] = (out[:, 2] + np.pi) % (2 * np.pi) - np.pi
    return out


def resample_plan(plan, ego, time_us):
    x, y, heading = ego[:3]
    c, s = np.cos(heading), np.sin(heading)
    knots = np.empty((9, 3))
    knots[0] = ego[:3]
    knots[1:, 0] = c * plan[:, 0] - s * plan[:, 1] + x
    knots[1:, 1] = s * plan[:, 0] + c * plan[:, 1] + y
    knots[1:, 2] = wrap(heading + plan[:, 2])
    times = [time_us] + [int((0.5 * k + time_us * 1e-6) * 1e6) for k in range(1, 9)]
    return interpolate(np.array(times), knots, sample_times(time_us))


def resample_reference(poses, time_us):
    return interpolate(time_us + 100_000 * np.arange(len(poses)), poses, sample_times(time_us))


def speed_profile(poses, profile="navsim"):
    """Least squares for v0, a_0 .. a_38 from the displacements along the heading."""
    steps = np.diff(poses[:, :2], axis=0)
    along = np.cos(poses[:-1, 2]) * steps[:, 0] + np.sin(poses[:-1, 2]) * steps[:, 1]
    model = np.tri(40) * DT * DT
    model[:, 0] = DT
    penalty = np.zeros((38, 40))
    for row in range(38):
        penalty[row, row + 1] = -1.0
        if profile == "corrected" or row == 37:
            penalty[row, row + 2] = 1.0
    solution = np.linalg.pinv(model.T @ model + 1e-4 * penalty.T @ penalty) @ model.T @ along
    return np.cumsum(np.concatenate([solution[:1], solution[1:] * DT]))


def curvature_profile(poses, speed):
    """Least squares for the initial curvature and its rates from the heading differences."""
    turned = wrap(np.diff(poses[:, 2]))
    model = np.tri(40) * (speed * DT * DT)[:, None]
    model[:, 0] = speed * DT
    penalty = np.diag([1e-10] + [1e-2] * 39)
    solution = np.linalg.pinv(model.T @ model + penalty) @ model.T @ turned
    return np.cumsum(np.concatenate([solution[:1], solution[1:] * DT]))


def command(state, pose, target, curvature):
    """Acceleration and steering rate from the tracker."""
    speed, steering = state[3], state[7]
    stopping = target <= 0.2 and speed <= 0.2
    if stopping:
        return -0.5 * (speed - target), 0.0
    acceleration = -(10 / 11) * (speed - target)
    dx, dy = state[0] - pose[0], state[1] - pose[1]
    free = np.array([-dx * np.sin(pose[2]) + dy * np.cos(pose[2]), wrap(state[2] - pose[2]), steering])
    gain = np.zeros(3)
    for k in range(10):
        v = speed + acceleration * DT * k
        step = np.array([[1, v * DT, 0], [0, 1, v * DT / WHEEL_BASE], [0, 0, 1]])
        free = step @ free - np.array([0, v * curvature[k] * DT, 0])
        gain = step @ gain + np.array([0, 0, DT])
    free[1:] = wrap(free[1:])
    weights = np.diag([1.0, 10.0, 0.0])
    return acceleration, -(gain @ weights @ free) / (gain @ weights @ gain + 1.0)


def advance(state, acceleration, rate):
    """One step of the bicycle."""
    new = np.zeros(11)
    speed, heading, steering = state[3], state[2], state[7]
    new[0] = state[0] + speed * np.cos(heading) * DT
    new[1] = state[1] + speed * np.sin(heading) * DT
    new[2] = wrap(heading + speed * np.tan(steering) / WHEEL_BASE * DT)
    new[5] = state[5] + DT / (DT + 0.2) * (acceleration - state[5])
    new[3] = speed + new[5] * DT
    new[8] = DT / (DT + 0.05) * rate
    new[7] = np.clip(steering + new[8] * DT, -np.pi / 3, np.pi / 3)
    new[9] = new[3] * np.tan(new[7]) / WHEEL_BASE
    new[10] = (new[9] - state[9]) / DT
    return new


def track(poses, ego, profile="navsim"):
    """(41, 11) states that follow (41, 3) poses."""
    speed = speed_profile(poses, profile)
    curvature = curvature_profile(poses, speed)
    states = [np.array(ego, float)]
    for i in range(40):
        ahead = min(i + 10, 39)
        window = np.concatenate([curvature[i:ahead], np.full(10, curvature[ahead])])[:10]
        states.append(advance(states[-1], *command(states[-1], poses[i], speed[ahead], window)))
    return np.array(states)


def roll_out(scene, plans, profile="navsim"):
    """(N, 41, 11)"""
    return np.array(
        [track(resample_plan(plan, scene.ego_state, scene.time_us), scene.ego_state, profile) for plan in plans]
    )
