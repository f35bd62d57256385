"""Do near things share their group? Nearest neighbours within scenes, and what chance would give.

Shapes: S scenes, K things in each, D numbers each, M nearest.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def nearest(vectors_SKD: Any, count: int) -> Ints:
    """(S, K, M) the nearest others in the same scene, by Euclidean distance; of equally near ones the first."""
    vectors = np.asarray(vectors_SKD, np.float64)
    if not 0 < count < vectors.shape[1]:
        raise ValueError(f"plans: {vectors.shape[1]}; more than {count} are needed to ask for the {count} nearest")
    found = []
    for scene in vectors:
        apart = np.square(scene[:, None] - scene[None]).sum(-1)
        np.fill_diagonal(apart, np.inf)
        found.append(np.argsort(apart, axis=1, kind="stable")[:, :count])
    return np.stack(found)


def agreement(nearest_SKM: Ints, group_SK: Any) -> Floats:
    """(S,) the share of nearest others that are of the same group, averaged over a scene."""
    group = np.asarray(group_SK)
    scene = np.arange(len(group))[:, None, None]
    return np.asarray((group[scene, nearest_SKM] == group[:, :, None]).mean((1, 2)))


def shuffled_agreement(nearest_SKM: Ints, group_SK: Any, repeats: int, seed: int) -> Floats:
    """(repeats, S) the agreement after groups have been shuffled within each scene."""
    rng = np.random.default_rng(seed)
    group = np.asarray(group_SK)
    return np.stack([agreement(nearest_SKM, rng.permuted(group, axis=1)) for _ in range(repeats)])


def agreement_by_chance(group_SK: Any) -> Floats:
    """(S,) what shuffling gives on average, exactly: how often two different things of a scene are of one group."""
    group = np.asarray(group_SK)
    same = (group[:, :, None] == group[:, None, :]).sum((1, 2)) - group.shape[1]
    return np.asarray(same / (group.shape[1] * (group.shape[1] - 1)))
