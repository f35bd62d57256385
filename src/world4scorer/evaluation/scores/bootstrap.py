"""Intervals of means over frames when logs are drawn with replacement: frames of a log are not independent.

>>> bootstrap = LogBootstrap(log_names, draws=100_000)
>>> bootstrap.mean(scores)                  # value, low, high
>>> bootstrap.mean(scores - other_scores)   # paired by frame
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

COVERAGE: Final = 0.95
LEAST_LOGS: Final = 2
"""A single log, drawn again and again, would pretend to certainty."""
NO_VALUE: Final = "none"
CHUNK: Final = 20_000
"""Draws at a time."""


class Interval(NamedTuple):
    """A number with its 95 % interval; low and high are NaN where it is unknown."""

    value: float
    low: float
    high: float

    def times(self, factor: float) -> Interval:
        """The same in another unit."""
        return Interval(*(factor * one for one in self))

    def text(self, digits: int = 1, signed: bool = False) -> str:
        """`81.2 [79.0, 83.1]`; without an interval `81.2`, without a value `none`."""
        if math.isnan(self.value):
            return NO_VALUE
        form = f"{'+' if signed else ''}.{digits}f"
        alone = f"{self.value:{form}}"
        return alone if math.isnan(self.low) else f"{alone} [{self.low:{form}}, {self.high:{form}}]"


class LogBootstrap:
    """Draws of whole logs, the same for every quantity asked for. With a single log there are no intervals."""

    def __init__(self, log_names: Sequence[str], draws: int = 10_000, seed: int = 0) -> None:
        if draws < 1:
            raise ValueError(f"draws: {draws}; at least 1")
        names, self.log = np.unique(np.asarray(log_names), return_inverse=True)
        self.logs, self.draws, self.seed = len(names), draws, seed

    @cached_property
    def _drawn(self) -> NDArray[np.int32]:
        """(draws, logs) how often each log is drawn."""
        rng = np.random.default_rng(self.seed)
        shares = np.full(self.logs, 1 / self.logs)
        return rng.multinomial(self.logs, shares, self.draws).astype(np.int32)

    def mean(self, values: Any) -> Interval:
        """The mean over frames of values (S,); frames with NaN do not count."""
        known = np.asarray(values, np.float64)
        there = ~np.isnan(known)
        return self.ratio(np.where(there, known, 0.0), there)

    def ratio(self, upper: Any, lower: Any) -> Interval:
        """The sum of `upper` (S,) over that of `lower` (S,); draws without any `lower` do not count, NaN if all are."""
        return self._interval(*self._ratios(upper, lower))

    def ratio_change(self, after: tuple[Any, Any], before: tuple[Any, Any]) -> Interval:
        """How much a ratio (`upper`, `lower`) grows from one set of numbers to another of the same frames."""
        (new, new_drawn), (old, old_drawn) = self._ratios(*after), self._ratios(*before)
        return self._interval(new - old, new_drawn - old_drawn)

    def sums(self, values: Any) -> Floats:
        """The sum of values (S, ...) over the frames of each log (logs, ...)."""
        known = np.asarray(values, np.float64)
        found = np.zeros((self.logs, *known.shape[1:]))
        np.add.at(found, self.log, known)
        return found

    def of_logs(self, statistic: Callable[[Floats], Floats], most: int = 0, at_once: int = CHUNK) -> Interval:
        """Any statistic of how often each log counts: (D, logs) to (D,). The other arguments are as below."""
        return self.each_of_logs(lambda drawn: statistic(drawn)[:, None], most, at_once)[0]

    def each_of_logs(
        self, statistics: Callable[[Floats], Floats], most: int = 0, at_once: int = CHUNK
    ) -> tuple[Interval, ...]:
        """Several statistics at once: (D, logs) to (D, K).

        Where they are slow, at most `most` of the draws are made; they are asked for `at_once` of them at a time.
        """
        drawn = self._drawn[: most or None].astype(np.float64)
        found = np.concatenate([statistics(drawn[i : i + at_once]) for i in range(0, len(drawn), at_once)])
        values = statistics(np.ones((1, self.logs)))[0]
        return tuple(self._interval(float(value), column) for value, column in zip(values, found.T, strict=True))

    def _ratios(self, upper: Any, lower: Any) -> tuple[float, Floats]:
        """The ratio, and that of every draw (draws,); NaN without any `lower`."""
        above, below = (np.bincount(self.log, np.asarray(part, np.float64), self.logs) for part in (upper, lower))
        parts = (self._drawn[start : start + CHUNK] for start in range(0, self.draws, CHUNK))
        sums = np.concatenate([np.stack([part @ above, part @ below]) for part in parts], axis=1)
        drawn = np.full(self.draws, np.nan)
        np.divide(sums[0], sums[1], out=drawn, where=sums[1] > 0)
        return (float(above.sum() / below.sum()) if below.sum() else np.nan), drawn

    def _interval(self, value: float, drawn: Floats) -> Interval:
        known = drawn[~np.isnan(drawn)]
        if not len(known):
            return Interval(np.nan, np.nan, np.nan)
        if self.logs < LEAST_LOGS:
            return Interval(value, np.nan, np.nan)
        low, high = np.quantile(known, ((1 - COVERAGE) / 2, (1 + COVERAGE) / 2))
        return Interval(value, float(low), float(high))


def plain(interval: Interval) -> dict[str, float | None] | None:
    """Value, low and high, None for each that is not known; None where there was nothing to measure."""
    if math.isnan(interval.value):
        return None
    return {name: None if math.isnan(one) else one for name, one in interval._asdict().items()}


def cell(interval: Interval, factor: float = 100, digits: int = 1, signed: bool = False) -> str:
    """`81.2 [79.0, 83.1]`, in percent or points unless another factor is given; `none` where there is no value."""
    return interval.times(factor).text(digits, signed)


def verdict(change: Interval) -> str:
    """What the interval of a change allows to say."""
    return "raises" if change.low > 0 else "lowers" if change.high < 0 else "does not clearly change"


def one_minus(interval: Interval) -> Interval:
    """What is missing to 1: of a share its complement, of a ratio the reduction."""
    return Interval(1 - interval.value, 1 - interval.high, 1 - interval.low)
