"""Where rounding decides, and how near to it results are still those of the oracle; see docs/exactness.md."""

from __future__ import annotations

import numpy as np
import pytest
from shapely import Polygon

from tests.support.oracle import rollout as oracle
from tests.support.oracle.metrics import box_corners
from tests.support.scene_factory import make_frame
from world4scorer import label
from world4scorer.engine.kernels import kernel
from world4scorer.engine.scene.boxes import boxes_meet

UTM = np.array([587_000.0, 4_475_000.0])
"""Coordinates of the size of those in logs [m]."""
CLEAR = 1e-8
"""Gap or overlap that is judged alike [m]."""


@kernel
def meet(a, b):
    """Whether two boxes meet: x, y, heading, half length, half width of each."""
    return boxes_meet(
        a[0], a[1], np.cos(a[2]), np.sin(a[2]), a[3], a[4], b[0], b[1], np.cos(b[2]), np.sin(b[2]), b[3], b[4]
    )


@pytest.mark.parametrize("gap", [CLEAR, -CLEAR])
def test_boxes_a_little_apart_or_into_each_other(gap: float) -> None:
    rng = np.random.default_rng(0)
    for _ in range(300):
        heading, turned = rng.uniform(-np.pi, np.pi), rng.integers(4) * np.pi / 2
        along, across = np.array([np.cos(heading), np.sin(heading)]), np.array([-np.sin(heading), np.cos(heading)])
        one = np.array([*(UTM + rng.uniform(0, 1000, 2)), heading, 2.588, 1.1485])
        reach = 2.3 if turned % np.pi < 1e-9 else 0.9  # of the other box, along the first
        centre = one[:2] + along * (2.588 + reach + gap) + across * rng.uniform(-1, 1)
        other = np.array([*centre, heading + turned, 2.3, 0.9])
        assert meet(one, other) == (gap < 0)
        assert Polygon(box_corners(*one)).intersects(Polygon(box_corners(*other))) == (gap < 0)


def test_touching_counts() -> None:
    one, other = np.array([0.0, 0.0, 0.0, 2.5, 1.0]), np.array([4.5, 0.0, 0.0, 2.0, 1.0])
    assert meet(one, other) and not meet(one, other + np.array([1e-12, 0, 0, 0, 0]))


@pytest.mark.parametrize("more", [1e-8, -1e-8])
@pytest.mark.parametrize("side", [1, -1])
def test_plans_that_turn_by_almost_pi(more: float, side: int) -> None:
    """More than pi to the left is less than pi to the right."""
    frame = make_frame(3, plans=2)
    plans = frame.plans.copy()
    plans[..., 2] = side * (np.pi + more) * (np.arange(8) % 2)
    states = label(frame.scene, plans).rollouts
    for n, plan in enumerate(plans):
        expected = oracle.resample_plan(plan, frame.scene.ego_state, frame.scene.time_us)
        turn = np.diff(np.unwrap(expected[5:11, 2]))
        assert (np.sign(turn) == np.sign(side * -more)).all()
        wanted = oracle.roll_out(frame.scene, plans[n : n + 1])[0]
        away = np.abs(np.angle(np.exp(1j * (states[n, :, 2] - wanted[:, 2]))))
        assert np.abs(states[n, :, :2] - wanted[:, :2]).max() < 1e-6 and away.max() < 1e-6
