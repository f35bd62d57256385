"""Which losses train which parts of a network: asked of autograd, not written down.

A small network of the same structure as a configuration's gets random weights (some start at zero, and zero stops
gradients) and random scenes; each loss is then differentiated on its own. A part is reached if one of its numbers has a
gradient that is not zero: detached paths give none at all.

>>> routes = gradient_routes(paper())
>>> routes.reached["future"]
frozenset({'action encoder', 'predictor', 'visual readout'})
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final

import torch
from torch import Tensor

from world4scorer.engine.outcomes.results import V1_COLUMNS
from world4scorer.planner.model.config import DENSE, FROZEN_VIT, ModelConfig
from world4scorer.planner.model.generator import VocabularyGenerator
from world4scorer.planner.model.network import Network
from world4scorer.planner.model.plan_sampling import Cameras
from world4scorer.planner.training.config import TrainConfig
from world4scorer.planner.training.losses import Targets, compute_losses, screen_loss
from world4scorer.planner.training.module import freeze_unused
from world4scorer.planner.training.predictions import predict, propose, screen_logits

IMAGE_ENCODER: Final = "image encoder"
SCENE_TOKENS: Final = "scene tokens"
EGO_ENCODER: Final = "ego encoder"
GENERATOR: Final = "generator"
SCREEN: Final = "screen"
PLAN_SAMPLING: Final = "plan sampling"
ACTION_ENCODER: Final = "action encoder"
PREDICTOR: Final = "predictor"
EXCHANGE: Final = "exchange among plans"
"""Query and key projections of the predictor's self-attention: with a single plan there is nothing to exchange."""
SCORE_HEADS: Final = "score heads"
READOUT: Final = "visual readout"
PARTS: Final[tuple[str, ...]] = (
    IMAGE_ENCODER, SCENE_TOKENS, EGO_ENCODER, GENERATOR, SCREEN, PLAN_SAMPLING, ACTION_ENCODER, PREDICTOR, EXCHANGE,
    SCORE_HEADS, READOUT,
)  # fmt: skip
"""In the order in which data passes them."""
LOSSES: Final[tuple[str, ...]] = ("imitation", "score", "bank", "future", "coverage", "screen")
SCENES: Final = 3
BANK_PLANS: Final = 4
WEIGHT_SPREAD: Final = 0.3
"""Standard deviation of the random weights."""
SEED: Final = 0


@dataclass(frozen=True)
class GradientRoutes:
    """What trains what."""

    parts: tuple[str, ...]
    """Parts that the network has, in order."""
    reached: Mapping[str, frozenset[str]]
    """Parts that each loss sends a gradient to, by loss, in the order of `LOSSES`; losses without weight are absent."""

    @property
    def trained(self) -> frozenset[str]:
        """Parts that some loss reaches."""
        return frozenset().union(*self.reached.values())


def gradient_routes(config: TrainConfig) -> GradientRoutes:
    """Ask autograd about the losses of a training configuration."""
    with torch.random.fork_rng(devices=()):
        torch.manual_seed(SEED)
        small = replace(config, model=shrink(config.model))
        network = Network(small.model).eval()
        freeze_unused(network, small)
        _randomise(network)
        numbers = list(_numbers(network))
        losses = _losses(network, small)
        reached = {name: _reached(losses[name], numbers) for name in LOSSES if name in losses}
    there = {part for part, _, _ in numbers}
    return GradientRoutes(tuple(part for part in PARTS if part in there), reached)


def shrink(model: ModelConfig) -> ModelConfig:
    """The same structure with few layers, plans and features; a dense encoder knows its own views and keeps them."""
    side = math.lcm(2 * model.cell, model.sampling_cell if model.sampling_fine else 1)
    if model.encoder != DENSE:
        model = replace(model, image_height=side, image_width=side, crop_top=0)
    return replace(
        model,
        vit_width=8 * model.vit_heads,
        vit_layers=min(2, model.vit_layers),
        lora_rank=min(2, model.lora_rank),
        scene_queries=min(2, model.scene_queries),
        width=8 * model.heads,
        feed_forward=16,
        generator_layers=min(2, model.generator_layers),
        predictor_layers=min(2, model.predictor_layers),
        proposals=6,
        vocabulary=min(12, model.vocabulary),
        future_width=8,
        patch_pooling=model.patch_pooling if model.encoder == FROZEN_VIT else 1,
    )


