"""What every family promises, for logs of all kinds: standing, turning, braking, setting off."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from world4scorer.planner.bank import BankConfig, Family
from world4scorer.planner.bank.config import FAMILIES
from world4scorer.planner.bank.logged import POSE_STEPS, TIME, LoggedMotion, decompose
from world4scorer.planner.bank.perturbations import (
    PERTURBATIONS,
    family_counts,
    max_lateral_acceleration,
    perturb,
    scene_rng,
)

CONFIG = BankConfig()
COUNT = 6


def drive(speed: float, acceleration: float, bend: float, noise: int | None = None) -> tuple[np.ndarray, float]:
    """Poses (8, 3) of a car on a circle, and its speed now."""
    t = np.arange(1, 9) * 0.5
    moving = np.minimum(t, speed / -acceleration) if acceleration < 0 else t
    s = speed * moving + acceleration * moving**2 / 2
    heading = bend * s
    x = np.sinc(heading / (2 * np.pi)) * s * np.cos(heading / 2)
    y = np.sinc(heading / (2 * np.pi)) * s * np.sin(heading / 2)
    poses = np.stack([x, y, heading], -1)
    if noise is not None:
        poses += np.random.default_rng(noise).normal(0, [0.02, 0.02, 0.005], (8, 3))
    return poses, speed


@st.composite
def logs(draw: st.DrawFn) -> tuple[np.ndarray, float]:
    speed = draw(st.one_of(st.just(0.0), st.floats(0, 20)))
    acceleration = draw(st.floats(-4, 2))
    bend = draw(st.floats(-1, 1)) * min(0.15, 4.0 / max(speed, acceleration * 4, 1.0) ** 2)
    return drive(speed, acceleration, bend, draw(st.one_of(st.none(), st.integers(0, 99))))


def plans_of(family: Family, log: LoggedMotion, seed: int = 0) -> np.ndarray:
    return PERTURBATIONS[family](log, CONFIG, np.random.default_rng(seed), COUNT)


def steps(plans: np.ndarray) -> np.ndarray:
    """(N, 8, 2) from each pose to the next."""
    return np.diff(np.concatenate([np.zeros((len(plans), 1, 2)), plans[..., :2]], axis=1), axis=1)


@settings(max_examples=60, deadline=None)
@given(logs(), st.integers(0, 1000))
def test_plans_are_sane(log: tuple[np.ndarray, float], seed: int) -> None:
    """Finite, and nowhere sideways: each step leads where the headings at its two ends point."""
    logged = decompose(*log)
    for family in FAMILIES:
        plans = plans_of(family, logged, seed)
        assert plans.shape == (COUNT, 8, 3) and np.isfinite(plans).all()
        step = steps(plans)
        heading = np.concatenate([np.zeros((COUNT, 1)), plans[..., 2]], axis=1)
        middle = (heading[:, 1:] + heading[:, :-1]) / 2
        ahead = step[..., 0] * np.cos(middle) + step[..., 1] * np.sin(middle)
        aside = step[..., 1] * np.cos(middle) - step[..., 0] * np.sin(middle)
        assert ahead.min() > -0.1, family
        assert (np.abs(aside) <= 0.25 + 0.35 * np.abs(ahead)).all(), family


@settings(max_examples=60, deadline=None)
@given(logs())
def test_taking_apart_keeps_the_log(log: tuple[np.ndarray, float]) -> None:
    logged = decompose(*log)
    assert (np.diff(logged.progress) >= 0).all() and logged.progress[0] == 0
    again = logged.path.poses(logged.progress[POSE_STEPS])
    np.testing.assert_allclose(again[:, :2], log[0][:, :2], atol=0.35)


@settings(max_examples=60, deadline=None)
@given(logs(), st.integers(0, 1000))
def test_timing_families_stay_on_the_way(log: tuple[np.ndarray, float], seed: int) -> None:
    logged = decompose(*log)
    path = np.stack([logged.path.x, logged.path.y], -1)
    for family in (Family.SPEED_SCALE, Family.TIME_WARP, Family.EXTENSION, Family.SLOW_FIRST, Family.DELAY):
        for pose in plans_of(family, logged, seed).reshape(-1, 3):
            assert np.linalg.norm(path - pose[:2], axis=1).min() < 0.2


def travelled(plans: np.ndarray) -> np.ndarray:
    """(N, 8) m from the start, along straight logs."""
    return plans[..., 0]


@settings(max_examples=60, deadline=None)
@given(st.floats(0, 20), st.floats(-4, 2), st.integers(0, 1000))
def test_ahead_or_behind(speed: float, acceleration: float, seed: int) -> None:
    """On a straight log: who is never ahead, never behind, and back in time."""
    poses, _ = drive(speed, acceleration, 0.0)
    logged = decompose(poses, speed)
    own = logged.progress[POSE_STEPS]
    for family in (Family.HARD_BRAKE, Family.DELAY, Family.SLOW_FIRST, Family.STATIONARY):
        assert (travelled(plans_of(family, logged, seed)) <= own + 1e-6).all(), family
    assert (travelled(plans_of(Family.EXTENSION, logged, seed)) >= own - 1e-6).all()
    np.testing.assert_allclose(travelled(plans_of(Family.TIME_WARP, logged, seed))[:, -1], own[-1], atol=1e-6)


@pytest.mark.parametrize("speed", [3.0, 8.0, 15.0])
def test_plans_begin_with_the_speed_that_the_ego_has(speed: float) -> None:
    logged = decompose(*drive(speed, 0.0, 0.0))
    for family in set(FAMILIES) - {Family.STATIONARY}:
        first = np.linalg.norm(steps(plans_of(family, logged))[:, 0], axis=1) / 0.5
        # Half a second of the strongest braking, change of pace or acceleration lies between.
        assert (first > min(0.45 * speed, speed - 2.0)).all() and (first < 1.8 * speed + 1.0).all(), family


def test_hard_brake_comes_to_a_stop() -> None:
    plans = plans_of(Family.HARD_BRAKE, decompose(*drive(5.0, 0.0, 0.0)))
    assert np.abs(steps(plans)[:, -1]).max() < 0.05


def test_delay_is_the_log_some_time_later() -> None:
    logged = decompose(*drive(4.0, 1.0, 0.0))
    config = BankConfig(delay=(1.0, 1.0), delay_ramp=(2.0, 2.0))
    plans = PERTURBATIONS[Family.DELAY](logged, config, np.random.default_rng(0), 2)
    expected = np.interp(TIME[POSE_STEPS][4:] - 1.0, TIME, logged.progress)
    np.testing.assert_allclose(plans[0, 4:, 0], expected, atol=1e-6)


def test_lateral_offset_arrives_and_may_come_back() -> None:
    logged = decompose(*drive(10.0, 0.0, 0.0))
    ranges = {"lateral_offset": (2.0, 2.0), "lateral_ramp": (1.5, 1.5), "lateral_start": (0.0, 0.0)}
    stay, back = (
        PERTURBATIONS[Family.LATERAL_OFFSET](
            logged, BankConfig(**ranges, lateral_return=share), np.random.default_rng(0), COUNT
        )
        for share in (0.0, 1.0)
    )
    np.testing.assert_allclose(np.abs(stay[:, 3:, 1]), 2.0, atol=1e-6)
    np.testing.assert_allclose(back[:, -2:, 1], 0.0, atol=1e-6)
    assert {-1.0, 1.0} == set(np.sign(stay[:, -1, 1]))


def test_endpoint_shift_grows_until_the_end() -> None:
    plans = plans_of(Family.ENDPOINT_SHIFT, decompose(*drive(10.0, 0.0, 0.0)))
    aside = np.abs(plans[..., 1])
    assert (np.diff(aside) > 0).all() and (aside[:, -1] >= 1.0).all()


def test_wrong_branch_turns_off_and_goes_straight() -> None:
    off = plans_of(Family.WRONG_BRANCH, decompose(*drive(6.0, 0.0, 0.0)))
    assert (np.abs(off[:, -1, 2]) > 0.3).all()
    left = decompose(*drive(6.0, 0.0, 0.06))
    wrong = plans_of(Family.WRONG_BRANCH, left)
    assert left.turn > 1.0 and (wrong[:, -1, 2] < 0.5).all()


def test_shifted_turns_are_early_or_late() -> None:
    """Straight for 10 m, then left."""
    s = np.arange(1, 9) * 2.5
    turned = np.maximum(s - 10.0, 0.0) * 0.1
    x = np.minimum(s, 10.0) + np.sin(turned) / 0.1
    poses = np.stack([x, (1 - np.cos(turned)) / 0.1, turned], -1)
    plans = plans_of(Family.SHIFTED_TURN, decompose(poses, 5.0))
    change = plans[:, 5, 2] - poses[5, 2]
    assert (np.abs(change) > 0.1).all() and (change > 0).any() and (change < 0).any()


def test_a_log_that_stands_is_set_off_from() -> None:
    logged = decompose(*drive(0.0, 0.0, 0.0))
    found = perturb(logged, CONFIG, scene_rng(0, "t", 0))
    assert set(found.family) == {
        Family.LATERAL_OFFSET,
        Family.ENDPOINT_SHIFT,
        Family.EXTENSION,
        Family.WRONG_BRANCH,
        Family.STATIONARY,
    }
    assert (found.plans[found.family != Family.STATIONARY][:, -1, 0] >= 0.0).all()
    assert found.plans[:, -1, 0].max() > 5.0


@settings(max_examples=60, deadline=None)
@given(logs(), st.integers(0, 1000))
def test_nothing_that_a_car_cannot_do(log: tuple[np.ndarray, float], seed: int) -> None:
    """Sideways within grip; ahead, a change of pace adds at most `hardest` to what the log does at its hardest."""
    logged = decompose(*log)
    found = perturb(logged, CONFIG, scene_rng(seed, "t", 0))
    assert max_lateral_acceleration(found.plans.astype(float)).max() <= CONFIG.grip + 0.01
    paced = np.isin(found.family, [Family.SPEED_SCALE, Family.TIME_WARP, Family.SLOW_FIRST, Family.DELAY])
    speed = np.linalg.norm(steps(found.plans[paced]), axis=2) / 0.5
    own = np.abs(np.diff(logged.speed)).max() / 0.1
    if paced.any():
        assert np.abs(np.diff(speed)).max() / 0.5 <= CONFIG.hardest + 4.0 * own + 1.0


def test_every_proposal_is_made() -> None:
    for count in (1, 2, 12, 128, 999):
        config = BankConfig(proposals=count)
        assert sum(family_counts(decompose(*drive(8.0, 0.0, 0.03)), config).values()) == count


def test_seed_token_and_round_decide() -> None:
    logged = decompose(*drive(8.0, 0.0, 0.03))

    def made(*key: object) -> bytes:
        return perturb(logged, CONFIG, scene_rng(*key)).plans.tobytes()  # type: ignore[arg-type]

    assert made(0, "a", 0) == made(0, "a", 0)
    assert len({made(0, "a", 0), made(1, "a", 0), made(0, "b", 0), made(0, "a", 1)}) == 4


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"kept": 65}, "at most 64"),
        ({"unsafe": 65}, "unsafe: 65"),
        ({"brake": (5.0, 3.0)}, "brake"),
        ({"delay_ramp": (1.0, 2.0)}, "backwards"),
        ({"time_warp": (0.0, 1.5)}, "time_warp"),
        ({"proposals": 0}, "at least one"),
        ({"fastest": float("nan")}, "fastest"),
    ],
)
def test_settings_that_make_no_sense(values: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        BankConfig(**values)  # type: ignore[arg-type]
