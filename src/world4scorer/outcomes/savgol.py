"""Savitzky-Golay filters with polynomial edges, as the comfort metrics use them.

Coefficients are found in exact rational arithmetic and rounded once, so they are the same everywhere.
Shapes: S samples, W window, N lanes.
"""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from world4scorer.kernels import leaf
from world4scorer.rollout.angles import TWO_PI, nearest
from world4scorer.scene.indices import DT

DECIMALS: Final = 1e8
"""Every filtered series is rounded to eight decimals."""


class Filter(NamedTuple):
    """A banded linear operator on S samples: row i weighs samples `start[i] .. start[i] + W - 1`."""

    start: NDArray[np.int64]
    """(S,)"""
    weights: NDArray[np.float64]
    """(S, W)"""


@cache
def savgol(samples: int, window: int, order: int, derivative: int = 0) -> Filter:
    """Fit a polynomial to a sliding window and evaluate it, or a derivative per second, at each sample.

    The window is shortened to the series. Near the ends the first or last full window is used. In between, an even
    window is evaluated half a sample after its middle-left sample, as scipy does.
    """
    window = min(window, samples)
    half = window // 2
    start = np.empty(samples, np.int64)
    weights = np.empty((samples, window))
    for i in range(samples):
        if i < half:
            start[i], at = 0, Fraction(i)
        elif i >= samples - half:
            start[i], at = samples - window, Fraction(i - (samples - window))
        elif window % 2:
            start[i], at = i - half, Fraction(half)
        else:
            start[i], at = i - half + 1, Fraction(2 * half - 1, 2)
        weights[i] = _weights(window, order, derivative, at)
    return Filter(start, weights)


@cache
def _weights(window: int, order: int, derivative: int, at: Fraction) -> NDArray[np.float64]:
    """Weights that give the derivative, per second, at sample `at` of the least-squares polynomial through a window."""
    powers = [[(j - at) ** k for k in range(order + 1)] for j in range(window)]
    size = order + 1
    normal = [[sum((row[a] * row[b] for row in powers), Fraction(0)) for b in range(size)] for a in range(size)]
    wanted = [Fraction(int(a == derivative)) for a in range(size)]
    coefficients = _solve(normal, wanted)
    factorial = 2 if derivative == 2 else 1
    scale = Fraction(factorial * round(1 / DT) ** derivative)
    return np.array([float(scale * sum(c * p for c, p in zip(coefficients, row, strict=True))) for row in powers])


def _solve(matrix: list[list[Fraction]], right: list[Fraction]) -> list[Fraction]:
    """Gauss-Jordan elimination of a small positive definite system."""
    rows = [[*row, value] for row, value in zip(matrix, right, strict=True)]
    for i in range(len(rows)):
        rows[i] = [value / rows[i][i] for value in rows[i]]
        for k in range(len(rows)):
            if k != i:
                factor = rows[k][i]
                rows[k] = [a - factor * b for a, b in zip(rows[k], rows[i], strict=True)]
    return [row[-1] for row in rows]


@leaf
def smooth(operator, series, out):  # type: ignore[no-untyped-def]
    """Apply a filter to `series` (S, N), rounded to eight decimals, into `out` (S, N)."""
    samples, window = operator.weights.shape
    lanes = series.shape[1]
    for i in range(samples):
        for n in range(lanes):
            out[i, n] = 0.0
        for j in range(window):
            weight = operator.weights[i, j]
            row = operator.start[i] + j
            for n in range(lanes):
                out[i, n] += weight * series[row, n]
        for n in range(lanes):
            out[i, n] = nearest(out[i, n] * DECIMALS) / DECIMALS


@leaf
def unwrap(headings, out):  # type: ignore[no-untyped-def]
    """Take whole turns out of the jumps between consecutive `headings` (S, N), into `out` (S, N)."""
    samples, lanes = headings.shape
    for n in range(lanes):
        turns = 0.0
        out[0, n] = headings[0, n]
        for i in range(1, samples):
            turns += nearest((headings[i, n] - headings[i - 1, n]) / TWO_PI)
            out[i, n] = headings[i, n] - TWO_PI * turns
