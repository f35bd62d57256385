from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.oracle.bench2drive import labels
from world4scorer.driving.clips.outcomes import Surroundings, label_plans
from world4scorer.engine.outcomes.results import V1_COLUMNS
from world4scorer.engine.scene.checks import SceneError

TIMES = 0.5 * np.arange(1, 9)


def surroundings(boxes_by_time=None, drivable=None, end=(40.0, 0.0)):
    boxes_by_time = [np.zeros((0, 5))] * 8 if boxes_by_time is None else boxes_by_time
    return Surroundings(
        token="clip/00000",
        boxes=np.concatenate(boxes_by_time),
        offsets=np.cumsum([0, *map(len, boxes_by_time)]),
        drivable=np.ones((120, 100), np.bool_) if drivable is None else drivable,
        expert_end=np.array(end, np.float64),
    )


def straight(speed):
    return np.column_stack([speed * TIMES, 0 * TIMES, 0 * TIMES])


def label(plan, around):
    return dict(zip(V1_COLUMNS, label_plans(plan[None], around)[0], strict=True))


def standing(x, y, heading=0.0, half=(2.0, 1.0)):
    return [np.array([[x, y, heading, *half]])] * 8


def test_a_free_road():
    assert label(straight(10.0), surroundings()) == dict.fromkeys(V1_COLUMNS, 1.0)


def test_collisions_with_what_stands_ahead():
    """The front bumper is 1.35 + 2.45 = 3.8 m ahead of the rear axle: after 4 s at 5 m/s it has come to 23.8 m."""
    plan = straight(5.0)
    assert label(plan, surroundings(standing(25.7, 0.0)))["NC"] == 0
    assert label(plan, surroundings(standing(25.9, 0.0)))["NC"] == 1
    # One step further, at 4.5 s, it would have come to 26.3 m.
    assert label(plan, surroundings(standing(25.9, 0.0)))["TTC"] == 0
    assert label(plan, surroundings(standing(28.2, 0.0)))["TTC"] == 0
    assert label(plan, surroundings(standing(28.4, 0.0)))["TTC"] == 1
    # Aside, 0.92 m and 1 m are between the middles.
    assert label(plan, surroundings(standing(10.0, 1.9)))["NC"] == 0
    assert label(plan, surroundings(standing(10.0, 1.95)))["NC"] == 1


def test_those_who_come_from_behind_are_not_looked_at():
    """The ego stands; its middle is 1.35 m ahead of the origin."""
    plan = straight(0.0)
    assert label(plan, surroundings(standing(0.84, 0.0)))["NC"] == 1
    assert label(plan, surroundings(standing(0.86, 0.0)))["NC"] == 0


def test_only_the_boxes_of_the_same_time_count():
    """At 10 m/s the ego is at 5 m after 0.5 s; a box crosses there at one time only."""
    for step in range(8):
        boxes = [np.zeros((0, 5))] * 8
        boxes[step] = np.array([[6.35, 0.0, np.pi / 2, 2.0, 1.0]])
        found = label(straight(10.0), surroundings(boxes))
        assert found["NC"] == (step != 0) and found["TTC"] == 1.0


def test_progress_is_along_the_way_to_the_experts_end():
    assert label(straight(5.0), surroundings(end=(40.0, 0.0)))["EP"] == pytest.approx(0.5)
    assert label(straight(5.0), surroundings(end=(30.0, 30.0)))["EP"] == pytest.approx(20 * 30 / 1800)
    assert label(straight(5.0), surroundings(end=(-40.0, 0.0)))["EP"] == 0
    assert label(straight(0.0), surroundings(end=(3.0, 4.0)))["EP"] == 1
    assert label(straight(0.0), surroundings(end=(3.0, 4.1)))["EP"] == 0


def test_comfort():
    assert label(0.5 * 8.9 * TIMES[:, None] ** 2 * [1, 0, 0], surroundings())["C"] == 1
    assert label(0.5 * 9.1 * TIMES[:, None] ** 2 * [1, 0, 0], surroundings())["C"] == 0
    assert label(1.49 * TIMES[:, None] * [0, 0, 1], surroundings())["C"] == 1
    assert label(1.51 * TIMES[:, None] * [0, 0, 1], surroundings())["C"] == 0
    # Headings that go over the rim at pi are not fast turns.
    turning = np.column_stack([0 * TIMES, 0 * TIMES, np.angle(np.exp(1j * TIMES))])
    assert label(turning, surroundings())["C"] == 1


def test_the_share_of_drivable_positions():
    """Cells from x = 10 m on are not drivable; the raster ends at 50 m."""
    drivable = np.ones((120, 100), np.bool_)
    drivable[40:] = False
    assert label(straight(4.0), surroundings(drivable=drivable))["DAC"] == 4 / 8
    assert label(straight(25.0), surroundings(drivable=drivable))["DAC"] == 5 / 8
    aside = np.tile([0.0, 26.0, 0.0], (8, 1))
    assert label(aside, surroundings(drivable=~drivable))["DAC"] == 1


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_the_kernel_follows_the_rules(seed):
    rng = np.random.default_rng(seed)
    step = np.array([rng.uniform(0, 6), 0.0, 0.0]) + rng.normal(size=(12, 8, 3)) * [0.5, 0.3, 0.1]
    plans = np.cumsum(step, 1)
    spread, size = np.array([25.0, 8.0, 3.0, 0, 0]), np.array([0, 0, 0, 2.5, 1.0])
    boxes = [
        rng.uniform(-1, 1, (int(count), 5)) * spread + [15.0, 0, 0, 0.2, 0.2] + rng.random((int(count), 5)) * size
        for count in rng.integers(0, 5, 8)
    ]
    around = surroundings(boxes, rng.random((120, 100)) < 0.6, rng.uniform(-5, 30, 2))
    expected = np.array([labels(plan, boxes, around.drivable, around.expert_end) for plan in plans])
    np.testing.assert_allclose(label_plans(plans, around), expected, atol=1e-12)


def test_plans_that_cannot_be_judged():
    with pytest.raises(SceneError, match="clip/00000"):
        label_plans(np.full((1, 8, 3), np.nan), surroundings())
