"""Route re-ranking against hand-computed cases and a readable oracle."""

from __future__ import annotations

import numpy as np
import pytest
import shapely
from hypothesis import given
from hypothesis import strategies as st

from world4scorer.engine.selection.route import route_agreement, route_utility

AHEAD = np.column_stack([np.arange(31.0), np.zeros(31)])


def plan(aside: float, speed: float = 4.0) -> list[list[float]]:
    return [[speed * 0.5 * (i + 1), aside, 0.0] for i in range(8)]


def test_agreement_by_hand() -> None:
    """All poses a metre beside the route: exp(-1 / 4), whatever the weights."""
    assert route_agreement([plan(0.0), plan(1.0), plan(-2.0)], AHEAD) == pytest.approx(np.exp([0.0, -0.25, -0.5]))


def test_later_poses_weigh_more() -> None:
    """Only the last pose is off, by 8 m: its weight is 1.5 of 8."""
    late, early = np.array(plan(0.0)), np.array(plan(0.0))
    late[-1, 1], early[0, 1] = 8.0, 8.0
    assert route_agreement([late, early], AHEAD) == pytest.approx(np.exp([-8.0 * 1.5 / 8 / 4, -8.0 * 0.5 / 8 / 4]))


def test_standing_on_a_point_is_no_better_than_driving_between_two() -> None:
    standing, driving = np.zeros((8, 3)), np.array(plan(0.0, speed=1.0))
    assert route_agreement([standing, driving], AHEAD) == pytest.approx([1.0, 1.0])


def test_utility_by_hand() -> None:
    """Utilities 1, 3 (deviation 1), agreements 0.2, 0.6 (standardised -1, 1)."""
    assert route_utility([1.0, 3.0], [0.2, 0.6]) == pytest.approx([1.0 - 4.0, 3.0 + 4.0])
    assert route_utility([1.0, 3.0], [0.6, 0.2], weight=0.5) == pytest.approx([1.5, 2.5])


def test_a_pool_that_agrees_evenly_is_left_as_it_is() -> None:
    assert route_utility([1.0, 3.0], [0.5, 0.5015]).tolist() == [1.0, 3.0]


def test_bad_input() -> None:
    with pytest.raises(ValueError, match="no point"):
        route_agreement([plan(0.0)], np.zeros((0, 2)))
    with pytest.raises(ValueError, match="agreement"):
        route_utility([1.0, 2.0], [1.0])


@given(st.integers(0, 2**32 - 1), st.integers(1, 40))
def test_agreement_against_shapely(seed: int, points: int) -> None:
    rng = np.random.default_rng(seed)
    line = np.cumsum(rng.normal([1.0, 0.0], 0.3, (points, 2)), axis=0)
    plans = rng.normal(0, 12, (5, 8, 3))
    route = shapely.LineString(line) if points > 1 else shapely.Point(line[0])
    weights = np.linspace(0.5, 1.5, 8)
    expected = [
        np.exp(-sum(w * route.distance(shapely.Point(p[:2])) for w, p in zip(weights, one, strict=True)) / 8 / 4)
        for one in plans
    ]
    assert route_agreement(plans, line) == pytest.approx(expected, abs=1e-9)


def along_arc(speed: float, heading: float = 0.0, curvature: float = 0.0) -> np.ndarray:
    distance = speed * 0.5 * np.arange(1, 9)
    angle = heading + curvature * distance / 2
    chord = distance * np.sinc(curvature * distance / 2 / np.pi)
    return np.column_stack([chord * np.cos(angle), chord * np.sin(angle), heading + curvature * distance])


def test_at_equal_distances_by_hand() -> None:
    """After each distance a plan is compared with the best that leads as far; a standing one has left nothing."""
    plans = [plan(0.0, 4.0), plan(2.0, 4.0), plan(1.0, 2.0), np.zeros((8, 3))]
    found = route_agreement(plans, AHEAD, "equal-distance")
    assert found == pytest.approx([1.0, np.exp(-0.5), np.exp(-0.25), 1.0])


@given(st.floats(3.0, 8.0), st.floats(0.8, 3.0), st.floats(-0.3, 0.3))
def test_speed_makes_no_difference_at_equal_distances(fast: float, slow: float, heading: float) -> None:
    """Of straight plans in the same direction the slower one does not agree better than by the route's near part."""
    plans = [along_arc(fast, 0.0), along_arc(slow, 0.0), along_arc(fast, heading), np.zeros((8, 3))]
    found = route_agreement(plans, AHEAD, "equal-distance")
    assert found[:2] == pytest.approx([1.0, 1.0])
    assert found[3] == 1.0 and found[2] <= 1.0


def test_the_published_rule_prefers_the_slow_plan_of_the_same_path() -> None:
    """The reason why it stops the car: at equal times a slow plan has had less way to leave the route."""
    fast, slow = along_arc(6.0, 0.05), along_arc(1.0, 0.05)
    on_route = along_arc(6.0)
    published = route_agreement([fast, slow, on_route], AHEAD)
    assert published[1] > published[0] + 0.05
    utility = [1.0, 0.9, 0.2]
    assert np.argmax(route_utility(utility[:2], published[:2])) == 1
    pair = route_agreement([fast, slow], AHEAD, "equal-distance")
    assert np.argmax(route_utility(utility[:2], pair, rule="equal-distance")) == 0


def test_centimetres_do_not_decide_at_equal_distances() -> None:
    near, on_route = along_arc(4.0, 0.005), along_arc(4.0)
    plans, utility = [near, on_route, along_arc(4.0, -0.005)], [1.0, 0.7, 0.6]
    assert np.argmax(route_utility(utility, route_agreement(plans, AHEAD))) == 1
    agreement = route_agreement(plans, AHEAD, "equal-distance")
    assert np.argmax(route_utility(utility, agreement, rule="equal-distance")) == 0


def test_plans_that_leave_the_route_lose_by_either_rule() -> None:
    plans, utility = [along_arc(6.0, 0.3), along_arc(6.0), np.zeros((8, 3))], [1.0, 0.8, 0.0]
    for rule in ("published", "equal-distance"):
        agreement = route_agreement(plans, AHEAD, rule)
        assert np.argmax(route_utility(utility, agreement, rule=rule)) == 1
    with pytest.raises(ValueError, match=r"route rule 'mine': choose from published, equal-distance"):
        route_agreement(plans, AHEAD, "mine")  # type: ignore[arg-type]
