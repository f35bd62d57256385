"""Measures of predicted futures against loops that anybody can read."""

from __future__ import annotations

import numpy as np
import pytest

from world4scorer.studies.shared.future_match import (
    chance,
    cosines,
    directions,
    pairs_in_order,
    retrieval,
    unit,
    within,
    within_cosine,
    within_errors,
)


def test_retrieval_of_a_case_by_hand():
    """Prediction 0 finds its own first, 1 ties with another, 2 finds it last."""
    similarity = np.array([[[0.9, 0.1, 0.2], [0.5, 0.5, 0.1], [0.8, 0.7, 0.6]]])
    found = retrieval(similarity)
    np.testing.assert_allclose(found.rank, [[1, 1.5, 3]])
    np.testing.assert_allclose(found.first, [[1, 0.5, 0]])
    np.testing.assert_allclose(found.reciprocal, [[1, 1 / 1.5, 1 / 3]])
    np.testing.assert_allclose(found.pairwise, [[1, 0.75, 0]])


def test_retrieval_against_sorting():
    rng = np.random.default_rng(0)
    predicted, true = rng.normal(size=(2, 7, 5, 4))
    similarity = cosines(predicted, true)
    found = retrieval(similarity)
    for s in range(7):
        for i in range(5):
            for j in range(5):
                expected = predicted[s, i] @ true[s, j] / np.linalg.norm(predicted[s, i]) / np.linalg.norm(true[s, j])
                assert similarity[s, i, j] == pytest.approx(expected)
            rank = 1 + sorted(similarity[s, i], reverse=True).index(similarity[s, i, i])
            assert found.rank[s, i] == rank and found.pairwise[s, i] == pytest.approx((5 - rank) / 4)


def test_guessing():
    """The mean over all orders of three is what is called chance."""
    found = chance(3)
    assert [float(one) for one in found] == pytest.approx([1 / 3, 2, (1 + 1 / 2 + 1 / 3) / 3, 0.5])
    everything_alike = retrieval(np.ones((1, 3, 3)))
    assert everything_alike.first == pytest.approx(np.full((1, 3), 1 / 3)) and (everything_alike.pairwise == 0.5).all()


def test_variation_within_scenes():
    rng = np.random.default_rng(1)
    true = rng.normal(size=(3, 4, 6))
    errors, variation = within_errors(true, true)
    assert errors == pytest.approx(np.zeros(3), abs=1e-20) and within_cosine(true, true) == pytest.approx(
        np.ones((3, 4))
    )
    # A constant prediction explains nothing, whatever it is: R2 is 0.
    constant = np.repeat(rng.normal(size=(3, 1, 6)), 4, 1)
    errors, variation = within_errors(constant, true)
    assert errors == pytest.approx(variation) and within_cosine(constant, true) == pytest.approx(np.zeros((3, 4)))
    told = rng.normal(size=(3, 4, 6))
    errors, variation = within_errors(told, true)
    for s in range(3):
        p, t = (np.stack([row / np.linalg.norm(row) for row in part[s]]) for part in (told, true))
        assert errors[s] == pytest.approx(
            sum(((p[i] - p.mean(0)) - (t[i] - t.mean(0))) @ ((p[i] - p.mean(0)) - (t[i] - t.mean(0))) for i in range(4))
        )
        assert variation[s] == pytest.approx(4 * t.var(0).sum())


def test_what_rounding_leaves_of_a_constant_is_nothing():
    """The mean of twelve equal numbers is not always that number."""
    rng = np.random.default_rng(2)
    constant, true = np.repeat(rng.normal(size=(20, 1, 6)), 12, 1), rng.normal(size=(20, 12, 6))
    assert np.abs(within(unit(constant))).max() > 0
    assert (within_cosine(constant, true) == 0).all()
    assert (retrieval(cosines(directions(constant), directions(true))).pairwise == 0.5).all()


def test_nothing_stays_nothing():
    assert (unit(np.zeros((2, 3))) == 0).all()


def test_pairs_among_some_plans():
    similarity = np.array([[[0.9, 0.1, 0.2], [0.6, 0.5, 0.5], [0.8, 0.7, 0.6]]])
    # Of the plans 1 and 2: the own future of 1 ties with that of 2, that of 2 loses to that of 1.
    assert pairs_in_order(similarity, np.array([[False, True, True]])) == (pytest.approx([0.5]), pytest.approx([2.0]))
    whole, count = pairs_in_order(similarity, np.ones((1, 3), bool))
    assert whole / count == pytest.approx(retrieval(similarity).pairwise.mean(1))


def test_variation_of_some_plans_is_that_of_a_smaller_scene():
    rng = np.random.default_rng(4)
    predicted, true = rng.normal(size=(2, 3, 5, 6))
    there = np.array([[1, 0, 1, 1, 0], [0, 0, 0, 1, 0], [1, 1, 1, 1, 1]], np.bool_)
    found = within_errors(predicted, true, there)
    for s in range(3):
        some = [features[s : s + 1, there[s]] for features in (predicted, true)]
        assert [one[s] for one in found] == pytest.approx([one[0] for one in within_errors(*some)])
    assert found[1][1] == 0
