"""Savitzky-Golay filters with polynomial edges, as the comfort metrics use them.

Coefficients are found in exact rational arithmetic and rounded once, so they are the same everywhere.
Shapes: S samples, W window, N rollouts.
"""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from math import factorial
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from world4scorer.engine.kernels import inlined, leaf
from world4scorer.engine.rollout.angles import TWO_PI, nearest
from world4scorer.engine.scene.indices import DT

ROUNDING_SCALE: Final = 1e8
"""Filtered series are rounded to eight decimals."""
FEW: Final = 4
"""Rollouts below which a loop over them costs more than it does."""
PER_SECOND: Final = round(1 / DT)
"""Samples per second."""


class Filter(NamedTuple):
    """A linear operator on S samples.

    With a window shorter than the series it is banded: row i weighs samples `start[i] .. start[i] + W - 1`. A window
    over the whole series fits one polynomial, so the operator has low rank: fit its coefficients, then evaluate them.
    """

    start: NDArray[np.int64]
    """(S,), or (0,) for a window over the whole series."""
    weights: NDArray[np.float64]
    """(S, W) band, or (S, order + 1) values of the powers at each sample."""
    fit: NDArray[np.float64]
    """(0, S), or (order + 1, S) from the samples to the coefficients."""


@cache
def savgol(samples: int, window: int, order: int, derivative: int = 0) -> Filter:
    """Fit a polynomial to a sliding window and evaluate it, or a derivative per second, at each sample.

    The window is shortened to the series. Near the ends the first or last full window is used. In between, an even
    window is evaluated half a sample after its middle-left sample, as scipy does.
    """
    if window >= samples:
        return _whole_window(samples, order, derivative)
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
        scale = factorial(derivative) * PER_SECOND**derivative
        weights[i] = [float(scale * weight) for weight in _polynomial(window, order, at)[derivative]]
    return Filter(start, weights, np.empty((0, samples)))


def _whole_window(samples: int, order: int, derivative: int) -> Filter:
    middle = Fraction(samples - 1, 2)
    fit = np.array([[float(weight) for weight in row] for row in _polynomial(samples, order, middle)])
    values = np.zeros((samples, order + 1))
    for i in range(samples):
        for k in range(derivative, order + 1):
            scale = Fraction(factorial(k), factorial(k - derivative)) * PER_SECOND**derivative
            values[i, k] = float(scale * (i - middle) ** (k - derivative))
    return Filter(np.empty(0, np.int64), values, fit)


@cache
def _polynomial(window: int, order: int, at: Fraction) -> list[list[Fraction]]:
    """Coefficients of the least-squares polynomial around sample `at`: row k weighs the W samples for power k."""
    powers = [[(j - at) ** k for k in range(order + 1)] for j in range(window)]
    normal = [[sum((p[a] * p[b] for p in powers), Fraction(0)) for b in range(order + 1)] for a in range(order + 1)]
    return _solve(normal, [[p[a] for p in powers] for a in range(order + 1)])


def _solve(matrix: list[list[Fraction]], right: list[list[Fraction]]) -> list[list[Fraction]]:
    """Gauss-Jordan elimination of a small positive definite system with several right-hand sides."""
    size = len(matrix)
    rows = [[*row, *values] for row, values in zip(matrix, right, strict=True)]
    for i in range(size):
        rows[i] = [value / rows[i][i] for value in rows[i]]
        for k in range(size):
            if k != i:
                rows[k] = [a - rows[k][i] * b for a, b in zip(rows[k], rows[i], strict=True)]
    return [row[size:] for row in rows]


@leaf
def smooth(operator, series, work, out):
    """Apply a filter to `series` (S, N), rounded to eight decimals, into `out` (S, N); `work` (4.., N) is scratch."""
    whole = operator.fit.shape[0] > 0
    if whole:
        for k in range(operator.fit.shape[0]):
            _weigh(operator.fit[k], series, 0, work[k])
    for i in range(operator.weights.shape[0]):
        if whole:
            _weigh(operator.weights[i], work, 0, out[i])
        else:
            _weigh(operator.weights[i], series, operator.start[i], out[i])
        for n in range(out.shape[1]):
            out[i, n] = nearest(out[i, n] * ROUNDING_SCALE) / ROUNDING_SCALE


@inlined
def _weigh(weights, series, first, out):
    """Fill `out` (N,) with the weighted sum of the rows `first` on of `series`; the order of terms never varies."""
    if out.size < FEW:
        for n in range(out.size):
            total = 0.0
            for j in range(weights.size):
                total += weights[j] * series[first + j, n]
            out[n] = total
    else:
        for n in range(out.size):
            out[n] = 0.0
        for j in range(weights.size):
            weight = weights[j]
            for n in range(out.size):
                out[n] += weight * series[first + j, n]


@leaf
def unwrap(headings, out):
    """Unwrap `headings` (S, N) into `out` (S, N)."""
    samples, rollouts = headings.shape
    for n in range(rollouts):
        turns = 0.0
        out[0, n] = headings[0, n]
        for i in range(1, samples):
            turns += nearest((headings[i, n] - headings[i - 1, n]) / TWO_PI)
            out[i, n] = headings[i, n] - TWO_PI * turns