def part_of(name: str) -> str:
    """The part that a parameter of a network belongs to, by its name."""
    place, _, rest = name.partition(".")
    if place == "encoder":
        is_base = rest.startswith(("vit.", "perceiver.")) and ".down." not in rest and ".up." not in rest
        return IMAGE_ENCODER if is_base else SCENE_TOKENS
    if place == "generator":
        return SCREEN if rest.startswith("screen.") else GENERATOR
    return {
        "ego_encoder": EGO_ENCODER,
        "plan_sampling": PLAN_SAMPLING,
        "action_encoder": ACTION_ENCODER,
        "predictor": PREDICTOR,
        "heads": SCORE_HEADS,
        "readout": READOUT,
    }[place]


def _numbers(network: Network) -> Iterator[tuple[str, Tensor, slice]]:
    """Part, parameter, and which rows of it; the exchange among plans is a piece of the predictor's parameters."""
    for name, parameter in network.named_parameters():
        if ".self_attention.in_" in name and name.startswith("predictor."):
            queries_and_keys = 2 * len(parameter) // 3
            yield EXCHANGE, parameter, slice(0, queries_and_keys)
            yield PREDICTOR, parameter, slice(queries_and_keys, None)
        else:
            yield part_of(name), parameter, slice(None)


def _randomise(network: Network) -> None:
    with torch.no_grad():
        for parameter in network.parameters():
            if parameter.requires_grad:
                parameter.add_(WEIGHT_SPREAD * torch.randn_like(parameter))
        anchors = network.generator.anchors
        if anchors is not None:
            anchors.normal_(std=WEIGHT_SPREAD)


def _losses(network: Network, config: TrainConfig) -> dict[str, Tensor]:
    """Losses with a weight, by name, on random scenes."""
    model, weights = network.config, config.loss_weights
    image = torch.randn(SCENES, model.cameras, 3, model.image_height, model.image_width)
    axes = torch.eye(3).expand(SCENES, model.cameras, 3, 3)
    cameras = Cameras(axes, axes, torch.zeros(SCENES, model.cameras, 3))
    trajectory, bank = torch.randn(SCENES, model.poses, 3), torch.randn(SCENES, BANK_PLANS, model.poses, 3)
    proposed = propose(network, image, torch.rand(SCENES, model.ego_numbers), cameras)
    predictions = predict(
        network,
        proposed,
        bank if weights.bank else None,
        trajectory if weights.future else None,
        weights.future_gradient,
    )
    everywhere = torch.ones(SCENES, dtype=torch.bool)
    targets = Targets(
        trajectory,
        trajectory,
        torch.rand(SCENES, model.proposals, len(V1_COLUMNS)),
        torch.ones(SCENES, BANK_PLANS, len(V1_COLUMNS)),  # all of them good, so that coverage has something to cover
        everywhere,
        torch.randn(SCENES, model.future_width),
        everywhere,
        bank,
    )
    screen = None
    if isinstance(network.generator, VocabularyGenerator) and weights.screen:
        screen = screen_loss(screen_logits(network, proposed, bank), torch.rand(SCENES, BANK_PLANS))
    found = compute_losses(predictions, targets, weights, screen=screen)._asdict()
    return {name: loss for name, loss in found.items() if name in LOSSES and loss is not None}


def _reached(loss: Tensor, numbers: list[tuple[str, Tensor, slice]]) -> frozenset[str]:
    trained = [(part, parameter, rows) for part, parameter, rows in numbers if parameter.requires_grad]
    gradients = torch.autograd.grad(
        loss, [parameter for _, parameter, _ in trained], retain_graph=True, allow_unused=True
    )
    return frozenset(
        part
        for (part, _, rows), gradient in zip(trained, gradients, strict=True)
        if gradient is not None and bool(gradient[rows].any())
    )
