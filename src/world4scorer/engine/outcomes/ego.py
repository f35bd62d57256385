"""The ego's boxes along its rollouts.

Shapes: N rollouts, T = 41 steps.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from world4scorer.engine.kernels import inlined, kernel, leaf
from world4scorer.engine.rollout.angles import sine_cosine
from world4scorer.engine.scene.indices import State
from world4scorer.engine.scene.vehicle import HALF_LENGTH, HALF_WIDTH, REAR_AXLE_TO_CENTRE

X: Final = int(State.X)
Y: Final = int(State.Y)
HEADING: Final = int(State.HEADING)
VELOCITY_X: Final = int(State.VELOCITY_X)
VELOCITY_Y: Final = int(State.VELOCITY_Y)

RADIUS: Final = (HALF_LENGTH**2 + HALF_WIDTH**2) ** 0.5
"""From the centre to a corner [m]."""

CORNERS: Final = ("front_left", "rear_left", "rear_right", "front_right")


class EgoBoxes(NamedTuple):
    """Every field is (N, T)."""

    x: NDArray[np.float64]
    """Centre [m]."""
    y: NDArray[np.float64]
    rear_x: NDArray[np.float64]
    """Rear axle [m]."""
    rear_y: NDArray[np.float64]
    cosine: NDArray[np.float64]
    """Cosine and sine of the heading."""
    sine: NDArray[np.float64]
    speed: NDArray[np.float64]
    """m/s, never negative."""


@kernel
def ego_boxes(states):
    """Boxes of rollouts `states` (11, T, N)."""
    steps, rollouts = states.shape[1], states.shape[2]
    out = EgoBoxes(
        np.empty((rollouts, steps)),
        np.empty((rollouts, steps)),
        np.empty((rollouts, steps)),
        np.empty((rollouts, steps)),
        np.empty((rollouts, steps)),
        np.empty((rollouts, steps)),
        np.empty((rollouts, steps)),
    )
    _fill_boxes(states, np.empty((3, rollouts)), out)
    return out


@leaf
def _fill_boxes(states, work, out):
    sine, cosine, speed = work[0], work[1], work[2]
    rollouts = speed.size
    for t in range(states.shape[1]):
        for n in range(rollouts):
            s, c = sine_cosine(states[HEADING, t, n])
            sine[n] = s
            cosine[n] = c
        for n in range(rollouts):
            vx, vy = states[VELOCITY_X, t, n], states[VELOCITY_Y, t, n]
            speed[n] = np.sqrt(vx * vx + vy * vy)
        for n in range(rollouts):
            out.rear_x[n, t] = states[X, t, n]
            out.rear_y[n, t] = states[Y, t, n]
            out.x[n, t] = states[X, t, n] + REAR_AXLE_TO_CENTRE * cosine[n]
            out.y[n, t] = states[Y, t, n] + REAR_AXLE_TO_CENTRE * sine[n]
            out.cosine[n, t] = cosine[n]
            out.sine[n, t] = sine[n]
            out.speed[n, t] = speed[n]


@kernel
def centre_bounds(ego):
    """(4,) bounds of all centres: x_min, y_min, x_max, y_max."""
    x_low = y_low = np.inf
    x_high = y_high = -np.inf
    for n in range(ego.x.shape[0]):
        for t in range(ego.x.shape[1]):
            x_low, x_high = min(x_low, ego.x[n, t]), max(x_high, ego.x[n, t])
            y_low, y_high = min(y_low, ego.y[n, t]), max(y_high, ego.y[n, t])
    bounds = np.empty(4)
    bounds[0], bounds[1], bounds[2], bounds[3] = x_low, y_low, x_high, y_high
    return bounds


@inlined
def corner(ego, n, t, which):
    """Position of a corner, in the order of `CORNERS`."""
    forward = HALF_LENGTH if (which == 0 or which == 3) else -HALF_LENGTH
    left = HALF_WIDTH if which <= 1 else -HALF_WIDTH
    c, s = ego.cosine[n, t], ego.sine[n, t]
    return ego.x[n, t] + (forward * c - left * s), ego.y[n, t] + (forward * s + left * c)
