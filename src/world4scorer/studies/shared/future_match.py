"""How well predicted futures of a scene's plans match the true ones: cosines, retrieval, variation within the scene.

All features are unit vectors: the loss of the future is a cosine, so lengths mean nothing.

Shapes: S scenes, K plans of each, E features.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

ROUNDING: Final = 1e-12
"""What is left of a unit vector less the mean of its scene, and is no longer, is what rounding left."""


def unit(features: Any) -> Floats:
    """The same directions (..., E) with length one; nothing stays nothing."""
    values = np.asarray(features, np.float64)
    size = np.linalg.norm(values, axis=-1, keepdims=True)
    return np.asarray(values / np.where(size > 0, size, 1.0))


def cosines(predicted: Floats, true: Floats) -> Floats:
    """(S, K, K) of prediction i and true future j of each scene."""
    return np.asarray(np.einsum("ske,sje->skj", unit(predicted), unit(true)))


def within(features: Floats, there: NDArray[np.bool_] | None = None) -> Floats:
    """Features (S, K, E) less the mean of their scene; given some plans (S, K), of these, and 0 for the others."""
    if there is None:
        return np.asarray(features - features.mean(1, keepdims=True))
    counts = np.maximum(there.sum(1), 1)[:, None, None]
    means = np.where(there[..., None], features, 0.0).sum(1, keepdims=True) / counts
    return np.where(there[..., None], features - means, 0.0)


class Retrieval(NamedTuple):
    """Whether each prediction finds its own future among those of its scene; (S, K) each."""

    first: Floats
    """1 where its own is the most alike; shared among equals"""
    rank: Floats
    """From 1; of equals the mean"""
    reciprocal: Floats
    """1 / rank"""
    pairwise: Floats
    """Share of the other futures that are less alike than its own; equals count half"""


def retrieval(similarity: Floats) -> Retrieval:
    """Retrieval by similarities (S, K, K) of prediction i and future j."""
    own = np.diagonal(similarity, axis1=1, axis2=2)[..., None]
    more = (similarity > own).sum(2)
    same = (similarity == own).sum(2)
    rank = more + (same + 1) / 2
    others = max(similarity.shape[2] - 1, 1)
    return Retrieval(np.where(more == 0, 1.0 / same, 0.0), rank, 1.0 / rank, 1.0 - (more + (same - 1) / 2) / others)


def pairs_in_order(similarity: Floats, there: NDArray[np.bool_]) -> tuple[Floats, Floats]:
    """(S,) how many pairs of one's own future and another's are in order, and how many there are; some plans (S, K)."""
    own = np.diagonal(similarity, axis1=1, axis2=2)[..., None]
    asked = there[:, :, None] & there[:, None, :] & ~np.eye(there.shape[1], dtype=np.bool_)
    right = (similarity < own) + 0.5 * (similarity == own)
    return np.where(asked, right, 0.0).sum((1, 2)), asked.sum((1, 2)).astype(np.float64)


def chance(plans: int) -> Retrieval:
    """What guessing gives among so many, on average; each ()."""
    ranks = np.arange(1, plans + 1)
    return Retrieval(*(np.array(value) for value in (1 / plans, (plans + 1) / 2, (1 / ranks).mean(), 0.5)))


def directions(features: Floats) -> Floats:
    """(S, K, E) directions of unit vectors less the mean of their scene; 0 where nothing is left."""
    left = within(unit(features))
    return unit(np.where(np.linalg.norm(left, axis=-1, keepdims=True) > ROUNDING, left, 0.0))


def within_cosine(predicted: Floats, true: Floats) -> Floats:
    """(S, K) cosine of a prediction and its future, each less the mean of its scene; 0 where nothing is left."""
    return np.asarray((directions(predicted) * directions(true)).sum(-1))


def within_errors(predicted: Floats, true: Floats, there: NDArray[np.bool_] | None = None) -> tuple[Floats, Floats]:
    """(S,) squared errors of the variation within each scene, and that variation itself; their ratio is 1 - R2.

    Given some plans (S, K), of these alone.
    """
    guess, found = within(unit(predicted), there), within(unit(true), there)
    return np.square(guess - found).sum((1, 2)), np.square(found).sum((1, 2))
