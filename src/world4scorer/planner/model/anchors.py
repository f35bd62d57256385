"""Anchors: plans as corrections of accelerations and yaw rates clustered from training data.

An extension for short training runs (`ModelConfig.anchors`): free poses need long to spread over what cars do, while
anchors spread from the first step on. A plan is what its controls lead to from the ego's speed now; each control holds
for one interval, and a car does not drive backwards.

Shapes: S trajectories, B scenes, N plans, T poses.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from world4scorer.engine.scene.geometry import wrap_modulo
from world4scorer.engine.scene.indices import PLAN_INTERVAL

CONTROLS: Final = 2
"""Numbers per pose: acceleration [m/s^2], yaw rate [rad/s]."""
MIN_CONTROLS: Final = (-5.0, -1.0)
"""Lower limits of an anchor's controls; `MAX_CONTROLS` are the upper ones."""
MAX_CONTROLS: Final = (4.0, 1.0)
METRES_PER_RADIAN: Final = 6.0
"""Weight of headings against speeds in the distance of manoeuvres."""
VARIATIONS: Final = 4
"""Trajectories per manoeuvre of a vocabulary, at least."""
VARIATION: Final = (0.5, 1.5)
"""Range of factors of the controls of varied trajectories."""
KMEANS_ITERATIONS: Final = 20
"""Iterations of k-means."""


def integrate(speed_B: Tensor, controls_BNT2: Tensor) -> Tensor:
    """Plans (B, N, T, 3) that controls lead to from speeds [m/s]."""
    acceleration, yaw_rate = controls_BNT2.unbind(-1)
    speed = functional.relu(speed_B[:, None, None] + PLAN_INTERVAL * acceleration.cumsum(-1))
    heading = PLAN_INTERVAL * yaw_rate.cumsum(-1)
    middle = heading - 0.5 * PLAN_INTERVAL * yaw_rate
    x = PLAN_INTERVAL * (speed * middle.cos()).cumsum(-1)
    y = PLAN_INTERVAL * (speed * middle.sin()).cumsum(-1)
    return torch.stack([x, y, heading], -1)


def controls_of(speed_S: Any, poses_ST3: Any) -> NDArray[np.float64]:
    """Controls (S, T, 2) that lead along trajectories, as far as those follow their headings; within bounds."""
    speed, poses = np.asarray(speed_S, np.float64), np.asarray(poses_ST3, np.float64)
    poses = np.concatenate([np.zeros_like(poses[:, :1]), poses], 1)
    steps = np.diff(poses, axis=1)
    turn: NDArray[np.float64] = wrap_modulo(steps[..., 2])
    heading = np.cumsum(turn, 1)
    middle = heading - 0.5 * turn
    speeds = (steps[..., 0] * np.cos(middle) + steps[..., 1] * np.sin(middle)) / PLAN_INTERVAL
    acceleration = np.diff(speeds, axis=1, prepend=speed[:, None]) / PLAN_INTERVAL
    return np.clip(np.stack([acceleration, turn / PLAN_INTERVAL], -1), MIN_CONTROLS, MAX_CONTROLS)


def fit_vocabulary(speed_S: Any, poses_ST3: Any, count: int, seed: int) -> NDArray[np.float32]:
    """`count` manoeuvres (N, T, 2) of trajectories and their mirror images, varied where these are few."""
    controls = controls_of(speed_S, poses_ST3)
    controls = np.concatenate([controls, controls * (1.0, -1.0)])
    rng = np.random.default_rng(seed)
    while len(controls) < VARIATIONS * count:
        factors = rng.uniform(*VARIATION, (len(controls), 1, CONTROLS))
        controls = np.concatenate([controls, np.clip(controls * factors, MIN_CONTROLS, MAX_CONTROLS)])
    return _cluster(controls, count, seed)


def fit_anchors(speed_S: Any, poses_ST3: Any, count: int, seed: int) -> NDArray[np.float32]:
    """The `count` manoeuvres (N, T, 2) that stand best for trajectories: k-means of speed and heading changes."""
    controls = controls_of(speed_S, poses_ST3)
    if len(controls) < count:
        raise ValueError(f"anchors: {len(controls)} trajectories are too few for {count} manoeuvres")
    return _cluster(controls, count, seed)


def _cluster(controls: NDArray[np.float64], count: int, seed: int) -> NDArray[np.float32]:
    scale = PLAN_INTERVAL * np.array([1.0, METRES_PER_RADIAN])
    changes = (np.cumsum(controls, 1) * scale).reshape(len(controls), -1)
    centres = changes[np.random.default_rng(seed).permutation(len(changes))[:count]]
    squares = (changes**2).sum(1)[:, None]
    for _ in range(KMEANS_ITERATIONS):
        nearest = (squares - 2 * changes @ centres.T + (centres**2).sum(1)).argmin(1)
        for cluster in np.unique(nearest):
            centres[cluster] = changes[nearest == cluster].mean(0)
    return np.diff(centres.reshape(count, -1, CONTROLS) / scale, axis=1, prepend=0.0).astype(np.float32)
