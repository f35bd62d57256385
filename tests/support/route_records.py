"""Records of routes for tests."""

from __future__ import annotations

from world4scorer.evaluation.leaderboard.records import RouteRecord, Scores
from world4scorer.evaluation.leaderboard.scores import route_scores


def record(
    route="1711", scenario="ParkingCutIn_1", status="Perfect", completion=100.0, length=200.0, name=None, **infractions
):
    """A route's record, scored by the formula; infractions as lists of messages by name."""
    listed = {kind: tuple(messages) for kind, messages in infractions.items()}
    return RouteRecord(
        route_id=f"RouteScenario_{route}_rep0",
        status=status,
        infractions=listed,
        scores=route_scores(completion, listed),
        scenario_name=scenario,
        weather_id=3,
        save_name=name,
        route_length=length,
        duration_game=20.0,
        duration_system=90.0,
    )


def crashed(route="1711", scenario="ParkingCutIn_1", status="Failed - Simulation crashed"):
    """A record of a route that nobody drove to an end."""
    return RouteRecord(f"RouteScenario_{route}_rep0", status, {}, Scores(0.0, 1.0, 0.0), scenario_name=scenario)
