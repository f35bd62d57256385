"""Driving efficiency: how fast the ego drives, compared with the traffic around it.

At up to 20 checkpoints of a route the leaderboard logs the ego's mean speed in percent of the surrounding traffic's.
The mean of a route's percentages is its efficiency; the benchmark's is the mean over the routes that have any. Values
above 1000 % are left out: there the traffic stood still. So are those that are no finite numbers.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Final

import numpy as np

from world4scorer.evaluation.leaderboard.infractions import Infraction, percentage
from world4scorer.evaluation.leaderboard.records import RouteRecord

MOST_PERCENTAGE: Final = 1000.0
"""Percentages above this do not count."""


def speed_percentages(record: RouteRecord) -> list[float]:
    """The percentages of a route that count."""
    return [value for value in _logged(record) if math.isfinite(value) and value <= MOST_PERCENTAGE]


def undefined_percentages(record: RouteRecord) -> int:
    """How many percentages of a route are NaN or infinite."""
    return sum(not math.isfinite(value) for value in _logged(record))


def _logged(record: RouteRecord) -> list[float]:
    try:
        return [percentage(message) for message in record.messages(Infraction.SLOW)]
    except ValueError as error:
        raise ValueError(f"{record.route_id}: {error}") from error


def route_efficiency(record: RouteRecord) -> float:
    """Mean percentage of a route; NaN if it has none."""
    found = speed_percentages(record)
    return float(np.mean(found)) if found else float("nan")


def efficiency(records: Iterable[RouteRecord]) -> float:
    """Mean over the routes that have any [%]; NaN if none has."""
    found = np.array([route_efficiency(record) for record in records])
    known = found[~np.isnan(found)]
    return float(known.mean()) if len(known) else float("nan")
