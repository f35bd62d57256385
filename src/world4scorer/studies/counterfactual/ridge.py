"""A linear reader with a penalty on its size, whose strength is chosen on groups that it has not seen.

Shapes: N rows, D inputs, E outputs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

STRENGTHS: Final = tuple(10.0**power for power in range(-5, 3))
"""Penalties, as shares of the mean variance of the (standardised) inputs."""
HELD_OUT_EVERY: Final = 5
"""Every fifth group chooses the strength."""


@dataclass(frozen=True, eq=False)
class Reader:
    """What was fitted."""

    centre: Floats
    """(D,)"""
    scale: Floats
    """(D,)"""
    weights: Floats
    """(D, E) of standardised inputs"""
    offset: Floats
    """(E,)"""
    strength: float

    def __call__(self, inputs: Any) -> Floats:
        """(..., E) from inputs (..., D)."""
        return np.asarray((np.asarray(inputs, np.float64) - self.centre) / self.scale @ self.weights + self.offset)


def fit(inputs: Any, outputs: Any, groups: Sequence[str]) -> Reader:
    """Fit inputs (N, D) to outputs (N, E) with the strength that does best on held-out groups; then on all rows."""
    x, y, names = np.asarray(inputs, np.float64), np.asarray(outputs, np.float64), np.asarray(groups)
    unique = np.unique(names)
    if len(unique) < 2:
        return solve(x, y, (STRENGTHS[len(STRENGTHS) // 2],))[0]
    held = np.isin(
        names, unique[HELD_OUT_EVERY - 1 :: HELD_OUT_EVERY] if len(unique) >= HELD_OUT_EVERY else unique[-1:]
    )
    tried = solve(x[~held], y[~held], STRENGTHS)
    errors = [float(np.square(reader(x[held]) - y[held]).sum()) for reader in tried]
    return solve(x, y, (STRENGTHS[int(np.argmin(errors))],))[0]


def solve(x: Floats, y: Floats, strengths: Sequence[float]) -> list[Reader]:
    """The readers of given strengths: least squares on standardised inputs plus strength * N * |weights|^2."""
    centre, offset = x.mean(0), y.mean(0)
    spread = x.std(0)
    scale = np.where(spread > 0, spread, 1.0)
    inputs = (x - centre) / scale
    values, vectors = np.linalg.eigh(inputs.T @ inputs / len(x))
    turned = vectors.T @ (inputs.T @ (y - offset) / len(x))
    return [
        Reader(centre, scale, vectors @ (turned / (np.maximum(values, 0.0) + strength)[:, None]), offset, strength)
        for strength in strengths
    ]


def across_groups(inputs: Any, outputs: Any, groups: Sequence[str], folds: int = 5, asked: Any | None = None) -> Floats:
    """(..., E) read for each row (S, ..., D) by a reader fitted to the rows of other groups (S,) only.

    Given `asked` (S, ..., D), these are read in place of the inputs that readers are fitted to.
    """
    x, y, names = np.asarray(inputs, np.float64), np.asarray(outputs, np.float64), np.asarray(groups)
    unique = np.unique(names)
    if len(unique) < 2:
        raise ValueError(f"groups: {len(unique)}; a reader of other groups needs two")
    questions = x if asked is None else np.asarray(asked, np.float64)
    read = np.empty((*questions.shape[:-1], y.shape[-1]))
    for fold in range(min(folds, len(unique))):
        mine = np.isin(names, unique[fold::folds])
        each = int(np.prod(x.shape[1:-1], dtype=np.int64))
        others = np.repeat(names[~mine], each)
        reader = fit(x[~mine].reshape(-1, x.shape[-1]), y[~mine].reshape(-1, y.shape[-1]), others.tolist())
        read[mine] = reader(questions[mine])
    return read
