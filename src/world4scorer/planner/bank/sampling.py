"""What training sees of a scene's bank in one step.

The rule: up to 8 without replacement among the unsafe candidates, the rest without replacement among the other valid
ones. Where that gives fewer than 16, all valid candidates are drawn from once more, with replacement.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

DEFAULT_DRAW: Final = 16
"""Candidates per scene and step."""
DEFAULT_UNSAFE_DRAW: Final = 8
"""Of them unsafe, at most."""


def draw_indices(
    valid: NDArray[np.bool_], unsafe: NDArray[np.bool_], rng: np.random.Generator, count: int, most_unsafe: int
) -> NDArray[np.intp]:
    """Places (count,) of the candidates to use, of those marked `valid` (64,), in random order within each kind."""
    bad, good = np.flatnonzero(valid & unsafe), np.flatnonzero(valid & ~unsafe)
    # A permutation of all costs less than `choice` without replacement.
    first = rng.permutation(bad)[: min(most_unsafe, count)]
    second = rng.permutation(good)[: count - len(first)]
    missing = count - len(first) - len(second)
    if not missing:
        return np.concatenate([first, second])
    every = np.flatnonzero(valid)
    return np.concatenate([first, second, every[rng.integers(0, len(every), missing)]])
