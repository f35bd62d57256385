"""What a route is worth, and what a set of routes is: Driving Score and Success Rate.

A route's score is its completion in percent times a factor for every infraction. A route that was not driven counts 0,
so both sums are divided by the number of routes in the set.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import prod
from typing import Final

from world4scorer.evaluation.leaderboard.infractions import Infraction, share_outside
from world4scorer.evaluation.leaderboard.records import COMPLETED, PERFECT, RouteRecord, Scores

ROUTES: Final = 220
"""In Bench2Drive's set."""
PENALTIES: Final[Mapping[str, float]] = {
    Infraction.PEDESTRIAN_COLLISION: 0.5,
    Infraction.VEHICLE_COLLISION: 0.6,
    Infraction.LAYOUT_COLLISION: 0.65,
    Infraction.RED_LIGHT: 0.7,
    Infraction.STOP_SIGN: 0.8,
    Infraction.SCENARIO_TIMEOUT: 0.7,
    Infraction.EMERGENCY_VEHICLE: 0.7,
}
"""Factor of each infraction of a kind. Leaving the lanes has one of its own, 1 - share. Slowness is only logged. A
route that is left, blocked or out of time ends there, which its completion tells."""
WITHOUT_PENALTY: Final = (Infraction.SLOW,)
"""Messages under these names are no failure."""
ROUNDED: Final = 0.01
"""Recorded scores are rounded, the parts of messages more coarsely; in percent of a route."""


def penalty(infractions: Mapping[str, Sequence[str]], outside: float | None = None) -> float:
    """Product of the factors of all infractions, 0 to 1.

    Args:
        infractions: Messages by name.
        outside: Share of the distance driven outside the route's lanes, 0 to 1; from the messages unless given.
    """
    if outside is not None and not 0 <= outside <= 1:
        raise ValueError(f"outside {outside}: a share of the distance is from 0 to 1")
    known = prod(factor ** len(infractions.get(kind, ())) for kind, factor in PENALTIES.items())
    shares = [share_outside(message) for message in infractions.get(Infraction.OUTSIDE_LANES, ())]
    return known * prod(1 - share for share in (shares if outside is None else [outside]))


def route_scores(completion: float, infractions: Mapping[str, Sequence[str]], outside: float | None = None) -> Scores:
    """Scores of a route by its completion [%] and infractions; `outside` as for `penalty`."""
    factor = penalty(infractions, outside)
    return Scores(completion, factor, completion * factor)


def scored_anew(record: RouteRecord) -> RouteRecord:
    """The record with scores by this benchmark's formula; CARLA's own leaderboard also punishes slowness."""
    if record.scores is None:
        return record
    try:
        return replace(record, scores=route_scores(record.scores.completion, record.infractions))
    except ValueError as error:
        raise ValueError(f"{record.route_id}: {error}") from error


def scored_otherwise(record: RouteRecord) -> bool:
    """Whether the recorded score is not what this benchmark's formula gives."""
    anew = scored_anew(record).scores
    if anew is None or record.scores is None:
        return False
    # Messages give the share outside the lanes to a hundredth of a percent.
    return abs(anew.composed - record.scores.composed) > ROUNDED


def is_success(record: RouteRecord) -> bool:
    """Whether the end was reached without any infraction but slowness."""
    if record.status not in (COMPLETED, PERFECT):
        return False
    return not any(messages for name, messages in record.infractions.items() if name not in WITHOUT_PENALTY)


def driving_score(records: Sequence[RouteRecord], routes: int = ROUTES) -> float:
    """Sum of the routes' scores over the number of routes [%]; a missing route, or score, counts 0."""
    _check(records, routes)
    return sum(record.scores.composed for record in records if record.scores is not None) / routes


def success_rate(records: Sequence[RouteRecord], routes: int = ROUTES) -> float:
    """Share of the routes that are successes, 0 to 1."""
    _check(records, routes)
    return sum(map(is_success, records)) / routes


def _check(records: Sequence[RouteRecord], routes: int) -> None:
    counts = Counter(record.route for record in records)
    twice = [route for route, count in counts.items() if count > 1]
    if twice:
        raise ValueError(f"route {twice[0]}: {counts[twice[0]]} records; merge them first")
    if routes < max(1, len(counts)):
        raise ValueError(f"routes: {routes}; there are {len(counts)} records of different routes")
