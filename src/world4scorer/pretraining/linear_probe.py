"""Linear probes: ridge regression, its strength chosen on training logs that are held out, and how well it answers.

Shapes: n rows, d features.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

STRENGTHS: Final = (1e-4, 1e-3, 1e-2, 1e-1, 1.0)
"""Of the ridge, as shares of the mean variance of a feature (which is 1)."""
HELD_OUT: Final = 5
"""Every so-manieth log of the training set chooses the strength."""

Array = NDArray[np.float64]


def probe(
    features: Array, answers: Array, groups: NDArray[np.int64], test_features: Array, test_answers: Array, measure: str
) -> float:
    """How well a linear reading of features (n, d) answers on the test rows: area under the curve, or R2."""
    rows, test_rows = np.isfinite(answers), np.isfinite(test_answers)
    features, answers, groups = features[rows], answers[rows], groups[rows]
    mean, spread = features.mean(0), features.std(0) + 1e-6
    features, test_features = (features - mean) / spread, (test_features[test_rows] - mean) / spread
    held = groups % HELD_OUT == 0
    score = {"AUC": area_under_curve, "R2": r_squared}[measure]
    inner = _Ridge(features[~held], answers[~held])
    best = max(STRENGTHS, key=lambda strength: score(inner.predict(features[held], strength), answers[held]))
    return score(_Ridge(features, answers).predict(test_features, best), test_answers[test_rows])


class _Ridge:
    """Least squares with a penalty; the intercept is free."""

    def __init__(self, features: Array, answers: Array) -> None:
        self._centre, self._mean = features.mean(0), float(answers.mean())
        centred = features - self._centre
        self._values, self._vectors = np.linalg.eigh(centred.T @ centred / len(centred))
        self._along = self._vectors.T @ (centred.T @ (answers - self._mean) / len(centred))

    def predict(self, features: Array, strength: float) -> Array:
        weights = self._vectors @ (self._along / (np.maximum(self._values, 0.0) + strength))
        return np.asarray((features - self._centre) @ weights + self._mean)


def area_under_curve(scores: Array, answers: Array) -> float:
    """Chance that a positive scores above a negative; ties count half. NaN where one kind is missing."""
    positive = answers > 0.5
    count, others = int(positive.sum()), int((~positive).sum())
    if not count or not others:
        return float("nan")
    _, place, ties = np.unique(scores, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(ties) - (ties - 1) / 2.0)[place]
    return float((ranks[positive].sum() - count * (count + 1) / 2.0) / (count * others))


def r_squared(scores: Array, answers: Array) -> float:
    """Share of the variance that is explained; below 0 where the mean does better."""
    return float(1.0 - ((answers - scores) ** 2).sum() / ((answers - answers.mean()) ** 2).sum())
