"""What must hold for any scene."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import world4scorer as w4s
from tests.support.scene_factory import make_frame, moved
from world4scorer.engine.outcomes import get_threads
from world4scorer.engine.scene import Box, Tracks

seeds = st.integers(0, 10_000)
calm = settings(max_examples=25, deadline=None)


@calm
@given(seeds, st.floats(-3, 3), st.floats(-1e5, 1e5), st.floats(-1e5, 1e5))
def test_moving_the_whole_world_changes_nothing(seed, turn, x, y):
    frame = make_frame(seed, plans=6)
    other = moved(frame.scene, np.array([x, y]), turn)
    np.testing.assert_allclose(
        w4s.label(other, frame.plans).table, w4s.label(frame.scene, frame.plans).table, atol=1e-6
    )
    np.testing.assert_allclose(
        w4s.epdms(other, frame.plans).table, w4s.epdms(frame.scene, frame.plans).table, atol=1e-6
    )


@calm
@given(seeds)
def test_a_plan_is_judged_on_its_own(seed):
    frame = make_frame(seed, plans=9)
    together = w4s.label(frame.scene, frame.plans)
    apart = [w4s.label(frame.scene, frame.plans[n : n + 1]) for n in range(9)]
    np.testing.assert_array_equal(together.table, np.concatenate([one.table for one in apart]))
    np.testing.assert_array_equal(together.rollouts, np.concatenate([one.rollouts for one in apart]))
    backwards = w4s.epdms(frame.scene, frame.plans[::-1])
    np.testing.assert_array_equal(w4s.epdms(frame.scene, frame.plans).table, backwards.table[::-1])


@calm
@given(seeds)
def test_a_track_far_away_changes_nothing(seed):
    frame = make_frame(seed, plans=8)
    old = frame.scene.tracks
    far = np.zeros((1, old.steps, len(Box)))
    far[..., [Box.LENGTH, Box.WIDTH]] = 4.0, 2.0
    far[..., :2] = frame.scene.ego_state[:2] + 2000.0
    tracks = Tracks(
        (*old.ids, "far"),
        np.append(old.type, 0),
        np.concatenate([old.boxes, far]),
        np.concatenate([old.valid, np.ones((1, old.steps), bool)]),
    )
    more = replace(frame.scene, tracks=tracks)
    np.testing.assert_array_equal(w4s.label(more, frame.plans).table, w4s.label(frame.scene, frame.plans).table)
    np.testing.assert_array_equal(w4s.epdms(more, frame.plans).table, w4s.epdms(frame.scene, frame.plans).table)


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_a_batch_equals_one_by_one(threads):
    frames = [make_frame(seed, plans=5) for seed in range(11)]
    before = get_threads()
    w4s.set_threads(threads)
    try:
        batch = w4s.label_batch([frame.scene for frame in frames], [frame.plans for frame in frames])
    finally:
        w4s.set_threads(before)
    for frame, outcome in zip(frames, batch, strict=True):
        np.testing.assert_array_equal(outcome.table, w4s.label(frame.scene, frame.plans).table)


def test_a_bad_scene_in_a_batch_is_named():
    frames = [make_frame(seed, plans=3) for seed in range(9)]
    plans = [frame.plans for frame in frames]
    plans[4] = plans[4] * np.nan
    with pytest.raises(w4s.SceneError, match="plans of made-4"):
        w4s.label_batch([frame.scene for frame in frames], plans)
    with pytest.raises(ValueError, match="8 sets of plans for 9 scenes"):
        w4s.label_batch([frame.scene for frame in frames], plans[1:])
    assert w4s.label_batch([], []) == []


@calm
@given(seeds)
def test_values_keep_to_their_ranges(seed):
    frame = make_frame(seed, plans=8)
    v1, v2 = w4s.pdms(frame.scene, frame.plans), w4s.epdms(frame.scene, frame.plans)
    assert np.isin(v1.nc, [0, 0.5, 1]).all() and np.isin(v1.ddc, [0, 0.5, 1]).all()
    assert ((v1.table >= 0) & (v1.table <= 1)).all() and ((v2.table >= 0) & (v2.table <= 1)).all()
    assert ((v2.score >= 0) & (v2.score <= 1)).all()
    for outcome, names in ((v1, ("NC", "DAC", "TTC", "DDC")), (v2, ("NC", "DAC", "DDC", "TLC", "TTC", "LK"))):
        for name in names:
            cause = outcome.causes[name]
            assert (cause.step[cause.violated] >= 0).all() and (cause.step <= 40).all()
            assert all((cause.of(n) is not None) == cause.violated[n] for n in range(8))


def test_the_human_filter_forgives_only_exact_zeros():
    seen = 0
    for seed in range(40):
        frame = make_frame(seed, plans=8)
        filtered = w4s.epdms(frame.scene, frame.plans)
        raw = w4s.epdms(frame.scene, frame.plans, human_filter=False)
        np.testing.assert_array_equal(filtered.raw, raw.table)
        forgiven = filtered.human[:8] == 0.0
        seen += forgiven.any()
        np.testing.assert_array_equal(filtered.table[:, :8][:, forgiven], 1.0)
        np.testing.assert_array_equal(filtered.table[:, :8][:, ~forgiven], raw.table[:, :8][:, ~forgiven])
        before = w4s.epdms(frame.scene, frame.plans, version="pre151")
        np.testing.assert_array_equal(before.table[:, :8], filtered.table[:, :8])
        np.testing.assert_array_equal(before.score, raw.score)
        np.testing.assert_array_equal(filtered.unfiltered().score, raw.score)
    assert seen > 5


def test_extended_comfort_enters_with_its_weight():
    frame = make_frame(3)
    outcome = w4s.epdms(frame.scene, frame.plans)
    ec = np.where(np.arange(len(frame.plans)) % 3 == 0, np.nan, np.arange(len(frame.plans)) % 2.0)
    paired = ~np.isnan(ec)
    score = outcome.score_with(ec)
    np.testing.assert_array_equal(score[~paired], outcome.score[~paired])
    expected = (14 * outcome.score + 2 * ec * outcome.product) / 16
    np.testing.assert_allclose(score[paired], expected[paired], atol=1e-12)


def test_own_reference_progress():
    frame = make_frame(5)
    usual = w4s.label(frame.scene, frame.plans)
    again = w4s.label(frame.scene, frame.plans, reference_progress=usual.reference_progress)
    np.testing.assert_array_equal(usual.table, again.table)
    for missing in (np.nan, np.inf, -1.0):
        with pytest.raises(w4s.SceneError, match="'made-5': reference_progress is"):
            w4s.label(frame.scene, frame.plans, reference_progress=missing)
    far = w4s.label(frame.scene, frame.plans, reference_progress=1000.0)
    np.testing.assert_allclose(far.ep, usual.progress * usual.nc * usual.dac / 1000.0)
