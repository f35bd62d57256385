from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from world4scorer.city.world.expert import TIME_SMOOTHING, expert_drive
from world4scorer.city.world.recording import Drive
from world4scorer.city.world.traffic import TIME_STEP
from world4scorer.engine.scene.vehicle import FRONT_OVERHANG


def drive_along(way: NDArray[np.float64], speed: NDArray[np.float64]) -> Drive:
    """SUMO's kind of driving: a bumper on a polyline (n, 2), a speed (t,) for each step."""
    along = np.concatenate([[0.0], np.cumsum(np.linalg.norm(np.diff(way, axis=0), axis=1))])
    travelled = np.concatenate([[0.0], np.cumsum(speed[:-1] * TIME_STEP)])
    front = np.column_stack([np.interp(travelled, along, way[:, 0]), np.interp(travelled, along, way[:, 1])])
    segment = np.clip(np.searchsorted(along, travelled, side="right") - 1, 0, len(way) - 2)
    step = np.diff(way, axis=0)[segment]
    angle = np.unwrap(np.arctan2(step[:, 1], step[:, 0]))
    return Drive(0, "v0", 0, front, angle, speed, ("lane",) * len(speed), ("edge",))


def bumper(pose: NDArray[np.float64]) -> NDArray[np.float64]:
    return pose[:, :2] + FRONT_OVERHANG * np.stack([np.cos(pose[:, 2]), np.sin(pose[:, 2])], axis=1)


STRAIGHT = np.array([[0.0, 0.0], [1000.0, 0.0]])


def test_steady_driving_is_kept_exactly() -> None:
    expert = expert_drive(drive_along(STRAIGHT, np.full(200, 10.0)))
    assert bumper(expert.pose) == pytest.approx(expert.drive.front, abs=1e-9)
    assert expert.speed == pytest.approx(np.full(200, 10.0))
    assert np.abs(expert.acceleration).max() < 1e-6 and np.abs(expert.yaw_rate).max() < 1e-9


@settings(max_examples=25, deadline=None)
@given(st.lists(st.floats(0.0, 14.0), min_size=3, max_size=6))
def test_jumps_of_speed_become_bearable_and_standing_stays_standing(targets: list[float]) -> None:
    speed = np.concatenate([np.full(60, target) for target in [8.0, *targets, 0.0]])
    # SUMO's cars change their speed at up to about 3 m/s^2, and their acceleration at once.
    for row in range(1, len(speed)):
        speed[row] = np.clip(speed[row], speed[row - 1] - 0.3, speed[row - 1] + 0.18)
    expert = expert_drive(drive_along(STRAIGHT, speed))
    assert expert.speed.min() >= 0.0
    assert (np.diff(expert.travelled) >= -1e-12).all()
    # A step of the acceleration, smoothed by a Gaussian, has its density as jerk.
    steepest = (3.0 + 1.8) / (TIME_SMOOTHING * np.sqrt(2 * np.pi))
    assert np.abs(np.diff(expert.acceleration[5:-5, 0])).max() / TIME_STEP < 1.01 * steepest
    assert np.linalg.norm(bumper(expert.pose) - expert.drive.front, axis=1).max() < 0.4
    still = np.convolve(speed, np.ones(41), mode="same") == 0.0
    assert (expert.speed[still] < 1e-9).all()


def test_a_corner_is_cut_gently() -> None:
    corner = np.array([[0.0, 0.0], [60.0, 0.0], [60.0, 60.0]])
    expert = expert_drive(drive_along(corner, np.full(240, 4.0)))
    heading = expert.pose[:, 2]
    assert heading[0] == pytest.approx(0.0, abs=1e-6) and heading[-1] == pytest.approx(np.pi / 2, abs=1e-3)
    assert (np.diff(heading) > -1e-3).all()
    assert np.linalg.norm(bumper(expert.pose) - expert.drive.front, axis=1).max() < 2.5
    # A car rolls where its wheels point: the rear axle does not slide (in a corner sharper than any street's).
    velocity = np.gradient(expert.pose[:, :2], TIME_STEP, axis=0)
    aside = velocity[:, 1] * np.cos(heading) - velocity[:, 0] * np.sin(heading)
    assert np.abs(aside).max() < 0.03 * 4.0


def test_a_lane_change_is_comfortable() -> None:
    ramp = np.array([[0.0, 0.0], [100.0, 0.0], [142.0, 3.5], [400.0, 3.5]])
    expert = expert_drive(drive_along(ramp, np.full(260, 14.0)))
    assert np.abs(expert.acceleration[:, 1]).max() < 3.0
    assert np.abs(np.diff(expert.yaw_rate)).max() / TIME_STEP < 1.93
