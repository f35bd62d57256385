"""Weights of follow-ups: near ones count more, and where all are far they count the same."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from world4scorer.evaluation.two_stage.weights import follow_up_weights

distances = st.lists(st.floats(0, 5), min_size=1, max_size=20)


def weights(values):
    return follow_up_weights(np.zeros(2), np.array([[value, 0.0] for value in values]))


@given(distances)
def test_weights_add_up_and_follow_the_distance(values):
    found = weights(values)
    assert found.weights.sum() == pytest.approx(1)
    np.testing.assert_allclose(found.distances, values, atol=1e-12)
    order = np.argsort(values)
    assert (np.diff(found.weights[order]) <= 1e-15).all()
    assert found.uniform == (np.exp(-np.square(values) / 0.2).sum() <= 1e-8)


def test_one_follow_up_falls_back_beyond_1_92_m():
    assert not weights([1.91]).uniform
    assert weights([1.93]).uniform
    assert weights([1.93]).weights.tolist() == [1.0]
    assert weights([3.0, 4.0]).weights.tolist() == [0.5, 0.5]
