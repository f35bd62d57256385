from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from tests.support.model_golden import tiny_inputs, tiny_planner
from world4scorer.planner.model.anchors import (
    MAX_CONTROLS,
    MIN_CONTROLS,
    controls_of,
    fit_anchors,
    fit_vocabulary,
    integrate,
)


def driven(count: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Speeds, controls and where they lead, by a loop."""
    rng = np.random.default_rng(seed)
    speeds, controls = rng.uniform(4, 12, count), rng.uniform((-1, -0.3), (1, 0.3), (count, 8, 2))
    poses = np.zeros((count, 8, 3))
    for one in range(count):
        x = y = heading = 0.0
        speed = speeds[one]
        for step in range(8):
            speed = max(0.0, speed + 0.5 * controls[one, step, 0])
            middle = heading + 0.25 * controls[one, step, 1]
            x, y = x + 0.5 * speed * np.cos(middle), y + 0.5 * speed * np.sin(middle)
            heading += 0.5 * controls[one, step, 1]
            poses[one, step] = x, y, heading
    return speeds, controls, poses


def test_controls_lead_where_a_loop_says_and_back():
    speeds, controls, poses = driven(20)
    led = integrate(torch.tensor(speeds), torch.tensor(controls)[:, None])[:, 0].numpy()
    np.testing.assert_allclose(led, poses, atol=1e-9)
    np.testing.assert_allclose(controls_of(speeds, poses), controls, atol=1e-9)


def test_cars_stop_and_stay():
    stopped = integrate(torch.tensor([2.0]), torch.tensor([[[[-3.0, 0.2]] * 8]]))[0, 0]
    assert (stopped[1:, :2] - stopped[:-1, :2]).abs().max() == 0.0


def test_anchors_stand_for_what_was_driven():
    speeds, _, poses = driven(300)
    anchors = fit_anchors(speeds, poses, 32, seed=0)
    assert anchors.shape == (32, 8, 2) and anchors.dtype == np.float32
    np.testing.assert_array_equal(anchors, fit_anchors(speeds, poses, 32, seed=0))

    def nearest(chosen: np.ndarray) -> float:
        led = integrate(torch.tensor(speeds), torch.tensor(chosen, dtype=torch.float64).expand(300, -1, -1, -1))
        return float(np.abs(led.numpy() - poses[:, None]).sum(-1).mean(-1).min(1).mean())

    random = controls_of(speeds, poses)[np.random.default_rng(1).permutation(300)[:32]]
    assert nearest(anchors) < nearest(random)
    with pytest.raises(ValueError, match="20 trajectories are too few"):
        fit_anchors(speeds[:20], poses[:20], 32, seed=0)


def test_a_new_planner_proposes_its_anchors():
    planner = tiny_planner(anchors=True)
    _, controls, _ = driven(planner.config.proposals)
    for parameter in planner.network.generator.head.poses.parameters():
        torch.nn.init.zeros_(parameter)
    planner.network.generator.anchors.copy_(torch.tensor(controls))
    image, ego = tiny_inputs()
    ego[:, 3] = torch.tensor([3.0, 5.0, 0.0])
    plans = planner(image, ego).plans
    led = integrate(ego[:, 3], torch.tensor(controls, dtype=torch.float32).expand(3, -1, -1, -1))
    torch.testing.assert_close(plans, led)


def test_anchors_are_saved_with_the_planner(tmp_path):
    planner = tiny_planner(anchors=True, motion_queries=True)
    planner.network.generator.anchors.normal_()
    planner.save_pretrained(tmp_path)
    again = type(planner).from_pretrained(tmp_path)
    assert again.config == replace(planner.config) and again.config.anchors
    inputs = tiny_inputs()
    assert torch.equal(planner(*inputs).plans, again(*inputs).plans)


def test_a_vocabulary_of_few_trajectories_has_all_its_manoeuvres_to_both_sides():
    rng = np.random.default_rng(0)
    speeds = rng.uniform(2.0, 10.0, 9)
    controls = np.stack([rng.uniform(-1, 1, (9, 8)), np.abs(rng.uniform(0, 0.3, (9, 8)))], -1)
    poses = integrate(torch.from_numpy(speeds), torch.from_numpy(controls)[:, None])[:, 0].numpy()
    found = fit_vocabulary(speeds, poses, 64, seed=0)  # all nine turn left
    np.testing.assert_array_equal(found, fit_vocabulary(speeds, poses, 64, seed=0))
    assert found.shape == (64, 8, 2) and len(np.unique(found.round(4), axis=0)) == 64
    assert (found >= np.array(MIN_CONTROLS) - 1e-4).all() and (found <= np.array(MAX_CONTROLS) + 1e-4).all()
    turns = found[..., 1].sum(1)
    assert (turns > 0.2).sum() > 10 and (turns < -0.2).sum() > 10
