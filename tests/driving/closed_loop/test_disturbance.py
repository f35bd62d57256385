"""Disturbances: within their ranges, the same again, and driveable."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from world4scorer.city.world.episode import EgoState, EpisodeStart
from world4scorer.driving.closed_loop.disturbance import Disturbance, DisturbanceConfig, pushed
from world4scorer.engine.scene.geometry import relative_poses

PLAN = np.column_stack([4.0 * np.arange(1, 9), np.zeros(8), np.zeros(8)])
NOW = EgoState(7, np.array([10.0, -4.0, 0.8]), np.array([8.0, 0.0]), np.zeros(2), 1)
START = EpisodeStart("log", "v1", ("a", "b"), 3, (NOW, NOW))


@given(st.text(min_size=1, max_size=8), st.integers(0, 1000))
def test_starts_lie_within_the_ranges(route: str, seed: int) -> None:
    config = DisturbanceConfig(seed=seed)
    start = Disturbance(config, route).start(START)
    ahead, side, turn = relative_poses(start.past[-1].pose[None], NOW.pose)[0]
    assert abs(ahead) < 1e-9 and abs(side) <= config.lateral and abs(turn) <= config.heading
    assert 1 - config.speed <= start.past[-1].velocity[0] / 8.0 <= 1 + config.speed
    assert start.past[0] is NOW
    assert np.array_equal(Disturbance(config, route).start(START).past[-1].pose, start.past[-1].pose)


def test_pushes_come_at_their_rate_and_last() -> None:
    disturbance = Disturbance(DisturbanceConfig(interval=5.0, duration=1.0), "route")
    moved = np.array([not np.array_equal(disturbance.disturb(PLAN), PLAN) for _ in range(4000)])
    begins = np.flatnonzero(moved & ~np.concatenate([[False], moved[:-1]]))
    # A push of two decisions, then on average ten until the next; sometimes two follow each other at once.
    assert 4000 / 14 < len(begins) < 4000 / 10
    assert moved.mean() == pytest.approx(2 / 12, abs=0.03)


def test_without_an_interval_there_are_no_pushes() -> None:
    disturbance = Disturbance(DisturbanceConfig(interval=0.0), "route")
    assert all(disturbance.disturb(PLAN) is PLAN for _ in range(50))


def test_a_pushed_plan_by_hand() -> None:
    """Stretched by a tenth; the shift grows for 1.5 s and stays."""
    found = pushed(PLAN, 1.5, 1.1)
    assert found[:, 0] == pytest.approx(1.1 * PLAN[:, 0])
    assert found[:, 1] == pytest.approx([0.5, 1.0, *[1.5] * 6])
    assert pushed(np.zeros((8, 3)), 1.5, 1.1) == pytest.approx(np.zeros((8, 3)))  # a standing car stays


def test_bad_ranges_are_named() -> None:
    with pytest.raises(ValueError, match="disturbance lateral: -1"):
        DisturbanceConfig(lateral=-1.0)
    with pytest.raises(ValueError, match="a share below 1"):
        DisturbanceConfig(speed=1.0)
