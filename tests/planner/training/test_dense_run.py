"""Training around the frozen encoder: cached features, the vocabulary's screen, what learns and what does not."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
import torch

from tests.support.small_training import MACHINE, SMALL_DENSE
from world4scorer.datasets.store import SceneStore
from world4scorer.jobs.tensor_files import read_tensors
from world4scorer.planner.model.dense_encoder_files import load_dense_encoder
from world4scorer.planner.planner import Planner
from world4scorer.planner.training.augmentation import AugmentationConfig
from world4scorer.planner.training.dataset import PlanningDataset, collate
from world4scorer.planner.training.labels import LabelThreads, SceneLabeller
from world4scorer.planner.training.losses import screen_loss
from world4scorer.planner.training.predictions import explored_plans, propose, screen_logits
from world4scorer.planner.training.run import make_network, train
from world4scorer.planner.training.split_samples import split_samples


@pytest.fixture(scope="module")
def finished(training_set, tmp_path_factory):
    out = tmp_path_factory.mktemp("dense") / "run"
    train(SMALL_DENSE, training_set.data, out, MACHINE)
    return out


def test_a_run_learns_and_its_encoder_stays(training_set, finished):
    lines = [json.loads(line) for line in (finished / "history.jsonl").read_text().splitlines()]
    assert lines[-1]["train/total"] < lines[0]["train/total"] and 0 < lines[-1]["train/screen"] < 1
    tensors = read_tensors(finished / "planner" / "model.safetensors")
    for name, tensor in load_dense_encoder("city").state_dict().items():
        assert torch.equal(tensors[f"encoder.perceiver.{name}"], tensor), name


def test_a_finished_planner_sees_images_as_it_saw_cached_features(training_set, finished):
    data = training_set.data
    planner = Planner.from_pretrained(finished / "planner")
    samples = split_samples(data.data, "city_val", data.val_store).at([0, 5])
    batch = collate([PlanningDataset(samples, planner.config)[index, 0] for index in range(2)])
    scored = planner(batch.image, batch.ego_status, batch.cameras)
    again = planner(planner.network.encoder.perceive(batch.image), batch.ego_status, batch.cameras)
    assert torch.equal(scored.plans, again.plans) and torch.equal(scored.utility(), again.utility())


def test_gradients_of_the_screen_reach_the_screen_alone(training_set):
    data = training_set.data
    samples = split_samples(data.data, data.split, data.store)
    network = make_network(SMALL_DENSE, samples)
    batch = collate([PlanningDataset(samples, SMALL_DENSE.model)[index, 0] for index in range(4)])
    proposed = propose(network, batch.image, batch.ego_status, batch.cameras)
    explored = explored_plans(network, proposed, 5)
    assert explored.shape == (4, 5, 8, 3) and torch.equal(explored[0, :, 0].diff(dim=0).any(1), torch.ones(4).bool())
    plans = torch.cat([proposed.plans, explored], 1)
    table = LabelThreads(SceneLabeller(SceneStore(data.store))).submit(batch.tokens, plans).result()
    screen_loss(screen_logits(network, proposed, plans.detach()), table[..., -1]).backward()
    moved = {name for name, part in network.named_parameters() if part.grad is not None and part.grad.any()}
    assert moved and all(name.startswith("generator.screen.") for name in moved)


def test_what_cached_features_cannot_do_is_refused():
    with pytest.raises(ValueError, match="cached"):
        replace(SMALL_DENSE, augmentation=AugmentationConfig(mirror=0.5))
    with pytest.raises(ValueError, match="not a dense encoder"):
        load_dense_encoder("city-masked")


def test_a_control_without_images_takes_the_same_weights(training_set):
    data = training_set.data
    blind = replace(SMALL_DENSE, model=replace(SMALL_DENSE.model, images=False, vocabulary=0))
    network = make_network(blind, split_samples(data.data, data.split, data.store))
    assert network.encode(torch.zeros(2, 0)).tokens.eq(0).all()


def test_screen_loss_is_least_at_the_scores():
    scores = torch.tensor([[0.2, 0.9, 0.5]])
    logits = torch.logit(scores)
    assert screen_loss(logits, scores) < min(screen_loss(logits + 0.3, scores), screen_loss(logits - 0.3, scores))
