"""How far the plans of a pool lie apart.

Shapes: S pools, N plans, T poses.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

DISTINCT_DISTANCE: Final = 0.5
"""Distance [m], mean over poses, above which two plans count as different."""
POOLS_AT_ONCE: Final = 32
"""Distances of so many pools stay in the processor's cache."""


class PoolSpread(NamedTuple):
    """Values by pool (S,)."""

    end_distance: Floats
    """Mean distance between the end points of two plans [m]."""
    nearest_end: Floats
    """Mean distance of an end point to the nearest end point of another plan [m]."""
    distinct: Floats
    """Share of plans that are farther than `DISTINCT_DISTANCE` from every other plan."""


def pool_spread(plans_SNT3: NDArray[Any]) -> PoolSpread:
    """Distances between all plans of each pool; there must be at least two plans."""
    count = plans_SNT3.shape[1]
    if count < 2:
        raise ValueError(f"pools of {count} plan; a spread needs at least two")
    parts = [_spread(plans_SNT3[at : at + POOLS_AT_ONCE]) for at in range(0, len(plans_SNT3), POOLS_AT_ONCE)]
    return PoolSpread(*(np.concatenate(values) for values in zip(*parts, strict=True)))


def _spread(plans: NDArray[Any]) -> PoolSpread:
    count, poses = plans.shape[1:3]
    total = np.zeros((len(plans), count, count), plans.dtype)
    for pose in range(poses):
        x, y = plans[:, :, pose, 0], plans[:, :, pose, 1]
        distance = x[:, :, None] - x[:, None, :]
        distance *= distance
        across = y[:, :, None] - y[:, None, :]
        across *= across
        distance += across
        np.sqrt(distance, out=distance)
        total += distance
    end, mean = distance, total / poses
    pairs = count * (count - 1)
    end_distance = end.sum((1, 2), np.float64) / pairs
    itself = np.arange(count)
    end[:, itself, itself] = mean[:, itself, itself] = np.inf
    return PoolSpread(
        end_distance,
        end.min(2).mean(1, np.float64),
        (mean.min(2) > DISTINCT_DISTANCE).mean(1),
    )
