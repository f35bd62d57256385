"""Starting: what putting it off costs, and that it never outweighs more than it should."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from world4scorer.engine.selection.start import START_WEIGHT, starting_utility


def plan(*speeds: float) -> np.ndarray:
    """A plan straight ahead with so many m/s on the way to each of its eight poses, the last one kept."""
    each = [*speeds, *[speeds[-1]] * (8 - len(speeds))]
    way = 0.5 * np.cumsum(each)
    return np.stack([way, np.zeros(8), np.zeros(8)], axis=1)


def test_moving_off_now_beats_later_beats_never():
    now, later, never = plan(1.25), plan(0.0, 0.0, 0.0, 0.0, 2.5), plan(0.0)
    found = starting_utility([2.0, 2.0, 2.0], [now, later, never])
    assert found[0] == pytest.approx(2.0 + START_WEIGHT) and found[2] == 2.0
    assert found[0] > found[1] > found[2]


def test_plans_that_drive_all_gain_the_same():
    found = starting_utility([1.0, 3.0], [plan(2.0), plan(12.0)], 0.5)
    assert found.tolist() == [1.5, 3.5]


def test_a_likely_collision_weighs_more():
    assert np.argmax(starting_utility([2.0, 1.8], [plan(0.0), plan(5.0)])) == 0


@given(st.lists(st.floats(0, 30), min_size=1, max_size=8), st.floats(0, 5))
def test_the_gain_lies_between_nothing_and_the_weight(speeds, weight):
    (found,) = starting_utility([0.0], [plan(*speeds)], weight)
    expected = np.mean([min(1.0, x / (0.625 * step)) for step, x in enumerate(plan(*speeds)[:, 0], 1)])
    assert found == pytest.approx(weight * expected, abs=1e-9)


def test_a_weight_below_zero_is_refused():
    with pytest.raises(ValueError, match="weight"):
        starting_utility([1.0], [plan(1.0)], -1.0)
