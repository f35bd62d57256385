"""Roll out poses: an LQR tracker commands a kinematic bicycle with actuator lag, forty steps of 0.1 s.

Shapes: C = 11 state columns, T = 41 steps, M = 40 steps between them, N rollouts; these last, so that loops over them
vectorise.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from world4scorer.engine.kernels import kernel
from world4scorer.engine.rollout.angles import sine_cosine, wrap
from world4scorer.engine.rollout.profile import M, fit_curvature, fit_speed, residual
from world4scorer.engine.scene.indices import DT, State
from world4scorer.engine.scene.vehicle import WHEEL_BASE

X: Final = int(State.X)
Y: Final = int(State.Y)
HEADING: Final = int(State.HEADING)
VELOCITY_X: Final = int(State.VELOCITY_X)
VELOCITY_Y: Final = int(State.VELOCITY_Y)
ACCELERATION_X: Final = int(State.ACCELERATION_X)
ACCELERATION_Y: Final = int(State.ACCELERATION_Y)
STEERING_ANGLE: Final = int(State.STEERING_ANGLE)
STEERING_RATE: Final = int(State.STEERING_RATE)
ANGULAR_VELOCITY: Final = int(State.ANGULAR_VELOCITY)
ANGULAR_ACCELERATION: Final = int(State.ANGULAR_ACCELERATION)

HORIZON: Final = 10
"""Look-ahead of the tracker in steps."""
STOP_SPEED: Final = 0.2
"""Speed of both ego and reference at or below which the tracker only brakes [m/s]."""
STOP_GAIN: Final = 0.5
"""1/s"""
SPEED_GAIN: Final = 10.0 / 11.0
"""1/s: one-step LQR with state weight 10, input weight 1 and an input gain of one second."""
LATERAL_WEIGHT: Final = 1.0
HEADING_WEIGHT: Final = 10.0
STEERING_RATE_WEIGHT: Final = 1.0

ACCELERATION_LAG: Final = DT / (DT + 0.2)
STEERING_LAG: Final = DT / (DT + 0.05)
MAX_STEERING_ANGLE: Final = np.pi / 3
"""rad"""


@kernel
def simulate(poses, profile, states):
    """Fill `states` (C, T, N), whose row 0 holds the initial states, by tracking `poses` (3, T, N).

    Returns the (N,) residuals of the profile fits.
    """
    rollouts = poses.shape[2]
    sine = np.empty((M, rollouts))
    cosine = np.empty((M, rollouts))
    along = np.empty((M, rollouts))
    turned = np.empty((M, rollouts))
    for k in range(M):
        for n in range(rollouts):
            s, c = sine_cosine(poses[HEADING, k, n])
            sine[k, n] = s
            cosine[k, n] = c
            along[k, n] = c * (poses[X, k + 1, n] - poses[X, k, n]) + s * (poses[Y, k + 1, n] - poses[Y, k, n])
            turned[k, n] = wrap(poses[HEADING, k + 1, n] - poses[HEADING, k, n])
    speed = np.empty((M, rollouts))
    curvature = np.empty((M, rollouts))
    fit_speed(along, profile, speed)
    fit_curvature(turned, speed, curvature)

    command = np.empty((2, rollouts))
    work = np.empty((4, rollouts))
    tangent = np.empty(rollouts)
    tangents(states[STEERING_ANGLE, 0], work, tangent)
    for k in range(M):
        track(poses, sine[k], cosine[k], speed, curvature, states, k, work, command)
        advance(states, k, command, work, tangent)
    return residual(along, turned, speed, curvature, profile)


# The two functions below run many short loops over rollouts, each with few arrays, so that the compiler vectorises all
# of them. They take whole arrays and the step, because a slice across steps would hide that rollouts are contiguous.


@kernel
def track(poses, sine, cosine, speed, curvature, states, step, work, command):
    """Fill `command` (2, N) with the acceleration and steering rate that follow `poses` at this step.

    `speed` and `curvature` (M, N) are the profiles of the reference, `sine` and `cosine` (N,) those of its heading
    now, `work` (4, N) is scratch.
    """
    rollouts = sine.size
    ahead = min(step + HORIZON, M - 1)
    target = speed[ahead]
    current, steering = states[VELOCITY_X, step], states[STEERING_ANGLE, step]
    acceleration = command[0]
    for n in range(rollouts):
        stopping = target[n] <= STOP_SPEED and current[n] <= STOP_SPEED
        acceleration[n] = -(STOP_GAIN if stopping else SPEED_GAIN) * (current[n] - target[n])

    # The free response of the errors, and their response to a unit steering rate, over the horizon.
    lateral, heading, lateral_gain, heading_gain = work[0], work[1], work[2], work[3]
    for n in range(rollouts):
        across = cosine[n] * (states[Y, step, n] - poses[Y, step, n])
        lateral[n] = across - sine[n] * (states[X, step, n] - poses[X, step, n])
    for n in range(rollouts):
        heading[n] = wrap(states[HEADING, step, n] - poses[HEADING, step, n])
    for n in range(rollouts):
        lateral_gain[n] = 0.0
        heading_gain[n] = 0.0
    for k in range(HORIZON):
        bend = curvature[min(step + k, ahead)]
        for n in range(rollouts):
            travel = (current[n] + acceleration[n] * DT * k) * DT
            lateral[n] += travel * heading[n]
            heading[n] += travel / WHEEL_BASE * steering[n] - travel * bend[n]
        for n in range(rollouts):
            travel = (current[n] + acceleration[n] * DT * k) * DT
            lateral_gain[n] += travel * heading_gain[n]
            heading_gain[n] += travel / WHEEL_BASE * (DT * k)
    for n in range(rollouts):
        stopping = target[n] <= STOP_SPEED and current[n] <= STOP_SPEED
        effort = LATERAL_WEIGHT * lateral_gain[n] * lateral[n] + HEADING_WEIGHT * heading_gain[n] * wrap(heading[n])
        leverage = (
            LATERAL_WEIGHT * lateral_gain[n] * lateral_gain[n] + HEADING_WEIGHT * heading_gain[n] * heading_gain[n]
        )
        command[1, n] = 0.0 if stopping else -effort / (leverage + STEERING_RATE_WEIGHT)


@kernel
def advance(states, step, command, work, tangent):
    """One Euler step of the bicycle under `command` (2, N): fill row `step + 1` of `states` (C, T, N).

    Position and heading move with the old speed, heading and steering angle. `tangent` (N,) holds the tangent of the
    steering angle on entry and that of the new one on return; `work` (4, N) is scratch.
    """
    rollouts = tangent.size
    new = step + 1
    speed = states[VELOCITY_X, step]
    sine, cosine = work[0], work[1]
    for n in range(rollouts):
        s, c = sine_cosine(states[HEADING, step, n])
        sine[n] = s
        cosine[n] = c
    for n in range(rollouts):
        states[X, new, n] = states[X, step, n] + speed[n] * cosine[n] * DT
    for n in range(rollouts):
        states[Y, new, n] = states[Y, step, n] + speed[n] * sine[n] * DT
    for n in range(rollouts):
        states[HEADING, new, n] = wrap(states[HEADING, step, n] + speed[n] * tangent[n] / WHEEL_BASE * DT)
    for n in range(rollouts):
        lagged = ACCELERATION_LAG * (command[0, n] - states[ACCELERATION_X, step, n])
        states[ACCELERATION_X, new, n] = states[ACCELERATION_X, step, n] + lagged
    for n in range(rollouts):
        states[VELOCITY_X, new, n] = speed[n] + states[ACCELERATION_X, new, n] * DT
    for n in range(rollouts):
        states[STEERING_RATE, new, n] = STEERING_LAG * command[1, n]
    for n in range(rollouts):
        steering = states[STEERING_ANGLE, step, n] + states[STEERING_RATE, new, n] * DT
        states[STEERING_ANGLE, new, n] = min(max(steering, -MAX_STEERING_ANGLE), MAX_STEERING_ANGLE)
    tangents(states[STEERING_ANGLE, new], work, tangent)
    for n in range(rollouts):
        states[ANGULAR_VELOCITY, new, n] = states[VELOCITY_X, new, n] * tangent[n] / WHEEL_BASE
    for n in range(rollouts):
        change = states[ANGULAR_VELOCITY, new, n] - states[ANGULAR_VELOCITY, step, n]
        states[ANGULAR_ACCELERATION, new, n] = change / DT
    for n in range(rollouts):
        states[VELOCITY_Y, new, n] = 0.0
        states[ACCELERATION_Y, new, n] = 0.0


@kernel
def tangents(angles, work, out):
    """Fill `out` (N,) with the tangents of `angles` (N,); `work` (2.., N) is scratch."""
    for n in range(out.size):
        s, c = sine_cosine(angles[n])
        work[0, n] = s
        work[1, n] = c
    for n in range(out.size):
        out[n] = work[0, n] / work[1, n]
