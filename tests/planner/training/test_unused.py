"""What no loss reaches is frozen, and nothing else: several devices wait for the gradients of all the rest."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from tests.support.small_training import SMALL
from world4scorer.planner.model.config import FROZEN_VIT
from world4scorer.planner.model.network import Network
from world4scorer.planner.model.plan_sampling import Cameras
from world4scorer.planner.training.augmentation import AugmentationConfig
from world4scorer.planner.training.grid_mask import GridMaskConfig
from world4scorer.planner.training.losses import LossConfig, Targets, compute_losses
from world4scorer.planner.training.module import freeze_unused
from world4scorer.planner.training.predictions import predict, propose

WEIGHTS = {
    "all": LossConfig(),
    "no future": LossConfig(future=0.0),
    "no bank": LossConfig(bank=0.0),
    "no outcomes": LossConfig(score=0.0, bank=0.0),
    "imitation alone": LossConfig(score=0.0, bank=0.0, future=0.0),
    "outcomes alone": LossConfig(imitation=0.0, future=0.0),
    "future alone": LossConfig(imitation=0.0, score=0.0, bank=0.0),
}

MODELS = {
    "images": {},
    "blind": {"images": False},
    "frozen ViT": {"encoder": FROZEN_VIT, "train_vit": False, "sampling_fine": 0},
}


def reached(network: Network, weights: LossConfig) -> set[str]:
    """Names of the parameters that the losses send a gradient to."""
    sizes = network.config
    scenes, plans = 2, 3
    ego_status = torch.randn(scenes, sizes.ego_numbers)
    image = torch.randn(scenes, sizes.cameras, 3, sizes.image_height, sizes.image_width)
    cameras = Cameras(
        torch.eye(3).expand(scenes, sizes.cameras, 3, 3),
        torch.eye(3).expand(scenes, sizes.cameras, 3, 3),
        torch.zeros(scenes, sizes.cameras, 3),
    )
    trajectory, bank = torch.randn(scenes, sizes.poses, 3), torch.randn(scenes, plans, sizes.poses, 3)
    predictions = predict(
        network,
        propose(network, image, ego_status, cameras),
        bank if weights.bank else None,
        trajectory if weights.future else None,
    )
    everywhere = torch.ones(scenes, dtype=torch.bool)
    targets = Targets(
        trajectory,
        trajectory,
        torch.rand(scenes, sizes.proposals, 7),
        torch.rand(scenes, plans, 7),
        everywhere,
        torch.randn(scenes, sizes.future_width),
        everywhere,
    )
    compute_losses(predictions, targets, weights).total.backward()
    return {name for name, parameter in network.named_parameters() if parameter.grad is not None}


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("name", WEIGHTS)
def test_frozen_is_what_no_loss_reaches(name, model):
    unvaried = replace(SMALL, augmentation=AugmentationConfig(), grid_mask=GridMaskConfig(probability=0.0))
    config = replace(unvaried, model=replace(SMALL.model, **MODELS[model]), losses=WEIGHTS[name])
    torch.manual_seed(0)
    network = Network(config.model)
    trained_before = {name for name, parameter in network.named_parameters() if parameter.requires_grad}
    wanted = trained_before & reached(network, config.losses)
    freeze_unused(network, config)
    assert {name for name, parameter in network.named_parameters() if parameter.requires_grad} == wanted
