"""Intervals as findings keep and show them: where nothing could be measured there is no number."""

from __future__ import annotations

import math

from world4scorer.evaluation.scores.bootstrap import Interval


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
