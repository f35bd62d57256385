from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from world4scorer.studies.shared.bank_states import Outcome, outcome_of
from world4scorer.studies.state_geometry.figure import pick_scenes, two_components
from world4scorer.studies.state_geometry.neighbours import agreement, agreement_by_chance, nearest, shuffled_agreement


def slow_agreement(vectors, group, count):
    """One thing at a time."""
    shares = []
    for i, own in enumerate(vectors):
        others = sorted((float(np.linalg.norm(own - other)), j) for j, other in enumerate(vectors) if j != i)
        shares.append(np.mean([group[j] == group[i] for _, j in others[:count]]))
    return np.mean(shares)


@given(st.integers(0, 1000), st.integers(1, 5))
@settings(max_examples=30, deadline=None)
def test_against_one_at_a_time(seed, count):
    rng = np.random.default_rng(seed)
    vectors, group = rng.integers(-2, 3, (3, 9, 2)).astype(float), rng.integers(0, 3, (3, 9))  # ties are common
    found = agreement(nearest(vectors, count), group)
    expected = [slow_agreement(some, own, count) for some, own in zip(vectors, group, strict=True)]
    np.testing.assert_allclose(found, expected)


def test_a_line_by_hand():
    """0 1 . 5 6 7: the groups split where the line does, except for the last."""
    near = nearest(np.array([0.0, 1.0, 5.0, 6.0, 7.0])[None, :, None], 1)
    assert near[0, :, 0].tolist() == [1, 0, 3, 2, 3]
    assert agreement(near, [[0, 0, 1, 1, 0]]) == pytest.approx(4 / 5)
    with pytest.raises(ValueError, match="plans: 5; more than 5"):
        nearest(np.zeros((1, 5, 2)), 5)


def test_chance_is_what_shuffling_gives():
    rng = np.random.default_rng(1)
    vectors = rng.normal(size=(4, 12, 3))
    group = np.array([[0] * 6 + [1] * 4 + [2] * 2, [0] * 12, [0] * 11 + [1], list(range(12))])
    chance = agreement_by_chance(group)
    # n_g (n_g - 1) of n (n - 1) pairs are of one group
    np.testing.assert_allclose(chance, [(30 + 12 + 2) / 132, 1, 110 / 132, 0])
    shuffled = shuffled_agreement(nearest(vectors, 5), group, 4000, 0)
    error = shuffled.std(0) / np.sqrt(len(shuffled))
    assert (np.abs(shuffled.mean(0) - chance) <= 4 * error + 1e-12).all()


def test_leaving_the_road_counts_more_than_a_collision():
    labels = np.ones((4, 7))
    labels[1, 0], labels[2, 1], labels[3, :2] = 0.5, 0, 0
    assert outcome_of(labels).tolist() == [Outcome.SAFE, Outcome.COLLISION, Outcome.OFF_ROAD, Outcome.OFF_ROAD]


def test_scenes_of_the_figure():
    groups = np.array([[4, 4, 4], [8, 3, 1], [6, 5, 1], [6, 3, 3], [10, 2, 0]])
    assert pick_scenes(groups, ("a", "a", "b", "a", "c")) == [0, 2, 4]
    at, share = two_components([[2, 0, 1], [-2, 0, 1], [0, 1, 1], [0, -1, 1]])
    np.testing.assert_allclose(np.abs(at), [[2, 0], [2, 0], [0, 1], [0, 1]], atol=1e-12)
    assert share == pytest.approx(1)
