from __future__ import annotations

import json
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.signal import savgol_filter

from world4scorer.evaluation.leaderboard.smoothness import Motion, chunks_passed, read_motion, smoothness


def drive(longitudinal=0.0, lateral=0.0, yaw_rate=0.0, samples=20, heading=0.4):
    """A motion of constant or given series: m/s^2 along and across a heading, deg/s."""
    forward = np.tile([math.cos(heading), math.sin(heading), 0.0], (samples, 1))
    right = np.tile([-math.sin(heading), math.cos(heading), 0.0], (samples, 1))
    along, across = (np.broadcast_to(series, samples)[:, None] for series in (longitudinal, lateral))
    turn = np.zeros((samples, 3))
    turn[:, 2] = yaw_rate
    return Motion(along * forward + across * right, turn, forward, right)


def passes(corrected=False, step=0.1, **series):
    return bool(chunks_passed(drive(**series), corrected, step).all())


def test_limits_of_acceleration():
    assert passes(longitudinal=2.39) and not passes(longitudinal=2.41)
    assert passes(longitudinal=-4.04) and not passes(longitudinal=-4.06)
    assert passes(lateral=4.88) and not passes(lateral=4.90)
    assert passes(lateral=-4.88) and not passes(lateral=-4.90)


def test_limits_of_jerk():
    """Ramps, which a filter of order 2 keeps as they are; short steps, so that they stay within the accelerations."""
    assert passes(longitudinal=4.1 * (0.05 * np.arange(20) - 0.6), step=0.05)
    assert not passes(longitudinal=4.2 * (0.05 * np.arange(20) - 0.6), step=0.05)
    assert passes(lateral=8.3 * 0.025 * np.arange(20), step=0.025)
    assert not passes(lateral=8.4 * 0.025 * np.arange(20), step=0.025)
    assert not passes(longitudinal=-8.4 * 0.025 * np.arange(20), step=0.025)


def test_quirk_units_of_the_yaw_rate():
    assert passes(yaw_rate=0.94) and not passes(yaw_rate=0.96)
    assert passes(yaw_rate=math.degrees(0.94), corrected=True) and not passes(
        yaw_rate=math.degrees(0.96), corrected=True
    )


def test_quirk_yaw_acceleration():
    """2.2 rad/s^2 between -0.9 and 0.9 rad/s: the published formula does not look at it."""
    jolt = np.degrees(np.clip(2.2 * (0.1 * np.arange(20) - 0.95), -0.9, 0.9))
    assert not passes(yaw_rate=jolt, corrected=True)
    assert passes(yaw_rate=jolt / 2, corrected=True)
    assert passes(yaw_rate=np.radians(jolt))  # as if it had been in rad/s: only the rate is looked at


def test_quirk_time_step():
    time = 0.05 * np.arange(20)
    ramp = 6.0 * (time - 0.6)
    assert passes(longitudinal=ramp, step=0.1) and not passes(longitudinal=ramp, step=0.05)
    with pytest.raises(ValueError, match="step 0"):
        chunks_passed(drive(), step=0)


def test_chunks():
    """The second of three chunks fails; seven samples are left over, however bad."""
    series = np.zeros(67)
    series[30] = 30
    series[60:] = 30
    motion = drive(longitudinal=series, samples=67)
    assert chunks_passed(motion).tolist() == [True, False, True]
    assert smoothness(motion) == pytest.approx(2 / 3)
    assert math.isnan(smoothness(drive(samples=19)))


def readable(motion, step=0.1):
    """The rule again, chunk by chunk, with scipy's filter."""
    verdicts = []
    for start in range(0, len(motion.acceleration) - 19, 20):
        rows = slice(start, start + 20)
        along = np.einsum("ij,ij->i", motion.acceleration[rows], motion.forward[rows])
        across = np.einsum("ij,ij->i", motion.acceleration[rows], motion.right[rows])
        longitudinal, lateral, total, yaw = (
            savgol_filter(series, 7, 2)
            for series in (along, across, np.hypot(along, across), motion.angular_velocity[rows, 2])
        )
        jerk = savgol_filter(total, 7, 2, deriv=1, delta=step)
        longitudinal_jerk = savgol_filter(longitudinal, 7, 2, deriv=1, delta=step)
        verdicts.append(
            longitudinal.min() > -4.05
            and longitudinal.max() < 2.40
            and abs(lateral).max() < 4.89
            and abs(jerk).max() < 8.37
            and abs(longitudinal_jerk).max() < 4.13
            and abs(yaw).max() < 1.93
            and abs(yaw).max() < 0.95
        )
    return verdicts


@settings(deadline=None, max_examples=60)
@given(st.integers(0, 2**32 - 1), st.floats(0.1, 3), st.sampled_from([0.1, 0.05]))
def test_against_scipy(seed, size, step):
    rng = np.random.default_rng(seed)
    samples = int(rng.integers(0, 90))
    wander = 0.3 * size * rng.standard_normal((3, samples)).cumsum(1)
    motion = drive(wander[0], wander[1], 0.3 * wander[2], samples, heading=rng.uniform(-3, 3))
    assert chunks_passed(motion, step=step).tolist() == readable(motion, step)


def tick(acceleration):
    return {
        "acceleration": [acceleration, 0.0, 0.0],
        "angular_velocity": [0.0, 0.0, 0.0],
        "forward_vector": [1.0, 0.0, 0.0],
        "right_vector": [0.0, 1.0, 0.0],
        "location": [1.0, 2.0, 3.0],
        "rotation": [0.0, 0.0, 0.0],
    }


def test_the_agent_s_file(tmp_path):
    """Ticks come in the order of their numbers, not of the text."""
    path = tmp_path / "metric_info.json"
    path.write_text(json.dumps({str(i): tick(i / 10) for i in reversed(range(22))}))
    assert read_motion(path).acceleration[:, 0] == pytest.approx(np.arange(22) / 10)
    path.write_text("{}")
    assert len(read_motion(path).acceleration) == 0


@pytest.mark.parametrize(
    "content", ["", "4", '{"a": {}}', '{"0": {}}', '{"0": 4}', json.dumps({"0": tick(1) | {"right_vector": [1, 2]}})]
)
def test_broken_files(tmp_path, content):
    path = tmp_path / "metric_info.json"
    path.write_text(content)
    with pytest.raises(ValueError, match=r"metric_info\.json: "):
        read_motion(path)
