"""How well the values of one kind of pairs can be distinguished from those of another, with intervals over logs.

Shapes: S frames, each with a value of either kind or NaN.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from world4scorer.evaluation.scores.bootstrap import Interval, LogBootstrap

Floats = NDArray[np.float64]

AT_ONCE: Final = 256
"""Draws of quantiles at a time: each looks at all frames."""
QUANTILE_DRAWS: Final = 10 * AT_ONCE
"""Of the bootstrap, for quantiles, at the most."""


def auc(bootstrap: LogBootstrap, higher: Floats, lower: Floats) -> Interval:
    """How often a value of `higher` is above one of `lower`, over all pairs of frames; of ties half (Mann-Whitney)."""
    there = ~np.isnan(higher)
    asked, log = higher[there], bootstrap.log[there]
    wins = np.zeros((bootstrap.logs, bootstrap.logs))
    for other in range(bootstrap.logs):
        against = lower[(bootstrap.log == other) & ~np.isnan(lower)]
        below = np.sort(against)
        won = np.searchsorted(below, asked, "left") + np.searchsorted(below, asked, "right")
        wins[:, other] = np.bincount(log, won / 2, bootstrap.logs)
    return _won_share(bootstrap, wins, *(bootstrap.sums(~np.isnan(values)) for values in (higher, lower)))


def auc_of_counts(bootstrap: LogBootstrap, higher: Floats, lower: Floats) -> Interval:
    """The same of values counted by log and ascending level (logs, L): for many values, with few levels."""
    wins = higher @ (np.cumsum(lower, axis=1) - lower / 2).T
    return _won_share(bootstrap, wins, higher.sum(1), lower.sum(1))


def _won_share(bootstrap: LogBootstrap, wins: Floats, first: Floats, second: Floats) -> Interval:
    """Wins (logs, logs) of values of one log over those of another, by the number of pairs; counts are (logs,)."""

    def share(drawn: Floats) -> Floats:
        return _divided(((drawn @ wins) * drawn).sum(1), (drawn @ first) * (drawn @ second))

    return bootstrap.of_logs(share)


def cohen_d(bootstrap: LogBootstrap, higher: Floats, lower: Floats) -> Interval:
    """The difference of the means over the root of the mean of the two variances (of samples: n - 1)."""
    sums = [
        bootstrap.sums(np.stack([there, np.where(there, values, 0.0), np.where(there, values, 0.0) ** 2], axis=1))
        for values in (higher, lower)
        for there in [~np.isnan(values)]
    ]

    def effect(drawn: Floats) -> Floats:
        means, spreads = zip(*(_moments(drawn @ one) for one in sums), strict=True)
        return _divided(means[0] - means[1], np.sqrt((spreads[0] + spreads[1]) / 2))

    return bootstrap.of_logs(effect)


def _moments(sums: Floats) -> tuple[Floats, Floats]:
    """Mean and variance from the count, the sum and the sum of squares (D, 3)."""
    count, total, squares = sums.T
    mean = _divided(total, count)
    return mean, np.maximum(_divided(squares - count * mean**2, count - 1), 0.0)


def quantile(bootstrap: LogBootstrap, values: Floats, share: float) -> Interval:
    """The least value that at least this share of the values does not exceed."""
    there = ~np.isnan(values)
    order = np.argsort(values[there], kind="stable")
    ordered, log = values[there][order], bootstrap.log[there][order]

    def least(drawn: Floats) -> Floats:
        reached = np.cumsum(drawn[:, log], axis=1)
        found = (reached < share * reached[:, -1:] - 1e-9).sum(1)
        return np.where(reached[:, -1] > 0, ordered[np.minimum(found, len(ordered) - 1)], np.nan)

    if not len(ordered):
        return Interval(np.nan, np.nan, np.nan)
    return bootstrap.of_logs(least, most=QUANTILE_DRAWS, at_once=AT_ONCE)


def _divided(upper: Floats, lower: Floats) -> Floats:
    """NaN where there is nothing to divide by."""
    return np.asarray(np.divide(upper, lower, out=np.full(upper.shape, np.nan), where=lower > 0))
