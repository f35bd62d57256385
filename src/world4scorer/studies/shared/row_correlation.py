"""Correlations within rows: how alike two quantities order or vary over the plans of each scene.

Shapes: S rows, N entries.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

ROWS_AT_ONCE: Final = 256


def ranks(values: NDArray[Any]) -> Floats:
    """(S, N) ranks within each row from 1, equal values sharing the mean of theirs; infinities have their place."""
    found = np.empty(values.shape)
    for start in range(0, len(values), ROWS_AT_ONCE):
        part = values[start : start + ROWS_AT_ONCE]
        below = (part[:, None, :] < part[:, :, None]).sum(2)
        same = (part[:, None, :] == part[:, :, None]).sum(2)
        found[start : start + ROWS_AT_ONCE] = below + (same + 1) / 2
    return found


def rank_correlation(first: NDArray[Any], second: NDArray[Any]) -> Floats:
    """(S,) Spearman's correlation of the rows of (S, N) each; NaN where one is constant."""
    return correlation(ranks(first), ranks(second))


def correlation(first: NDArray[Any], second: NDArray[Any]) -> Floats:
    """(S,) Pearson's correlation of the rows of (S, N) each; NaN where one is constant."""
    a, b = (np.asarray(part, np.float64) for part in (first, second))
    varied = (a != a[:, :1]).any(1) & (b != b[:, :1]).any(1)
    a, b = (part - part.mean(1, keepdims=True) for part in (a, b))
    size = np.sqrt((a * a).sum(1) * (b * b).sum(1))
    return np.where(varied, (a * b).sum(1) / np.where(varied, size, 1.0), np.nan)
