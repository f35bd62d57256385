"""The speed limit in the utility."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from world4scorer.engine.selection.speed_limit import URBAN_LIMIT, limited_utility, plan_speeds


def straight(speed: float) -> np.ndarray:
    return np.column_stack([0.5 * speed * np.arange(1, 9), np.zeros(8), np.zeros(8)])


def test_speeds_by_hand() -> None:
    bent = np.array([[3.0, 4.0, 0.0], [3.0, 4.0, 0.0]])
    assert plan_speeds([bent]).tolist() == [[10.0, 0.0]]


def test_a_metre_per_second_too_fast_costs_one() -> None:
    found = limited_utility([0.0, 0.0, 0.0], [straight(10.0), straight(11.0), straight(13.0)], limit=10.0)
    assert found == pytest.approx([0.0, -1.0, -3.0])
    assert limited_utility([0.0], [straight(13.0)], limit=10.0, weight=0.5) == pytest.approx([-1.5])


@given(st.lists(st.floats(0.0, URBAN_LIMIT - 1e-6), min_size=1, max_size=5))
def test_plans_within_the_limit_keep_their_utility(speeds: list[float]) -> None:
    utility = np.arange(float(len(speeds)))
    assert limited_utility(utility, [straight(speed) for speed in speeds]) == pytest.approx(utility)


def test_bad_limits_are_named() -> None:
    with pytest.raises(ValueError, match="speed limit 0"):
        limited_utility([0.0], [straight(1.0)], limit=0.0)
