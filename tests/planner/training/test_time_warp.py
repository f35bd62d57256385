from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.interpolate import CubicSpline

from world4scorer.planner.training.time_warp import imitation_targets, sample_points, time_warped

LITTLE = st.integers(0, 2**32 - 1)


@given(seed=LITTLE, ends=st.sampled_from(["not-a-knot", "natural"]))
def test_agrees_with_scipy(seed, ends):
    poses = np.random.default_rng(seed).normal(size=(4, 10, 3)).cumsum(1)
    spline = CubicSpline(np.arange(10), poses, axis=1, bc_type=ends)
    points = [i + (2 * 2 / (8 * 9)) * sum(range(1, i + 2)) for i in range(8)]
    np.testing.assert_allclose(time_warped(poses, ends), spline(points), atol=1e-9)
    np.testing.assert_allclose(time_warped(poses[0], ends), spline(points)[0], atol=1e-9)


def test_ends_at_the_tenth_pose():
    assert sample_points()[-1] == pytest.approx(9.0)
    poses = np.random.default_rng(0).normal(size=(10, 3))
    np.testing.assert_allclose(time_warped(poses)[-1], poses[-1], atol=1e-12)


@pytest.mark.parametrize("logged", [8, 9, 10, 12])
def test_targets_of_a_log_that_ends(logged):
    future = np.random.default_rng(1).normal(size=(logged, 3)).cumsum(0)
    target, warped = imitation_targets(future)
    np.testing.assert_array_equal(target, future[:8])
    np.testing.assert_array_equal(warped, time_warped(future[:10]) if logged >= 10 else future[:8])


def test_needs_enough_poses():
    with pytest.raises(ValueError, match=r"shape \(8, 3\)"):
        time_warped(np.zeros((8, 3)))
    with pytest.raises(ValueError, match=r"shape \(7, 3\)"):
        imitation_targets(np.zeros((7, 3)))
