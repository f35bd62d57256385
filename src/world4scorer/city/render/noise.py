"""Deterministic noise: an integer hash for kernels, value noise for arrays."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from world4scorer.engine.kernels import inlined

f32 = np.float32


@inlined
def hashed(x, y, seed):
    """A number in [0, 1) for two integers."""
    h = (x * 374761393 + y * 668265263 + seed * 974634361) & 0xFFFFFFFF
    h = ((h ^ (h >> 13)) * 1274126177) & 0xFFFFFFFF
    return f32((h ^ (h >> 16)) & 0xFFFF) * f32(1.0 / 65536.0)


def smooth_noise(x: NDArray[np.float64], y: NDArray[np.float64], seed: int, octaves: int = 4) -> NDArray[np.float64]:
    """Value noise in [0, 1] at points x, y (arrays of one shape), cells of one unit, each octave half the size."""
    grid = np.random.default_rng([seed, 0x401]).random((64, 64))
    total, weight, height = np.zeros(np.shape(x)), 0.0, 1.0
    for _ in range(octaves):
        i, j = np.floor(x).astype(np.int64), np.floor(y).astype(np.int64)
        u, v = x - i, y - j
        u, v = u * u * (3 - 2 * u), v * v * (3 - 2 * v)
        a, b = grid[i % 64, j % 64], grid[(i + 1) % 64, j % 64]
        c, d = grid[i % 64, (j + 1) % 64], grid[(i + 1) % 64, (j + 1) % 64]
        total += height * ((a * (1 - u) + b * u) * (1 - v) + (c * (1 - u) + d * u) * v)
        weight += height
        x, y, height = 2 * x + 17.3, 2 * y + 5.9, height / 2
    return total / weight
