"""Intervals as findings keep them: plain values, and nothing where nothing could be measured."""

from __future__ import annotations

import math
from typing import Final

from world4scorer.evaluation.bootstrap import Interval

NOTHING: Final = "-"


def plain(interval: Interval | None) -> dict[str, float] | None:
    """Value, low and high by name; None where there are none."""
    return None if interval is None or math.isnan(interval.value) else interval._asdict()


def cell(interval: Interval | None, factor: float = 1.0, digits: int = 1, signed: bool = False) -> str:
    """An interval in a table."""
    if interval is None or math.isnan(interval.value):
        return NOTHING
    return interval.times(factor).text(digits, signed)
