"""Training on logs and on scenes that the planner drove into itself."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from tests.support.small_training import MACHINE
from world4scorer.datasets.store import SceneStore
from world4scorer.engine.scene.geometry import relative_poses
from world4scorer.planner.training.dataset import PlanningDataset, collate
from world4scorer.planner.training.labels import SceneLabeller
from world4scorer.planner.training.losses import winner_takes_all
from world4scorer.planner.training.rollouts import RolloutData, TrainInputs, join_rollouts
from world4scorer.planner.training.run import train
from world4scorer.planner.training.run_files import read_run
from world4scorer.planner.training.split_samples import split_samples


@pytest.fixture(scope="module")
def config(training_set):
    small = training_set.config
    return replace(small, losses=replace(small.losses, bank=0.0, future=0.0), auxiliary_target="none", epochs=1)


def own(training_set, imitation):
    """Scenes of the other split stand for drives."""
    data = training_set.data
    return RolloutData(data.data, data.val_split, data.val_store, imitation=imitation)


def joined(training_set, config, imitation):
    data = training_set.data
    samples = split_samples(data.data, data.split, data.store)
    inputs = TrainInputs(samples, SceneLabeller(SceneStore(data.store)), None, None, None)
    return samples, join_rollouts(inputs, config, [own(training_set, imitation)], lambda *_: None)


def test_nobody_is_imitated_in_own_scenes(training_set, config):
    logged, inputs = joined(training_set, config, "off")
    samples = inputs.samples
    assert len(samples) > len(logged) and samples.tokens[: len(logged)] == logged.tokens
    assert samples.taught.tolist() == [True] * len(logged) + [False] * (len(samples) - len(logged))
    assert samples.teacher_plans is None
    assert all((samples.sensors / views[0]).is_file() for views in samples.images)


def test_pdm_closed_is_imitated(training_set, config):
    logged, inputs = joined(training_set, config, "pdm-closed")
    samples, store = inputs.samples, SceneStore(training_set.data.val_store)
    own_row = len(logged)
    scene = store[samples.tokens[own_row]]
    expected = relative_poses(scene.reference[5:41:5], scene.ego_state[:3])
    assert samples.teacher_plans[own_row] == pytest.approx(expected) and samples.taught.all()
    assert np.isnan(samples.teacher_plans[:own_row]).all()
    dataset = PlanningDataset(samples, config.model, images=False)
    batch = collate([dataset[0, 0], dataset[own_row, 0]])
    assert torch.equal(batch.imitation[0], batch.trajectory[0])
    assert batch.imitation[1].numpy() == pytest.approx(expected, abs=1e-4)
    assert torch.equal(batch.trajectory_warped[1], batch.imitation[1])
    assert not torch.equal(batch.imitation[1], batch.trajectory[1])  # the future is that of what was driven


def test_plans_are_labelled_in_their_own_scenes(training_set, config):
    logged, inputs = joined(training_set, config, "off")
    plans = np.zeros((1, 8, 3))
    token = inputs.samples.tokens[-1]
    expected = SceneLabeller(SceneStore(training_set.data.val_store)).label(token, plans)
    assert np.array_equal(inputs.labeller.label(token, plans), expected)
    inputs.labeller.label(logged.tokens[0], plans)


def test_untaught_scenes_do_not_count():
    plans = torch.arange(2 * 3 * 8 * 3, dtype=torch.float32).reshape(2, 3, 8, 3)
    target = torch.zeros(2, 8, 3)
    first = winner_takes_all(plans[:1], target[:1])
    taught = torch.tensor([True, False])
    assert winner_takes_all(plans, target, taught, torch.tensor(1.0)) == first
    assert winner_takes_all(plans, target, torch.tensor([False, False]), torch.tensor(0.0)) == 0
    assert winner_takes_all(plans, target, torch.tensor([True, True]), torch.tensor(2.0)) == pytest.approx(
        winner_takes_all(plans, target).item()
    )


def test_a_run_with_own_scenes(training_set, config, tmp_path):
    data = replace(training_set.data, rollouts=(own(training_set, "pdm-closed"),))
    planner = train(config, data, tmp_path / "run", MACHINE)
    assert (planner / "config.json").is_file()
    assert read_run(tmp_path / "run") == (config, replace(data, bank=data.bank, targets=data.targets))


def test_an_unknown_teacher_is_named(training_set):
    with pytest.raises(ValueError, match="imitation 'human': choose from off, pdm-closed"):
        own(training_set, "human")
