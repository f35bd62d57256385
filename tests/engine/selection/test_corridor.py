"""The corridor: what leaving the route costs, and that an ego slows down for a turn it could not take."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from shapely import LineString, Point

from world4scorer.engine.selection.corridor import CORRIDOR_HALF_WIDTH, corridor_utility

STRAIGHT = np.column_stack([np.arange(0.0, 81.0), np.zeros(81)])
TURN = np.concatenate([STRAIGHT[:21], np.column_stack([np.full(60, 20.0), -np.arange(1.0, 61.0)])])
"""20 m ahead, then to the right."""


def plan(speed, left=0.0):
    """A plan straight ahead [m/s], shifted to the left [m]."""
    poses = np.zeros((8, 3))
    poses[:, 0], poses[:, 1] = speed * np.arange(1, 9) / 2, left
    return poses


def test_nothing_changes_inside_the_corridor():
    plans = [plan(0.0), plan(10.0), plan(10.0, 1.9), plan(15.0, -1.9)]
    assert corridor_utility([1.0, 2.0, 3.0, 4.0], plans, STRAIGHT).tolist() == [1.0, 2.0, 3.0, 4.0]


def test_metres_outside_it_cost_utility():
    found = corridor_utility([0.0, 0.0], [plan(10.0, 3.0), plan(10.0, -6.0)], STRAIGHT, 0.5)
    assert found == pytest.approx([-0.5, -2.0])


def test_the_ego_slows_down_for_a_turn():
    straight_on, braking, standing = plan(12.0), plan(4.0), plan(0.0)
    utility = [2.4, 2.2, 1.9]
    found = corridor_utility(utility, [straight_on, braking, standing], TURN)
    assert np.argmax(found) == 1 and found[1:].tolist() == utility[1:]


def test_passing_a_stopped_vehicle_costs_less_than_standing_behind_it():
    passing = plan(8.0)
    passing[2:6, 1] = 3.5
    assert np.argmax(corridor_utility([2.4, 1.9], [passing, plan(0.0)], STRAIGHT)) == 0


def test_an_ego_beside_the_route_returns():
    beside = STRAIGHT + np.array([0.0, 6.0])
    returning = plan(8.0)
    returning[:, 1] = np.linspace(0.0, 6.0, 8)
    assert np.argmax(corridor_utility([2.4, 2.4, 2.0], [plan(8.0), plan(0.0), returning], beside)) == 2


def test_past_the_end_of_the_route_nothing_is_left():
    assert corridor_utility([1.0], [plan(20.0, 0.0)], STRAIGHT[:11]).tolist() == [1.0]
    assert corridor_utility([1.0], [plan(20.0, 9.0)], STRAIGHT[:1]).tolist() == [1.0]


@given(st.lists(st.tuples(st.floats(-20, 19), st.floats(-30, 40)), min_size=8, max_size=8), st.floats(0, 2))
def test_it_is_the_mean_distance_beyond_the_corridor(places, weight):
    poses = np.column_stack([np.array(places), np.zeros(8)])
    poses[:, 1] = np.maximum(poses[:, 1], -59.0)  # ahead of the end
    away = np.array([LineString(TURN).distance(Point(*place)) for place in poses[:, :2]])
    expected = 2.0 - weight * np.maximum(away - CORRIDOR_HALF_WIDTH, 0.0).mean()
    assert corridor_utility([2.0], [poses], TURN, weight) == pytest.approx([expected], abs=1e-6)


def test_a_negative_weight_is_refused():
    with pytest.raises(ValueError, match="weight"):
        corridor_utility([1.0], [plan(1.0)], STRAIGHT, -1.0)
