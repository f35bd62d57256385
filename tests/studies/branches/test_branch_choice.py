"""Which scenes and plans are branched."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from world4scorer.engine.scene.indices import STEPS, State
from world4scorer.studies.branches.choice import choose_plans, spread_scenes
from world4scorer.studies.branches.ego_trajectory import BRANCH_STEPS, rollout_trajectories


def test_scenes_are_spread_over_logs_and_their_time():
    tokens = {"a": list("abcdefgh"), "b": ["i"], "c": list("jklm")}
    assert spread_scenes(tokens, 5) == {"a": ["c", "g"], "b": ["i"], "c": ["k", "m"]}
    assert spread_scenes(tokens, 1) == {"a": ["e"]}
    assert spread_scenes(tokens, 99) == tokens
    with pytest.raises(ValueError, match="at least 1"):
        spread_scenes(tokens, 0)


@given(st.lists(st.integers(1, 30), min_size=1, max_size=6), st.integers(1, 120))
def test_as_many_scenes_as_asked_for_or_all(sizes, count):
    tokens = {f"log{n}": [f"{n}-{k}" for k in range(size)] for n, size in enumerate(sizes)}
    chosen = spread_scenes(tokens, count)
    assert sum(map(len, chosen.values())) == min(count, sum(sizes))
    for name, some in chosen.items():
        assert len(set(some)) == len(some) and sorted(some, key=tokens[name].index) == some
    open_logs = [len(chosen.get(name, ())) for name in tokens if len(chosen.get(name, ())) < len(tokens[name])]
    assert not open_logs or max(len(some) for some in chosen.values()) <= min(open_logs) + len(sizes)


def test_plans_are_taken_from_far_apart():
    """Ends of straight ways along x at 0, 1, 4, 9, 10 m; the driver went to 3."""
    ends = np.array([0.0, 1.0, 4.0, 9.0, 10.0])
    positions = np.zeros((5, 1, 2))
    positions[:, 0, 0] = ends
    driven = np.array([[3.0, 0.0]])
    road = np.ones(5, np.bool_)
    # First its own choice, 1 m; then 10 (7 from the driver); 0, 4 and 9 are all 1 away: the first of them.
    assert choose_plans(positions, driven, 1, 5, road).tolist() == [1, 4, 0, 2, 3]
    assert choose_plans(positions, driven, 4, 2, road).tolist() == [4, 0]
    with pytest.raises(ValueError, match="pools have 5"):
        choose_plans(positions, driven, 0, 6, road)


def test_three_quarters_of_the_plans_keep_to_the_road():
    positions = np.zeros((8, 1, 2))
    positions[:, 0, 0] = [0.0, 1.0, 2.0, 3.0, 100.0, 90.0, 70.0, 40.0]
    road = np.arange(8) < 4
    chosen = choose_plans(positions, np.array([[0.0, 0.0]]), 1, 4, road)
    assert chosen.tolist() == [1, 3, 2, 4]  # plan 0 is what was driven; the last one is the furthest off the road
    scarce = choose_plans(positions, np.array([[0.0, 0.0]]), 1, 4, np.arange(8) < 2)
    assert scarce.tolist() == [1, 0, 4, 7]  # two are on the road; then from far apart
    assert choose_plans(positions, np.array([[0.0, 0.0]]), 4, 4, road).tolist() == [4, 3, 1, 2]


def test_the_fifth_second_goes_straight_on():
    states = np.zeros((1, STEPS, len(State)))
    states[0, -1, [State.X, State.Y, State.HEADING, State.VELOCITY_X, State.ACCELERATION_X]] = 5, 7, np.pi / 2, 3, 1
    (way,) = rollout_trajectories(states)
    assert way.poses.shape == (BRANCH_STEPS, 3)
    np.testing.assert_allclose(way.poses[STEPS - 2], [5, 7, np.pi / 2])
    np.testing.assert_allclose(way.poses[-1], [5, 10, np.pi / 2], atol=1e-12)
    assert (way.velocities[STEPS - 2 :] == [3, 0]).all() and (way.accelerations[STEPS - 1 :] == 0).all()
