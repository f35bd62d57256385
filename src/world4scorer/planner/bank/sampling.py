"""Candidates of a scene's bank drawn in one training step.

Up to 8 unsafe candidates without replacement, the rest without replacement among the other valid ones. If that gives
fewer than 16, the remainder is drawn from all valid candidates with replacement.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

DEFAULT_DRAW: Final = 16
"""Candidates per scene and step."""
DEFAULT_UNSAFE_DRAW: Final = 8
"""Unsafe candidates among them, at most."""


def draw_indices(
    valid: NDArray[np.bool_], unsafe: NDArray[np.bool_], rng: np.random.Generator, count: int, most_unsafe: int
) -> NDArray[np.intp]:
    """Indices (count,) of candidates among `valid` (64,), in random order within each kind."""
    bad, good = np.flatnonzero(valid & unsafe), np.flatnonzero(valid & ~unsafe)
    # A permutation is faster than `choice` without replacement.
    first = rng.permutation(bad)[: min(most_unsafe, count)]
    second = rng.permutation(good)[: count - len(first)]
    missing = count - len(first) - len(second)
    if not missing:
        return np.concatenate([first, second])
    every = np.flatnonzero(valid)
    return np.concatenate([first, second, every[rng.integers(0, len(every), missing)]])
