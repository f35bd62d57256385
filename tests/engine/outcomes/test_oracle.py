"""Every metric against its readable version, on made-up scenes."""

from __future__ import annotations

import numpy as np
import pytest

from tests.support.ego_areas import ego_areas
from tests.support.oracle import comfort as comfort_oracle
from tests.support.oracle import metrics as oracle
from tests.support.oracle import rollout as rollout_oracle
from tests.support.scene_factory import make_frame
from world4scorer import epdms, label
from world4scorer.engine.outcomes.ego import ego_boxes
from world4scorer.engine.outcomes.extended_comfort import extended_comfort_rms, plans_last
from world4scorer.engine.outcomes.history_comfort import history_rows

SEEDS = range(12)


@pytest.fixture(scope="module", params=SEEDS)
def judged(request):
    frame = make_frame(request.param)
    return frame, label(frame.scene, frame.plans), epdms(frame.scene, frame.plans, human_filter=False)


def test_v1(judged):
    frame, outcome, _ = judged
    world = oracle.prepare_shapes(oracle.World(frame.scene, 1))
    states = rollout_oracle.roll_out(frame.scene, frame.plans)
    np.testing.assert_array_equal(outcome.nc, [oracle.no_collision(world, s) for s in states])
    np.testing.assert_array_equal(outcome.dac, [oracle.drivable_area(world, s) for s in states])
    np.testing.assert_array_equal(outcome.ddc, [oracle.driving_direction(world, s) for s in states])
    np.testing.assert_array_equal(outcome.ttc, [oracle.time_to_collision(world, s) for s in states])
    np.testing.assert_allclose(outcome.progress, [oracle.progress(world, s) for s in states], atol=1e-8)
    np.testing.assert_array_equal(outcome.comfort_checks, comfort_oracle.checks(states, 1))


def test_v2(judged):
    frame, _, outcome = judged
    world = oracle.prepare_shapes(oracle.World(frame.scene, 2))
    states = rollout_oracle.roll_out(frame.scene, frame.plans)
    np.testing.assert_array_equal(outcome.nc, [oracle.no_collision(world, s) for s in states])
    np.testing.assert_array_equal(outcome.dac, [oracle.drivable_area(world, s) for s in states])
    np.testing.assert_array_equal(outcome.ddc, [oracle.driving_direction(world, s) for s in states])
    np.testing.assert_array_equal(outcome.tlc, [oracle.traffic_light(world, s) for s in states])
    np.testing.assert_array_equal(outcome.ttc, [oracle.time_to_collision(world, s) for s in states])
    np.testing.assert_array_equal(outcome.lk, [oracle.lane_keeping(world, s) for s in states])
    history = history_rows(frame.scene.past_states, frame.scene.past_time_us)
    whole = np.concatenate([np.repeat(history[None], len(states), 0), states], 1)
    np.testing.assert_array_equal(outcome.comfort_checks, comfort_oracle.checks(whole, 2))


def test_areas(judged):
    frame, outcome, _ = judged
    world = oracle.prepare_shapes(oracle.World(frame.scene, 1))
    flags = ego_areas(frame.scene.packed_map, ego_boxes(plans_last(outcome.rollouts)))
    expected = [[world.areas(state) for state in states[::8]] for states in outcome.rollouts]
    np.testing.assert_array_equal(flags[:, ::8], expected)


@pytest.mark.parametrize("shift", [1, 3, 5, 20])
def test_extended_comfort(judged, shift):
    _, outcome, _ = judged
    rms = extended_comfort_rms(outcome.rollouts, outcome.rollouts[0], shift * 0.1)
    expected = [comfort_oracle.extended_rms(now, outcome.rollouts[0], shift) for now in outcome.rollouts]
    np.testing.assert_allclose(rms, expected, atol=1e-7)


def test_made_up_scenes_are_worth_judging():
    """The scenes above would show nothing if a metric were the same for all plans."""
    outcomes = [make_frame(seed) for seed in SEEDS]
    v2 = [epdms(frame.scene, frame.plans, human_filter=False) for frame in outcomes]
    for name in ("nc", "dac", "ddc", "tlc", "ttc", "lk", "hc"):
        values = np.concatenate([getattr(outcome, name) for outcome in v2])
        assert 0.02 < values.mean() < 0.98, name
