"""What is chosen when plans stay as they are but their predicted states change hands.

The heads read a plan's state and the ego's motion, which is the same for all plans of a scene. So

* giving plan i the state of plan p(i) gives it the utility of plan p(i);
* giving all plans the mean state gives them one utility, and the first plan is taken.

Both are therefore computed from the utilities of a pool file, without the network.

Shapes: S frames, N plans, R repeats.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from world4scorer.engine.selection.pool_metrics import ORDERING_MARGIN
from world4scorer.evaluation.pools.choices import framewise
from world4scorer.evaluation.pools.scored import ScoredPools
from world4scorer.evaluation.scores.bootstrap import Interval, LogBootstrap

FIRST_SEED: Final = 20260909
REPEATS: Final = 100
SINGLE_SEED: Final = 20260802
"""Of the one derangement that planners are compared with."""
FRAMES_AT_ONCE: Final = 256
ROUNDING: Final = 1e-9
"""Means that differ by less are equal: they are summed in different orders."""

Floats = NDArray[np.float64]


class Assignment(NamedTuple):
    """What one way to assign states to plans leads to."""

    selected: Interval
    """PDMS of the chosen plans."""
    regret: Interval
    """PDMS of the best plan of each pool less that."""
    drop: Interval | None = None
    """PDMS lost against own states, paired by frame."""
    flips: Interval | None = None
    """Share of frames in which another plan is chosen than with own states."""
    ordering: Interval | None = None
    """Share of pairs of plans that utilities put in the true order; None where all utilities are equal."""
    ordering_wide: Interval | None = None
    """The same of pairs whose true scores differ by more than `ORDERING_MARGIN`."""


@dataclass(frozen=True)
class Reassigned:
    """All assignments of one set of pools."""

    oracle: Interval
    """PDMS of the best plan of each pool."""
    random: Interval
    """Expected PDMS of a random pick."""
    own: Assignment
    scene_mean: Assignment
    single: Assignment
    """One derangement."""
    repeated: Assignment
    """Many, averaged within each frame."""
    means: tuple[float, ...]
    """(R,) PDMS of each derangement."""

    @property
    def lower(self) -> int:
        """How many derangements lower PDMS."""
        return sum(mean < self.own.selected.value - ROUNDING for mean in self.means)


def derangement(count: int, seed: int) -> NDArray[np.int64]:
    """(N,) a permutation that leaves nothing in its place, all such permutations being equally likely.

    Permutations are drawn from `numpy.random.default_rng(seed)` until one has no fixed point.
    """
    if count < 2:
        raise ValueError(f"pools of {count} plan: states can change hands only where there are at least two plans")
    rng = np.random.default_rng(seed)
    while True:
        drawn = rng.permutation(count)
        if (drawn != np.arange(count)).all():
            return np.asarray(drawn, np.int64)


def reassigned(
    pools: ScoredPools,
    draws: int = 100_000,
    repeats: int = REPEATS,
    first_seed: int = FIRST_SEED,
    min_gap: float = 0.0,
) -> Reassigned:
    """Choose by native v1 utilities with own, mean and deranged states; pairs are ordered above a gap of scores."""
    if repeats < 1:
        raise ValueError(f"repeats: {repeats}; at least 1")
    bootstrap, score, utility = LogBootstrap(pools.log_names, draws), pools.pdms, pools.utility_v1
    seeds = [SINGLE_SEED, *range(first_seed, first_seed + repeats)]
    swapped = [derangement(score.shape[1], seed) for seed in seeds]
    chosen = [framewise(utility), *(framewise(utility[:, one]) for one in swapped)]
    selected = np.stack([pools.at(score, one) for one in chosen])
    flips = np.stack([one != chosen[0] for one in chosen]).astype(np.float64)
    orders = [ordered_pairs(utility, score, swapped, gap) for gap in (min_gap, ORDERING_MARGIN)]
    best = score.max(1)

    def share(rows: slice | None) -> tuple[Interval | None, Interval | None]:
        if rows is None:
            return None, None
        narrow, wide = (bootstrap.ratio(ordered[rows].mean(0), pairs) for ordered, pairs in orders)
        return narrow, wide

    def assignment(value: Floats, changed: Floats, rows: slice | None) -> Assignment:
        return Assignment(
            bootstrap.mean(value),
            bootstrap.mean(best - value),
            bootstrap.mean(selected[0] - value),
            bootstrap.mean(changed),
            *share(rows),
        )

    own = assignment(selected[0], flips[0], slice(0, 1))._replace(drop=None, flips=None)
    return Reassigned(
        oracle=bootstrap.mean(best),
        random=bootstrap.mean(score.mean(1)),
        own=own,
        scene_mean=assignment(score[:, 0], (chosen[0] != 0).astype(np.float64), None),
        single=assignment(selected[1], flips[1], slice(1, 2)),
        repeated=assignment(selected[2:].mean(0), flips[2:].mean(0), slice(2, None)),
        means=tuple(selected[2:].mean(1).tolist()),
    )


def ordered_pairs(
    utility: NDArray[Any], score: Floats, swapped: Sequence[NDArray[np.int64]], min_gap: float = 0.0
) -> tuple[Floats, NDArray[np.int64]]:
    """Pairs of plans in the true order by own utilities and after each swap (1 + swaps, S); all that differ (S,).

    Those differ whose true scores are more than `min_gap` apart.
    """
    ordered = np.empty((1 + len(swapped), len(score)))
    pairs = np.empty(len(score), np.int64)
    for start in range(0, len(score), FRAMES_AT_ONCE):
        part = slice(start, start + FRAMES_AT_ONCE)
        better = score[part, :, None] > score[part, None, :] + min_gap
        pairs[part] = better.sum((1, 2))
        for row, swap in enumerate((np.arange(score.shape[1]), *swapped)):
            given = utility[part][:, swap]
            ordered[row, part] = (better & (given[:, :, None] > given[:, None, :])).sum((1, 2))
    return ordered, pairs
