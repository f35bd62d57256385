from __future__ import annotations

import math

import pytest

from tests.support.route_records import record
from world4scorer.evaluation.leaderboard.efficiency import efficiency, route_efficiency, undefined_percentages
from world4scorer.evaluation.leaderboard.infractions import share_outside, slower_than_others


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


def test_speeds_that_are_no_numbers_are_left_out_and_counted():
    """As the leaderboard writes them where it divided by zero."""
    found = drive("1", 50, math.nan, math.inf, -math.inf, 70)
    assert route_efficiency(found) == 60 and undefined_percentages(found) == 3
    assert undefined_percentages(drive("2", 50)) == 0 and math.isnan(route_efficiency(drive("3", math.nan)))
    huge = record("4", min_speed_infractions=["Average speed is 1e999% of the surrounding traffic's one"])
    assert undefined_percentages(huge) == 1
    with pytest.raises(ValueError, match="not from 0 % to 100 %"):
        share_outside("outside its route lanes for about 3 meters (nan% of the completed route)")
