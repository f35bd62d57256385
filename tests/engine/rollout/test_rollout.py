from __future__ import annotations

import hashlib
import subprocess
import sys

import numba
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.oracle import rollout as oracle
from tests.support.processes import WITH_TESTS
from tests.support.scene_factory import make_frame
from world4scorer.engine.rollout import roll_out
from world4scorer.engine.rollout.angles import sine_cosine, wrap
from world4scorer.engine.rollout.profile import CORRECTED, NAVSIM, fit_curvature, fit_speed, residual
from world4scorer.engine.scene import State


@numba.njit
def _sine_cosine(x):
    return sine_cosine(x)


@numba.njit
def _wrap(x):
    return wrap(x)


@numba.njit
def _fit(along, turned, profile):
    speed, curvature = np.empty_like(along), np.empty_like(along)
    fit_speed(along, profile, speed)
    fit_curvature(turned, speed, curvature)
    return speed, curvature, residual(along, turned, speed, curvature, profile)


@settings(max_examples=500, deadline=None)
@given(st.floats(-1e5, 1e5))
def test_sine_and_cosine(x):
    sine, cosine = _sine_cosine(x)
    assert abs(sine - np.sin(x)) < 3e-16 and abs(cosine - np.cos(x)) < 3e-16
    assert abs(_wrap(x)) <= np.pi and abs(np.sin(_wrap(x)) - np.sin(x)) < 1e-10


@pytest.mark.parametrize("profile", ["navsim", "corrected"])
@pytest.mark.parametrize("seed", range(6))
def test_rollout_as_the_oracle_has_it(seed, profile):
    frame = make_frame(seed)
    states = roll_out(frame.scene, frame.plans, profile)
    expected = oracle.roll_out(frame.scene, frame.plans, profile)
    difference = states - expected
    difference[..., State.HEADING] = oracle.wrap(difference[..., State.HEADING])
    assert np.abs(difference).max() < 1e-7
    np.testing.assert_array_equal(states[:, 0], np.repeat(frame.scene.ego_state[None], len(states), 0))


def test_profiles_differ():
    frame = make_frame(4)
    assert np.abs(roll_out(frame.scene, frame.plans) - roll_out(frame.scene, frame.plans, "corrected")).max() > 1e-3


@settings(max_examples=100, deadline=None)
@given(st.integers(0, 2**32 - 1), st.sampled_from([1e-9, 1e-3, 1.0, 30.0, 1e4]), st.sampled_from([NAVSIM, CORRECTED]))
def test_fits_meet_their_equations(seed, size, profile):
    rng = np.random.default_rng(seed)
    along, turned = rng.normal(0, 0.1 * size, (40, 3)), rng.uniform(-3, 3, (40, 3))
    speed, curvature, off = _fit(along, turned, profile)
    assert np.isfinite(speed).all() and np.isfinite(curvature).all() and (off < 1e-12).all()


def test_residual_notices_a_wrong_fit():
    rng = np.random.default_rng(0)
    along, turned = rng.normal(1, 0.1, (40, 2)), rng.normal(0, 0.1, (40, 2))
    speed, curvature, _ = _fit(along, turned, NAVSIM)
    curvature[7, 1] *= 1.001
    off = residual_of(along, turned, speed, curvature)
    assert off[0] < 1e-12 and off[1] > 1e-6


@numba.njit
def residual_of(along, turned, speed, curvature):
    return residual(along, turned, speed, curvature, NAVSIM)


def test_float32_plans_are_widened_first():
    frame = make_frame(1)
    plans = frame.plans.astype(np.float32)
    np.testing.assert_array_equal(roll_out(frame.scene, plans), roll_out(frame.scene, plans.astype(np.float64)))


def test_standing_still_and_reversing():
    frame = make_frame(0, plans=2)
    plans = np.zeros((2, 8, 3))
    plans[1, :, 0] = -0.5 * np.arange(1, 9)
    states = roll_out(frame.scene, plans)
    assert np.isfinite(states).all()
    assert states[1, -1, State.VELOCITY_X] < 0


def test_no_plans():
    frame = make_frame(0)
    assert roll_out(frame.scene, np.zeros((0, 8, 3))).shape == (0, 41, 11)


def test_unknown_profile():
    frame = make_frame(0)
    with pytest.raises(ValueError, match="lqr: unknown profile 'nuplan'"):
        roll_out(frame.scene, frame.plans, "nuplan")


DIGEST = """
import hashlib
from tests.support.scene_factory import make_frame
from world4scorer.engine.rollout import roll_out
frame = make_frame(2)
print(hashlib.sha256(roll_out(frame.scene, frame.plans).tobytes()).hexdigest())
"""


def test_same_bits_on_the_plainest_processor(tmp_path):
    """Compiled for a processor without AVX or FMA, the kernels give the same bits as compiled for this one."""
    plain = {"NUMBA_CPU_NAME": "generic", "NUMBA_CPU_FEATURES": "", "NUMBA_CACHE_DIR": str(tmp_path)}
    digest = subprocess.run(
        [sys.executable, "-c", DIGEST], env=WITH_TESTS | plain, capture_output=True, text=True, check=True
    ).stdout.strip()
    frame = make_frame(2)
    assert digest == hashlib.sha256(roll_out(frame.scene, frame.plans).tobytes()).hexdigest()
