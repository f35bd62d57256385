from __future__ import annotations

import math

import numpy as np
import pytest

from world4scorer.engine.selection.pool_spread import DISTINCT_DISTANCE, POOLS_AT_ONCE, pool_spread


def straight(speed, lateral=0.0):
    """A plan (8, 3) straight ahead [m/s], shifted to the left [m]."""
    times = 0.5 * np.arange(1, 9)
    return np.stack([speed * times, np.full(8, lateral), np.zeros(8)], axis=1)


def test_three_plans_by_hand():
    """Ends at x = 0, 4 and 40 m: distances 4, 36 and 40, nearest 4, 4 and 36; means over poses 2.25 m and more."""
    found = pool_spread(np.stack([straight(0), straight(1), straight(10)])[None])
    assert found.end_distance[0] == pytest.approx((4 + 36 + 40) / 3)
    assert found.nearest_end[0] == pytest.approx((4 + 4 + 36) / 3)
    assert found.distinct[0] == 1


def test_copies_are_not_distinct():
    """Two equal plans, one shifted from them by 0.4 m, one by 3 m; headings do not count."""
    turned = straight(5) + np.array([0.0, 0.0, 1.0])
    found = pool_spread(np.stack([straight(5), turned, straight(5, 0.4), straight(5, 3.0)])[None])
    assert found.distinct[0] == 1 / 4
    assert found.nearest_end[0] == pytest.approx((0 + 0 + 0.4 + 2.6) / 4)


def test_the_whole_trajectory_counts():
    """Plans with the same end that arrive by different ways are distinct."""
    late = straight(5)
    late[:7, 0] = 0
    found = pool_spread(np.stack([straight(5), late])[None])
    assert found.end_distance[0] == found.nearest_end[0] == 0 and found.distinct[0] == 1


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_against_loops(kind):
    rng = np.random.default_rng(0)
    plans = rng.normal(scale=0.3, size=(POOLS_AT_ONCE + 3, 5, 8, 3)).astype(kind)
    found = pool_spread(plans)
    for s, pool in enumerate(plans):
        ends = {(i, j): math.dist(pool[i, -1, :2], pool[j, -1, :2]) for i in range(5) for j in range(5) if i != j}
        whole = {
            (i, j): sum(math.dist(pool[i, t, :2], pool[j, t, :2]) for t in range(8)) / 8
            for i, j in ends
        }  # fmt: skip
        assert found.end_distance[s] == pytest.approx(sum(ends.values()) / 20, rel=1e-5)
        nearest = [min(ends[i, j] for j in range(5) if j != i) for i in range(5)]
        assert found.nearest_end[s] == pytest.approx(sum(nearest) / 5, rel=1e-5)
        apart = [all(whole[i, j] > DISTINCT_DISTANCE for j in range(5) if j != i) for i in range(5)]
        assert found.distinct[s] == sum(apart) / 5


def test_one_plan_has_no_spread():
    with pytest.raises(ValueError, match="at least two"):
        pool_spread(straight(1)[None, None])
