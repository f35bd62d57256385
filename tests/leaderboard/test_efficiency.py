from __future__ import annotations

import math

import pytest

from route_records import record
from world4scorer.leaderboard.efficiency import efficiency, route_efficiency
from world4scorer.leaderboard.infractions import slower_than_others


def drive(route, *percentages):
    return record(route, min_speed_infractions=[slower_than_others(value) for value in percentages])


def test_by_hand():
    """Routes count equally, however many checkpoints they have; where the traffic stands still none counts."""
    first, second = drive("1", 50, 100, 1000.01), drive("2", 1000)
    assert route_efficiency(first) == 75 and route_efficiency(second) == 1000
    assert efficiency([first, second, record("3"), drive("4", 5000)]) == pytest.approx(537.5)
    assert math.isnan(route_efficiency(record("3"))) and math.isnan(efficiency([record("3")]))


def test_a_message_without_a_number():
    with pytest.raises(ValueError, match="RouteScenario_9_rep0: message 'slow'"):
        route_efficiency(record("9", min_speed_infractions=["slow"]))
