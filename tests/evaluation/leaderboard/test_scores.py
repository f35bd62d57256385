from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.route_records import crashed, record
from world4scorer.evaluation.leaderboard.infractions import Infraction, outside_lanes, slower_than_others
from world4scorer.evaluation.leaderboard.records import RouteRecord, Scores
from world4scorer.evaluation.leaderboard.scores import (
    driving_score,
    is_success,
    penalty,
    route_scores,
    scored_anew,
    scored_otherwise,
    success_rate,
)


@pytest.mark.parametrize(
    ("infractions", "factor"),
    [
        ({}, 1.0),
        ({"collisions_pedestrian": ["a"]}, 0.5),
        ({"collisions_vehicle": ["a"]}, 0.6),
        ({"collisions_layout": ["a"]}, 0.65),
        ({"red_light": ["a"]}, 0.7),
        ({"stop_infraction": ["a"]}, 0.8),
        ({"scenario_timeouts": ["a"]}, 0.7),
        ({"yield_emergency_vehicle_infractions": ["a"]}, 0.7),
        ({"outside_route_lanes": [outside_lanes(10, 0.25)]}, 0.75),
        ({"min_speed_infractions": [slower_than_others(40)] * 3}, 1.0),
        ({"route_dev": ["a"], "vehicle_blocked": ["b"], "route_timeout": ["c"]}, 1.0),
        ({"collisions_vehicle": ["a", "b"], "red_light": ["c"]}, 0.6 * 0.6 * 0.7),
    ],
)
def test_penalties(infractions, factor):
    assert penalty(infractions) == pytest.approx(factor)


def test_a_route_by_hand():
    """80 % of the way, a vehicle and a sign, a tenth of it outside: 80 x 0.6 x 0.8 x 0.9."""
    hit = {"collisions_vehicle": ["a"], "stop_infraction": ["b"], "outside_route_lanes": [outside_lanes(16, 0.1)]}
    scores = route_scores(80.0, hit)
    assert scores.penalty == pytest.approx(0.432) and scores.composed == pytest.approx(34.56)
    assert route_scores(80.0, hit, outside=0.5).composed == pytest.approx(80 * 0.6 * 0.8 * 0.5)
    with pytest.raises(ValueError, match="outside 2"):
        route_scores(80.0, hit, outside=2)
    with pytest.raises(ValueError, match="completion 101"):
        route_scores(101.0, {})


KINDS = [kind for kind in Infraction if kind is not Infraction.OUTSIDE_LANES]


@settings(deadline=None)
@given(
    st.dictionaries(st.sampled_from(KINDS), st.lists(st.just("message"), max_size=4)),
    st.sampled_from(KINDS),
    st.floats(0, 100),
)
def test_another_infraction_never_helps(infractions, kind, completion):
    worse = infractions | {kind: [*infractions.get(kind, []), "again"]}
    assert 0 < penalty(worse) <= penalty(infractions) <= 1
    assert route_scores(completion, worse).composed <= completion


def test_success():
    assert is_success(record())
    assert is_success(record(status="Completed", min_speed_infractions=[slower_than_others(30)]))
    assert not is_success(record(status="Completed", red_light=["a"]))
    assert not is_success(record(status="Completed", outside_route_lanes=[outside_lanes(1, 0.01)]))
    assert not is_success(record(status="Completed", something_new=["a"]))
    assert not is_success(record(status="Failed - Agent got blocked"))
    assert not is_success(crashed())


def test_a_set_by_hand():
    """100, 60 and 50 x 0.7 = 35 of four routes, one of which nobody drove."""
    records = [
        record("1"),
        record("2", status="Completed", collisions_vehicle=["a"]),
        record("3", status="Failed - Agent timed out", completion=50.0, scenario_timeouts=["a"]),
    ]
    assert driving_score(records, routes=4) == pytest.approx(195 / 4)
    assert driving_score(records) == pytest.approx(195 / 220)
    assert success_rate(records, routes=4) == 0.25 and success_rate(records) == 1 / 220
    assert driving_score([], routes=4) == success_rate([], routes=4) == 0
    without = RouteRecord("4", "Failed", {}, None)
    assert driving_score([*records, without], routes=4) == driving_score(records, routes=4)


def test_sets_that_cannot_be():
    with pytest.raises(ValueError, match="route 1: 2 records; merge them first"):
        driving_score([record("1"), record("1")])
    with pytest.raises(ValueError, match="routes: 1; there are 2"):
        success_rate([record("1"), record("2")], routes=1)
    with pytest.raises(ValueError, match="routes: 0"):
        driving_score([], routes=0)


def test_scores_of_another_formula_are_noticed():
    """CARLA's own leaderboard also punishes slowness."""
    slow = record(min_speed_infractions=[slower_than_others(50)])
    assert not scored_otherwise(slow) and not scored_otherwise(crashed())
    punished = replace(slow, scores=Scores(100.0, 0.85, 85.0))
    assert scored_otherwise(punished) and scored_anew(punished) == slow
    broken = record(red_light=["a"])
    broken = replace(broken, infractions={"outside_route_lanes": ("far",)})
    with pytest.raises(ValueError, match="RouteScenario_1711_rep0: message 'far'"):
        scored_anew(broken)
