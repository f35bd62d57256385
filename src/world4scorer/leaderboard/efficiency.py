"""Driving efficiency: how fast the ego drives, compared with the traffic around it.

At up to 20 checkpoints of a route the leaderboard logs the ego's mean speed in percent of the surrounding traffic's.
The mean of a route's percentages is its efficiency; the benchmark's is the mean over the routes that have any. Values
above 1000 % are left out: there the traffic stood still.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import numpy as np

from world4scorer.leaderboard.infractions import Infraction, percentage
from world4scorer.leaderboard.records import RouteRecord

MOST: Final = 1000.0
"""%"""


def speed_percentages(record: RouteRecord) -> list[float]:
    """The percentages of a route that count."""
    try:
        found = [percentage(message) for message in record.messages(Infraction.SLOW)]
    except ValueError as error:
        raise ValueError(f"{record.route_id}: {error}") from error
    return [value for value in found if value <= MOST]


def route_efficiency(record: RouteRecord) -> float:
    """Mean percentage of a route; NaN if it has none."""
    found = speed_percentages(record)
    return float(np.mean(found)) if found else float("nan")


def efficiency(records: Iterable[RouteRecord]) -> float:
    """Mean over the routes that have any [%]; NaN if none has."""
    found = np.array([route_efficiency(record) for record in records])
    known = found[~np.isnan(found)]
    return float(known.mean()) if len(known) else float("nan")
