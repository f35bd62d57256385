from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tests.support.scene_factory import make_frame
from world4scorer import InertialReranker, SceneError, extended_comfort, roll_out
from world4scorer.engine.selection import inertial_utility, pair_interval


def later(frame, seconds, **changes):
    return replace(frame.scene, time_us=frame.scene.time_us + round(seconds * 1e6), **changes)


def test_first_frame_takes_the_best_utility_and_ties_go_to_the_lowest_index():
    frame = make_frame(1, plans=6)
    assert InertialReranker().choose(frame.scene, frame.plans, [0, 3, 1, 3, 2, 0]) == 1


def test_second_frame_weighs_consistency():
    frame = make_frame(2, plans=16)
    reranker = InertialReranker(weight=2.0)
    first = reranker.choose(frame.scene, frame.plans, frame.utilities)
    scene = later(frame, 0.5)
    chosen = reranker.choose(scene, frame.plans, frame.utilities)
    previous = roll_out(frame.scene, frame.plans)[first]
    passed = extended_comfort(roll_out(scene, frame.plans), previous, 0.5)
    np.testing.assert_array_equal(reranker.continued, passed)
    assert chosen == int(np.argmax(frame.utilities + 2.0 * np.log(0.01 + 0.99 * passed)))


@pytest.mark.parametrize(
    ("make", "afresh"),
    [
        (lambda frame: later(frame, 0.55), False),
        (lambda frame: later(frame, 0.6), True),
        (lambda frame: later(frame, 0.5, log_name="another"), True),
    ],
)
def test_a_gap_or_another_log_starts_afresh(make, afresh):
    frame = make_frame(2)
    reranker = InertialReranker()
    reranker.choose(frame.scene, frame.plans, frame.utilities)
    reranker.choose(make(frame), frame.plans, frame.utilities)
    assert (reranker.continued is None) == afresh


def test_reset():
    frame = make_frame(2)
    reranker = InertialReranker()
    reranker.choose(frame.scene, frame.plans, frame.utilities)
    with pytest.raises(SceneError, match="is not later than 'made-2'"):
        reranker.choose(frame.scene, frame.plans, frame.utilities)
    reranker.reset()
    reranker.choose(frame.scene, frame.plans, frame.utilities)
    assert reranker.continued is None


def test_any_number_of_plans_from_frame_to_frame():
    frame = make_frame(2, plans=5)
    reranker = InertialReranker()
    reranker.choose(frame.scene, frame.plans[:1], [0.0])
    assert reranker.choose(later(frame, 0.5), frame.plans, np.arange(5)) in range(5)


def test_bad_input():
    frame = make_frame(2, plans=4)
    with pytest.raises(ValueError, match="weight: -1"):
        InertialReranker(-1)
    with pytest.raises(SceneError, match="utilities of made-2: value at"):
        InertialReranker().choose(frame.scene, frame.plans, [0, 1, np.nan, 2])
    with pytest.raises(SceneError, match="3 values for 4 plans"):
        InertialReranker().choose(frame.scene, frame.plans, [0, 1, 2])
    with pytest.raises(SceneError, match="0 values for 0 plans"):
        InertialReranker().choose(frame.scene, np.zeros((0, 8, 3)), [])
    with pytest.raises(SceneError, match=r"interval_s: 0\.0 s"):
        extended_comfort(np.zeros((1, 41, 11)), np.zeros((41, 11)), 0.0)


def test_pairs():
    assert pair_interval(500_000, 0) == 0.5
    assert pair_interval(550_000, 0) is not None
    assert pair_interval(550_001, 0) is None


def test_weight_zero_is_framewise():
    np.testing.assert_array_equal(inertial_utility([1.0, 2.0], [0.0, 1.0], 0.0), [1.0, 2.0])
