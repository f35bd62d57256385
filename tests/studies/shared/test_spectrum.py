from __future__ import annotations

import numpy as np
import pytest

from world4scorer.evaluation.scores.bootstrap import LogBootstrap
from world4scorer.studies.shared.spectrum import (
    effective_rank,
    rank_of_singular_values,
    variances,
    within_share,
)


def test_effective_rank_by_hand():
    assert effective_rank([2.0, 2.0, 2.0, 0.0]) == pytest.approx(3)
    assert effective_rank([5.0, 0.0]) == pytest.approx(1)
    assert effective_rank([3.0, 1.0]) == pytest.approx(np.exp(-0.75 * np.log(0.75) - 0.25 * np.log(0.25)))
    assert np.isnan(effective_rank([0.0, 0.0]))


def test_spectra_of_vectors():
    # singular values 4 and 2 around a mean far off; a third direction that is not there
    vectors = np.array([[2, 2, 9], [2, -2, 9], [-2, 0, 9], [-2, 0, 9]]) * np.sqrt([1.0, 0.5, 1.0]) + [100.0, 0.0, 0.0]
    squared = variances(vectors)
    np.testing.assert_allclose(squared, [16, 4, 0], atol=1e-7)
    assert rank_of_singular_values(squared) == pytest.approx(effective_rank([4, 2]))
    assert effective_rank(squared) == pytest.approx(effective_rank([16, 4]))
    np.testing.assert_allclose(variances(vectors, centred=False), np.linalg.svd(vectors)[1] ** 2, atol=1e-6)
    twice = np.concatenate([vectors, vectors[:1]])
    np.testing.assert_allclose(variances(vectors, weights_N=[2, 1, 1, 1]), variances(twice), atol=1e-6)


def test_variance_within_groups():
    """Two groups around 0 and 4, each spread by 1: between 4, within 1."""
    vectors, groups = np.array([[-1.0], [1.0], [3.0], [5.0]]), ["a", "a", "b", "b"]
    found = within_share(LogBootstrap(groups, 200), vectors, groups)
    assert found.value == pytest.approx(1 / 5)
    assert (found.low, found.high) == pytest.approx((1 / 5, 1.0))  # all of it lies within, if one log is drawn twice
