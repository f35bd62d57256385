"""Quantisation of frame files: integer multiples of units, in the ego frame."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

LENGTH: Final = 0.01
"""m"""
ANGLE: Final = 0.001
"""rad"""
SCORE: Final = 0.0001
UTILITY: Final = 0.001
STEP: Final = 0.1
"""s"""
UNITS: Final = {"length": LENGTH, "angle": ANGLE, "score": SCORE, "utility": UTILITY, "step": STEP}


def quantise(values: NDArray[Any] | float, unit: float) -> NDArray[np.int64]:
    """Values as integer multiples of a unit."""
    return np.rint(np.asarray(values, np.float64) * round(1 / unit)).astype(np.int64)


def flat_points(points: NDArray[Any]) -> list[int]:
    """Points (n, 2) in the ego's frame as x, y, x, y, ... [LENGTH]."""
    numbers: list[int] = quantise(points, LENGTH).ravel().tolist()
    return numbers


def flat_poses(poses: NDArray[Any]) -> NDArray[np.int64]:
    """Poses (..., n, 3) in the ego's frame as (..., 3 n): x, y [LENGTH], heading [ANGLE], x, y, heading, ..."""
    scaled = np.asarray(poses, np.float64) * (round(1 / LENGTH), round(1 / LENGTH), round(1 / ANGLE))
    return np.rint(scaled).astype(np.int64).reshape(*scaled.shape[:-2], -1)
