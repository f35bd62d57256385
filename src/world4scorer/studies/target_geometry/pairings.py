"""Which future view each current view is compared with.

A pairing (N,) gives for each frame the frame whose future is taken, or -1 for none.

Shapes: N frames.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from world4scorer.studies.shared.future_match import unit

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]

HORIZON: Final = 2.0
"""s from a frame to its future."""
LEAST_TIME_APART: Final = 4.0
"""s at least between the view of a same-log pair and either view of the true pair: nearer, it shows the same moment."""


def of_other_groups(groups: Sequence[Any], seed: int) -> Indices:
    """A permutation that gives each frame one of another group; none at all where a group has over half of all frames.

    A permutation drawn by seed; each frame that got one of its own group then changes with a frame, drawn among those
    with which both end up with another group.
    """
    _, group, sizes = np.unique(np.asarray(groups), return_inverse=True, return_counts=True)
    if not len(group) or 2 * sizes.max() > len(group):
        return np.full(len(group), -1)
    rng = np.random.default_rng(seed)
    given = rng.permutation(len(group))
    for index in np.flatnonzero(group[given] == group):
        own = group[index]
        if group[given[index]] == own:
            # There is one: no group has more than half of the places, nor of the frames to be given.
            other = rng.choice(np.flatnonzero((group != own) & (group[given] != own)))
            given[[index, other]] = given[[other, index]]
    return np.asarray(given, np.int64)


def of_same_log(log_names: Sequence[str], time_s: Floats, seed: int) -> Indices:
    """For each frame another of its log, `LEAST_TIME_APART` from its view and its future; -1 for none."""
    _, log = np.unique(np.asarray(log_names), return_inverse=True)
    rng = np.random.default_rng(seed)
    given = np.full(len(log), -1)
    for number in range(log.max(initial=-1) + 1):
        rows = np.flatnonzero(log == number)
        now, future = time_s[rows, None], time_s[None, rows] + HORIZON
        fits = (np.abs(future - now) >= LEAST_TIME_APART) & (np.abs(future - (now + HORIZON)) >= LEAST_TIME_APART)
        drawn = np.where(fits, rng.random(fits.shape), -1.0).argmax(1)
        given[rows] = np.where(fits.any(1), rows[drawn], -1)
    return given


def cosines(current_NE: Floats, future_NE: Floats, pairing_N: Indices) -> Floats:
    """(N,) of each frame's current view with the future that it is given; NaN for none, and for zero vectors."""
    there = pairing_N >= 0
    first, second = current_NE[there], future_NE[pairing_N[there]]
    sizes = np.linalg.norm(first, axis=1) * np.linalg.norm(second, axis=1)
    found = np.full(len(current_NE), np.nan)
    found[there] = np.divide(
        np.einsum("ne,ne->n", first, second), sizes, out=np.full(len(first), np.nan), where=sizes > 0
    )
    return found


def mean_cosine_of_all(current_NE: Floats, future_NE: Floats) -> float:
    """The mean over all pairs of a current view and the future of another frame: what any random pairing expects."""
    first, second = unit(current_NE), unit(future_NE)
    count = len(first)
    own = np.einsum("ne,ne->", first, second)
    return float((first.sum(0) @ second.sum(0) - own) / (count * (count - 1))) if count > 1 else float("nan")
