"""Kernel: contact of the ego's box with other agents' boxes."""

from __future__ import annotations

import numpy as np

from world4scorer.engine.kernels import kernel
from world4scorer.engine.rollout.angles import sine_cosine
from world4scorer.engine.scene.boxes import boxes_meet
from world4scorer.engine.scene.vehicle import HALF_LENGTH, HALF_WIDTH, REAR_AXLE_TO_CENTRE


@kernel
def contacts(ego, poses, sizes):
    """(A,) whether the ego, rear axle at `ego` (3,), touches agents with centres `poses` (A, 3), `sizes` (A, 2)."""
    out = np.zeros(poses.shape[0], np.bool_)
    sine, cosine = sine_cosine(ego[2])
    x, y = ego[0] + REAR_AXLE_TO_CENTRE * cosine, ego[1] + REAR_AXLE_TO_CENTRE * sine
    for n in range(poses.shape[0]):
        s, c = sine_cosine(poses[n, 2])
        out[n] = boxes_meet(
            x, y, cosine, sine, HALF_LENGTH, HALF_WIDTH,
            poses[n, 0], poses[n, 1], c, s, 0.5 * sizes[n, 0], 0.5 * sizes[n, 1],
        )  # fmt: skip
    return out
