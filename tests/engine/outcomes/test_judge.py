"""A scene that was judged before gives the same bits as one that was not."""

from __future__ import annotations

from dataclasses import fields, replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import world4scorer as w4s
from tests.support.scene_factory import make_frame
from world4scorer.engine.outcomes import judged_scene
from world4scorer.engine.outcomes.judged_scene import MAX_ROLLOUTS, SCENES_KEPT

seeds = st.integers(0, 10_000)
calm = settings(max_examples=25, deadline=None)


def assert_equal(one, other):
    """Every array of two outcomes, to the bit, and all causes."""
    for field in fields(one):
        a, b = getattr(one, field.name), getattr(other, field.name)
        if isinstance(a, np.ndarray):
            assert a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes(), field.name
        elif field.name not in ("scene", "causes"):
            assert a == b, field.name
    assert one.rollouts.tobytes() == other.rollouts.tobytes()
    for name, cause in one.causes.items():
        for plan in range(len(one.score)):
            assert cause.of(plan) == other.causes[name].of(plan)


def fresh(scene):
    """The same scene, never judged."""
    return replace(scene)


def stretched(plans, factor):
    """Plans that reach further: out of what was prepared for others."""
    return plans * np.array([factor, factor, 1.0])


@calm
@given(seeds, st.lists(st.tuples(st.integers(0, 11), st.integers(1, 6), st.floats(0.1, 4.0)), min_size=1, max_size=4))
def test_a_judge_equals_the_functions(seed, calls):
    frame = make_frame(seed, plans=12)
    judge = w4s.Judge(frame.scene)
    for first, count, factor in calls:
        plans = stretched(frame.plans[first : first + count], factor)
        assert_equal(judge.label(plans), w4s.label(fresh(frame.scene), plans))
        assert_equal(judge.pdms(plans, lqr="corrected"), w4s.pdms(fresh(frame.scene), plans, lqr="corrected"))
        assert_equal(judge.epdms(plans), w4s.epdms(fresh(frame.scene), plans))
        options = {"version": "pre151", "human_filter": False, "reference_progress": 7.0}
        assert_equal(judge.epdms(plans, **options), w4s.epdms(fresh(frame.scene), plans, **options))
        assert_equal(w4s.label(frame.scene, plans), w4s.label(fresh(frame.scene), plans))
        assert_equal(w4s.epdms(frame.scene, plans), w4s.epdms(fresh(frame.scene), plans))


@calm
@given(seeds)
def test_the_reference_and_the_human_are_remembered_as_they_were_judged(seed):
    frame = make_frame(seed, plans=2)
    for lqr in ("navsim", "corrected"):
        first, then = (w4s.epdms(frame.scene, frame.plans, lqr=lqr) for _ in range(2))
        assert first.reference_progress == then.reference_progress
        np.testing.assert_array_equal(first.human, then.human)
        assert w4s.label(frame.scene, frame.plans[:0], lqr=lqr).reference_progress == pytest.approx(
            w4s.label(frame.scene, frame.plans, lqr=lqr).reference_progress, abs=0.0
        )


def test_many_plans_are_judged_in_blocks():
    frame = make_frame(3, plans=64)
    factors = np.repeat(np.linspace(0.2, 2.0, 2 * MAX_ROLLOUTS // 64 + 1), 64)[:, None, None]
    plans = np.tile(frame.plans, (len(factors) // 64, 1, 1)) * factors
    assert len(plans) > 2 * MAX_ROLLOUTS
    parts = [plans[first : first + 64] for first in range(0, len(plans), 64)]
    for function in (w4s.label, w4s.epdms):
        whole = function(fresh(frame.scene), plans)
        apart = [function(fresh(frame.scene), part) for part in parts]
        np.testing.assert_array_equal(whole.table, np.concatenate([one.table for one in apart]))
        np.testing.assert_array_equal(whole.rollouts, np.concatenate([one.rollouts for one in apart]))
        assert [whole.causes["NC"].of(n) for n in range(64, 128)] == [apart[1].causes["NC"].of(n) for n in range(64)]


@pytest.mark.parametrize("value", [np.nan, np.inf, 2e6])
@pytest.mark.parametrize("column", [0, 2])
@pytest.mark.parametrize("count", [1, MAX_ROLLOUTS + 60])
def test_bad_plans_are_named_in_a_known_scene_as_well(value, column, count):
    frame = make_frame(1, plans=1)
    judge = w4s.Judge(frame.scene)
    plans = np.repeat(frame.plans, count, axis=0)
    judge.label(plans)
    judge.epdms(plans)
    plans[-1, 5, column] = value
    for call in (judge.label, judge.pdms, judge.epdms):
        with pytest.raises(w4s.SceneError, match=f"plan {count - 1}, pose 5"):
            call(plans)


def test_a_region_grows_by_steps():
    frame = make_frame(5, plans=4)
    judge = w4s.Judge(frame.scene)
    judge.epdms(stretched(frame.plans, 0.1))
    assert judge._prepared._area is None  # most scenes are judged once
    grids = {}
    for factor in np.linspace(0.1, 1.5, 200):
        judge.epdms(stretched(frame.plans, factor))
        grid = judge._prepared._area.grid
        grids[id(grid)] = grid
    assert 1 < len(grids) < 12


def test_few_scenes_are_kept():
    judged_scene.judged_scene.cache_clear()
    for seed in range(SCENES_KEPT + 5):
        frame = make_frame(seed, plans=1)
        w4s.label(frame.scene, frame.plans)
    assert judged_scene.judged_scene.cache_info().currsize == SCENES_KEPT


def test_a_wrong_number_of_references_is_refused():
    frame = make_frame(2, plans=3)
    with pytest.raises(ValueError, match="reference_progress: shape"):
        w4s.epdms(frame.scene, frame.plans, reference_progress=np.ones(2))
