"""Prompt starts: what an ego at rest follows instead of a plan that waits first."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from world4scorer.driving.closed_loop.prompt_start import STANDING_LENGTH, WAIT_LENGTH, without_wait


def straight(*steps: float) -> np.ndarray:
    """A plan straight ahead with so many metres on the way to each pose."""
    return np.stack([np.cumsum(steps), np.zeros(len(steps)), np.zeros(len(steps))], axis=1)


def test_the_wait_is_skipped() -> None:
    plan = straight(0, 0, 0, 0.5, 1, 1, 1, 1)
    followed = without_wait(plan, 0.0)
    # The wait ends after 1.75 s, half-way to the fourth pose; from there a metre every half second, and so on.
    np.testing.assert_allclose(followed[:, 0], [1, 2, 3, 4, 5, 6, 7, 8], atol=1e-6)


def test_a_plan_that_stands_is_followed_as_it_is() -> None:
    plan = straight(0, 0, 0, 0, 0, 0, 0.1, 0.2)
    np.testing.assert_array_equal(without_wait(plan, 0.0), plan.astype(np.float32))


def test_a_moving_ego_follows_its_plan() -> None:
    plan = straight(0, 0, 0, 1, 2, 2, 2, 2)
    np.testing.assert_array_equal(without_wait(plan, 3.0), plan.astype(np.float32))


def test_past_its_end_the_plan_goes_straight_on_along_its_heading() -> None:
    plan = np.stack([[0, 0, 0, 0, 0, 0, 1, 2], [0, 0, 0, 0, 0, 0, 0, 1], [0, 0, 0, 0, 0, 0, 0, np.pi / 2]], axis=1)
    followed = without_wait(plan, 0.0)
    np.testing.assert_allclose(followed[-1, 0], 2.0, atol=1e-5)
    assert followed[-1, 1] > 1 and np.all(np.diff(followed[2:, 1]) > 0)


@given(st.lists(st.floats(0, 8), min_size=8, max_size=8))
def test_it_gets_at_least_as_far_at_every_time(steps: list[float]) -> None:
    plan = straight(*steps)
    followed = without_wait(plan, 0.0)
    assert np.isfinite(followed).all()
    if sum(steps) >= STANDING_LENGTH:
        assert (followed[:, 0] >= plan[:, 0] - 1e-4).all() and followed[0, 0] >= WAIT_LENGTH - 1e-4
