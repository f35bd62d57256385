"""Sizes of a configured network, read off the network itself: shapes of a pass and parameters, without arithmetic."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch._subclasses.fake_tensor import FakeTensorMode

from world4scorer.planner.diagrams.gradient_routes import part_of
from world4scorer.planner.model.config import DENSE, FROZEN_VIT, ModelConfig
from world4scorer.planner.model.network import Network
from world4scorer.planner.model.utility import COMPONENTS
from world4scorer.planner.profiling.profile import blank_inputs


class Shapes(NamedTuple):
    """Shapes of a pass of one scene, the scene's own axis left out."""

    tokens: tuple[int, ...]
    """Scene tokens, features."""
    plans: tuple[int, ...]
    """Plans, poses, numbers of a pose."""
    states: tuple[int, ...]
    """Plans, features."""
    logits: tuple[int, ...]
    """Plans, components."""
    future: tuple[int, ...]
    """Plans, features; empty without a readout."""


@dataclass(frozen=True)
class ModelFacts:
    """What an overview tells of a model."""

    config: ModelConfig
    shapes: Shapes
    parameters: dict[str, int]
    """By part, see `gradient_routes.PARTS`; the exchange among plans is counted with the predictor."""

    @property
    def encoder(self) -> str:
        """What encodes the views, in a line or two."""
        config = self.config
        if config.encoder == DENSE:
            return "dense encoder\nof the city"
        size = f"ViT, {config.vit_layers} layers x {config.vit_width}"
        if config.encoder == FROZEN_VIT:
            return size
        return f"{size}\nLoRA, rank {config.lora_rank}" if config.lora_rank else size

    @property
    def outcomes(self) -> int:
        """Outcomes that are predicted of a plan."""
        return len(COMPONENTS)


def model_facts(config: ModelConfig) -> ModelFacts:
    """Build the network of a configuration with fake tensors and pass a scene through it."""
    with FakeTensorMode(), torch.no_grad():
        network = Network(config).eval()
        image, ego_status, cameras = blank_inputs(config, 1)
        scene, ego = network.encode(image), network.encode_ego(ego_status)
        plans = network.propose(scene, ego)
        states = network.predict(plans, scene, ego, cameras)
        logits = network.score(states, ego)
        future = () if network.readout is None else tuple(network.read_future(states).shape[1:])
        shapes = Shapes._make([*(tuple(one.shape[1:]) for one in (scene.tokens, plans, states, logits)), future])
        parameters: dict[str, int] = {}
        for name, parameter in network.named_parameters():
            part = part_of(name)
            parameters[part] = parameters.get(part, 0) + parameter.numel()
    return ModelFacts(config, shapes, parameters)
