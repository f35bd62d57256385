from __future__ import annotations

import itertools

import numpy as np
import pytest

from world4scorer.engine.selection.pool_metrics import ORDERING_MARGIN, pool_metrics


@pytest.mark.parametrize("gap", [0.0, ORDERING_MARGIN])
def test_against_loops(gap):
    rng = np.random.default_rng(0)
    utility, score = rng.normal(size=(6, 9)), np.round(rng.uniform(size=(6, 9)), 2)
    utility[2, 3] = utility[2, 5] = utility[2].max() + 1  # of equal ones the first is chosen
    found = pool_metrics(utility, score, gap)
    assert gap or (found.pairs == pool_metrics(utility, score).pairs).all()  # all that differ, unless said
    ordered = pairs = 0
    for scene in range(6):
        best = max(range(9), key=lambda plan: (utility[scene, plan], -plan))
        assert found.selected[scene] == score[scene, best]
        assert found.oracle[scene] == max(score[scene]) and found.random[scene] == pytest.approx(np.mean(score[scene]))
        for one, other in itertools.permutations(range(9), 2):
            if score[scene, one] > score[scene, other] + gap:
                pairs += 1
                ordered += utility[scene, one] > utility[scene, other]
    assert found.means["ordering"] == ordered / pairs and found.pairs.sum() == pairs


def test_equal_scores_and_equal_utilities():
    assert pool_metrics(np.zeros((2, 4)), np.ones((2, 4))).means["ordering"] == 0.0
    nothing = pool_metrics(np.zeros((1, 3)), np.array([[0.0, 0.5, 1.0]]))
    assert nothing.means["selected"] == 0.0 and nothing.means["ordering"] == 0.0
    perfect = pool_metrics(np.array([[1.0, 2.0, 3.0]]), np.array([[0.0, 0.5, 1.0]]))
    assert perfect.means == {"selected": 1.0, "random": 0.5, "oracle": 1.0, "ordering": 1.0}
