"""Poses over time as small integers: a start, and second differences, which compress to a fraction of the poses.

Shapes: K paths, T steps.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from world4scorer.reporting.explorer.rounding import ANGLE, LENGTH, quantise

INT16 = np.iinfo(np.int16)


class Paths(NamedTuple):
    """K paths of T poses x, y [LENGTH], heading [ANGLE]: pose t is the start plus the twofold running sum of steps."""

    start: NDArray[np.int32]
    """(K, 3)"""
    steps: NDArray[np.int16]
    """(K, T - 1, 3) the first is the way to the second pose, later ones are changes of that way."""


def hold(values: NDArray[Any], valid: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Values (K, T, D) where they are valid (K, T); elsewhere the last ones before, or the first: never drawn."""
    steps = np.arange(valid.shape[1])
    last = np.maximum.accumulate(np.where(valid, steps, -1), axis=1)
    last = np.where(last < 0, valid.argmax(axis=1)[:, None], last)
    return np.asarray(np.nan_to_num(np.take_along_axis(values, last[..., None], axis=1)), np.float64)


def encode_paths(poses: NDArray[Any]) -> Paths:
    """Encode poses (K, T, 3) x, y [m], heading [rad]; headings are unwrapped. Jumps of 300 m in a step are cut off."""
    unwrapped = np.array(poses, np.float64)
    unwrapped[..., 2] = np.unwrap(unwrapped[..., 2], axis=1)
    whole = np.empty(unwrapped.shape, np.int64)
    whole[..., :2], whole[..., 2] = quantise(unwrapped[..., :2], LENGTH), quantise(unwrapped[..., 2], ANGLE)
    ways = np.diff(whole, axis=1)
    changes = np.diff(ways, axis=1, prepend=np.zeros_like(ways[:, :1]))
    return Paths(whole[:, 0].astype(np.int32), np.clip(changes, INT16.min, INT16.max).astype(np.int16))
