"""Linear probes: ridge regression, its strength chosen on training logs that are held out, and how well it answers.

Shapes: n rows, d features, q questions.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

RIDGE_STRENGTHS: Final = (1e-3, 1e-2, 1e-1, 1.0, 10.0)
"""Ridge strengths tried; features have variance 1."""
HELD_OUT_INTERVAL: Final = 5
"""Every n-th training log is held out to choose the strength."""

Array = NDArray[np.float32]


def probe(
    features: Array,
    answers: Array,
    groups: NDArray[np.int64],
    test_features: Array,
    test_answers: Array,
    measures: list[str],
) -> list[float]:
    """How well a linear reading of features (n, d) answers each question (n, q) on the test rows (.., q).

    Measures are "AUC" (area under the curve) or "R2". Rows must be finite in all questions or in none.
    """
    rows, test_rows = np.isfinite(answers).all(1), np.isfinite(test_answers).all(1)
    features, answers, groups = features[rows], answers[rows], groups[rows]
    test_features, test_answers = test_features[test_rows], test_answers[test_rows]
    mean, spread = features.mean(0), features.std(0) + np.float32(1e-6)
    features, test_features = (features - mean) / spread, (test_features - mean) / spread
    held = groups % HELD_OUT_INTERVAL == 0
    scores = [{"AUC": area_under_curve, "R2": r_squared}[measure] for measure in measures]
    inner, outer = _Ridge(features[~held], answers[~held]), _Ridge(features, answers)
    tried = np.array(
        [
            [s(inner.predict(features[held], k)[:, q], answers[held][:, q]) for q, s in enumerate(scores)]
            for k in RIDGE_STRENGTHS
        ]
    )
    found = []
    for question, score in enumerate(scores):
        best = RIDGE_STRENGTHS[int(np.nanargmax(tried[:, question]))]
        found.append(score(outer.predict(test_features, best)[:, question], test_answers[:, question]))
    return found


class _Ridge:
    """Least squares with a penalty; the intercept is free."""

    def __init__(self, features: Array, answers: Array) -> None:
        self._centre, self._mean = features.mean(0), answers.mean(0)
        centred = features - self._centre
        self._gram = (centred.T @ centred) / np.float32(len(centred))
        self._along = centred.T @ (answers - self._mean) / np.float32(len(centred))
        self._weights: dict[float, Array] = {}

    def predict(self, features: Array, strength: float) -> Array:
        """(n, q)"""
        if strength not in self._weights:
            penalised = self._gram + np.float32(strength) * np.eye(len(self._gram), dtype=np.float32)
            self._weights[strength] = np.linalg.solve(penalised, self._along)
        return np.asarray((features - self._centre) @ self._weights[strength] + self._mean)


def area_under_curve(scores: Array, answers: Array) -> float:
    """Chance that a positive scores above a negative; ties count half. NaN where one kind is missing."""
    positive = answers > 0.5
    count, others = int(positive.sum()), int((~positive).sum())
    if not count or not others:
        return float("nan")
    _, place, ties = np.unique(scores, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(ties) - (ties - 1) / 2.0)[place]
    return float((ranks[positive].sum() - count * (count + 1) / 2.0) / (count * others))


def between_logs(features: Array, log: NDArray[np.int64]) -> float:
    """Share of the variance of features (n, d) that lies between logs: weather, light and district, not the scene."""
    centred = features - features.mean(0)
    _, place = np.unique(log, return_inverse=True)
    sums = np.zeros((int(place.max()) + 1, features.shape[1]))
    np.add.at(sums, place, centred)
    counts = np.bincount(place)[:, None]
    return float((sums**2 / counts).sum() / (centred.astype(np.float64) ** 2).sum())


def dimensions(features: Array) -> float:
    """Into how many directions features (n, d) really spread: (sum of variances)^2 / sum of their squares."""
    variances = np.linalg.eigvalsh(np.cov(features.T.astype(np.float64)))
    return float(variances.sum() ** 2 / (variances**2).sum())


def r_squared(scores: Array, answers: Array) -> float:
    """Share of the variance that is explained; below 0 where the mean does better."""
    return float(1.0 - ((answers - scores) ** 2).sum() / ((answers - answers.mean()) ** 2).sum())
