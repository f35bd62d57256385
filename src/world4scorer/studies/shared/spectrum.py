"""How many directions vectors fill, and how much of their spread lies within groups.

Shapes: N vectors, E numbers each.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from world4scorer.evaluation.scores.bootstrap import Interval, LogBootstrap

Floats = NDArray[np.float64]


def variances(vectors_NE: Any, centred: bool = True, weights_N: Any = None) -> Floats:
    """(E,) squared singular values, largest first; of vectors less their mean these are variances times N.

    `weights_N` says how often each vector counts.
    """
    vectors = np.asarray(vectors_NE, np.float64)
    often = np.ones(len(vectors)) if weights_N is None else np.asarray(weights_N, np.float64)
    gram = (vectors * often[:, None]).T @ vectors
    if centred:
        total = often @ vectors
        gram -= np.outer(total, total) / often.sum()
    return np.asarray(np.maximum(np.linalg.eigvalsh(gram)[::-1], 0.0))


def effective_rank(spectrum: Any) -> float:
    """The exponential of the entropy of a spectrum: n equal values have rank n, whatever their size."""
    values = np.asarray(spectrum, np.float64)
    shares = values[values > 0] / values.sum()
    return float(np.exp(-(shares * np.log(shares)).sum())) if len(shares) else float("nan")


def rank_of_singular_values(squared: Floats) -> float:
    """Effective rank by singular values, as Roy and Vetterli define it; never below that of variances."""
    # What rounding leaves of directions that are not there would count by its square root.
    return effective_rank(np.sqrt(np.where(squared > 1e-12 * squared.max(initial=0.0), squared, 0.0)))


def within_share(bootstrap: LogBootstrap, vectors_NE: Any, group_N: Any) -> Interval:
    """The share of the vectors' variance that lies within groups; no group may have vectors of several logs."""
    vectors = np.asarray(vectors_NE, np.float64)
    within = _from_group_means(vectors, np.asarray(group_N))
    sums = bootstrap.sums(np.column_stack([within, np.square(vectors).sum(1), np.ones(len(vectors)), vectors]))

    def share(drawn: Floats) -> Floats:
        inside, squares, count, total = np.split(drawn @ sums, [1, 2, 3], axis=1)
        spread = squares - np.square(total).sum(1, keepdims=True) / count
        return np.asarray(np.divide(inside, spread, out=np.full(inside.shape, np.nan), where=spread > 0)[:, 0])

    return bootstrap.of_logs(share)


def _from_group_means(vectors: Floats, group_N: NDArray[Any]) -> Floats:
    """(N,) squared distance of each vector from the mean of its group."""
    _, group, sizes = np.unique(group_N, return_inverse=True, return_counts=True)
    means = np.zeros((len(sizes), vectors.shape[1]))
    np.add.at(means, group, vectors)
    means /= sizes[:, None]
    return np.asarray(np.square(vectors - means[group]).sum(1))
