"""The linear reader against the normal equations."""

from __future__ import annotations

import numpy as np
import pytest

from world4scorer.studies.counterfactual import ridge


def test_solution_of_the_normal_equations():
    rng = np.random.default_rng(0)
    x, y = rng.normal(2.0, 3.0, (40, 5)), rng.normal(size=(40, 3))
    (reader,) = ridge.solve(x, y, (0.1,))
    z = (x - x.mean(0)) / x.std(0)
    weights = np.linalg.solve(z.T @ z + 0.1 * len(x) * np.eye(5), z.T @ (y - y.mean(0)))
    np.testing.assert_allclose(reader.weights, weights)
    np.testing.assert_allclose(reader(x[:7]), z[:7] @ weights + y.mean(0))


def test_constant_inputs_are_harmless():
    x = np.ones((9, 2))
    (reader,) = ridge.solve(x, np.arange(9.0)[:, None], (0.1,))
    assert reader(x) == pytest.approx(np.full((9, 1), 4.0))


def test_strength_is_chosen_on_groups_that_were_not_seen():
    """What is linear asks for the smallest penalty, what is noise for the largest."""
    rng = np.random.default_rng(1)
    x = rng.normal(size=(200, 30))
    groups = [f"log{n // 10}" for n in range(200)]
    assert ridge.fit(x, x @ rng.normal(size=(30, 2)), groups).strength == ridge.STRENGTHS[0]
    assert ridge.fit(x, rng.normal(size=(200, 2)), groups).strength == ridge.STRENGTHS[-1]


def test_readers_of_other_groups_never_see_their_own():
    """Each group has an output of its own: a reader of the others tells their mean, never that output."""
    groups = [name for name in "abcd" for _ in range(6)]
    outputs = np.repeat(np.eye(4), 6, 0)[:, None]
    read = ridge.across_groups(np.zeros((24, 1, 2)), outputs, groups)
    own = (read * outputs).sum(-1)
    assert own == pytest.approx(np.zeros((24, 1))) and read.sum(-1) == pytest.approx(np.ones((24, 1)))
    asked = ridge.across_groups(np.zeros((24, 2)), outputs[:, 0], groups, asked=np.zeros((24, 3, 2)))
    np.testing.assert_allclose(asked, np.repeat(read, 3, 1))
    with pytest.raises(ValueError, match="needs two"):
        ridge.across_groups(np.zeros((2, 1, 2)), np.zeros((2, 1, 1)), ["a", "a"])
