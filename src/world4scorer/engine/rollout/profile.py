"""Speed and curvature profiles of the poses to track: two small least-squares fits per rollout.

Written in the profile values themselves, not in the accelerations and curvature rates of the usual formulation, both
normal matrices are banded and well conditioned. They are solved by direct elimination in plain arithmetic: no pseudo-
inverse, no LAPACK, the same digits on every machine. `residual` measures how well the equations are met.

Shapes: T = 41 poses, M = 40 steps between them, N rollouts.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from world4scorer.engine.kernels import kernel
from world4scorer.engine.scene.indices import DT, STEPS

M: Final = STEPS - 1
ACCELERATION_PENALTY: Final = 1e-4
"""Weight of the regulariser of the speed fit."""
CURVATURE_PENALTY: Final = 1e-10
"""Weight on the initial curvature."""
CURVATURE_RATE_PENALTY: Final = 1e-2
"""Weight on each curvature rate."""

COUPLING: Final = CURVATURE_RATE_PENALTY / (DT * DT)

NAVSIM: Final = 0
"""The official simulator's regulariser: accelerations 0..36, and the last jerk only."""
CORRECTED: Final = 1
"""The intended regulariser: every jerk."""


@kernel
def speed_bands(profile):
    """(3, M) diagonal, first and second upper band of the speed fit's normal matrix.

    Minimised is sum_k (DT V_k - p_k)^2 + penalty, p_k being the k-th displacement along its starting heading. With
    a_k = (V_{k+1} - V_k) / DT the penalty is `ACCELERATION_PENALTY` times a sum of squares of accelerations (a row
    of weights on first differences of V) or jerks (a row on second differences).
    """
    bands = np.zeros((3, M))
    bands[0, :] = DT * DT
    weight = ACCELERATION_PENALTY / (DT * DT)
    for k in range(M - 2):
        last = k == M - 3
        if profile == CORRECTED or last:  # jerk: V_k - 2 V_{k+1} + V_{k+2}
            bands[0, k] += weight
            bands[0, k + 1] += 4.0 * weight
            bands[0, k + 2] += weight
            bands[1, k] -= 2.0 * weight
            bands[1, k + 1] -= 2.0 * weight
            bands[2, k] += weight
        else:  # acceleration: V_{k+1} - V_k
            bands[0, k] += weight
            bands[0, k + 1] += weight
            bands[1, k] -= weight
    return bands


@kernel
def fit_speed(along, profile, speed):
    """Fit speeds (M, N) to the displacements `along` (M, N) [m] by banded L D L' elimination."""
    rollouts = along.shape[1]
    bands = speed_bands(profile)
    diagonal, first, second = bands[0], bands[1], bands[2]
    for k in range(M):  # factorise in place: `first` and `second` become the columns of L
        below1, below2 = first[k], second[k]
        if k + 1 < M:
            diagonal[k + 1] -= below1 * below1 / diagonal[k]
            first[k + 1] -= below1 * below2 / diagonal[k]
        if k + 2 < M:
            diagonal[k + 2] -= below2 * below2 / diagonal[k]
        first[k] = below1 / diagonal[k]
        second[k] = below2 / diagonal[k]
    for k in range(M):
        for n in range(rollouts):
            speed[k, n] = DT * along[k, n]
        if k >= 1:
            factor = first[k - 1]
            for n in range(rollouts):
                speed[k, n] -= factor * speed[k - 1, n]
        if k >= 2:
            factor = second[k - 2]
            for n in range(rollouts):
                speed[k, n] -= factor * speed[k - 2, n]
    for k in range(M - 1, -1, -1):
        for n in range(rollouts):
            speed[k, n] /= diagonal[k]
        if k + 1 < M:
            factor = first[k]
            for n in range(rollouts):
                speed[k, n] -= factor * speed[k + 1, n]
        if k + 2 < M:
            factor = second[k]
            for n in range(rollouts):
                speed[k, n] -= factor * speed[k + 2, n]


@kernel
def fit_curvature(turned, speed, curvature):
    """Fit curvatures (M, N) [1/m] to heading differences `turned` (M, N) [rad] at the given speeds.

    Minimised is sum_k (DT V_k K_k - turned_k)^2 + CURVATURE_PENALTY K_0^2 + COUPLING sum_k (K_{k+1} - K_k)^2. The
    normal matrix is a chain of equal springs plus what each step adds to its own diagonal. Eliminating from the far
    end, the stiffness that is left at step k is a sum of positive terms, so nothing cancels even when the ego hardly
    moves and the matrix is nearly singular.
    """
    rollouts = turned.shape[1]
    stiffness = np.empty((M, rollouts))
    for n in range(rollouts):
        reach = DT * speed[M - 1, n]
        stiffness[M - 1, n] = reach * reach
        curvature[M - 1, n] = reach * turned[M - 1, n]
    for k in range(M - 2, -1, -1):
        for n in range(rollouts):
            reach = DT * speed[k, n]
            share = COUPLING / (COUPLING + stiffness[k + 1, n])
            stiffness[k, n] = reach * reach + stiffness[k + 1, n] * share
            curvature[k, n] = reach * turned[k, n] + curvature[k + 1, n] * share
    for n in range(rollouts):
        curvature[0, n] /= CURVATURE_PENALTY + stiffness[0, n]
    for k in range(1, M):
        for n in range(rollouts):
            curvature[k, n] = (curvature[k, n] + COUPLING * curvature[k - 1, n]) / (COUPLING + stiffness[k, n])


@kernel
def residual(along, turned, speed, curvature, profile):
    """(N,) largest violation of either fit's normal equations, relative to the size of the terms in that equation."""
    rollouts = along.shape[1]
    bands = speed_bands(profile)
    worst = np.zeros(rollouts)
    for k in range(M):
        for n in range(rollouts):
            total = bands[0, k] * speed[k, n] - DT * along[k, n]
            size = bands[0, k] * abs(speed[k, n]) + DT * abs(along[k, n])
            for band in range(1, 3):
                if k + band < M:
                    total += bands[band, k] * speed[k + band, n]
                    size += abs(bands[band, k] * speed[k + band, n])
                if k >= band:
                    total += bands[band, k - band] * speed[k - band, n]
                    size += abs(bands[band, k - band] * speed[k - band, n])
            worst[n] = max(worst[n], abs(total) / (size + 1e-300))

            reach = DT * speed[k, n]
            value = curvature[k, n]
            total = reach * (reach * value - turned[k, n])
            size = reach * reach * abs(value) + abs(reach * turned[k, n])
            if k == 0:
                total += CURVATURE_PENALTY * value
                size += CURVATURE_PENALTY * abs(value)
            else:
                total += COUPLING * (value - curvature[k - 1, n])
                size += COUPLING * (abs(value) + abs(curvature[k - 1, n]))
            if k + 1 < M:
                total += COUPLING * (value - curvature[k + 1, n])
                size += COUPLING * (abs(value) + abs(curvature[k + 1, n]))
            worst[n] = max(worst[n], abs(total) / (size + 1e-300))
    return worst
