"""One training pass through the model, in the two steps between which outcome labels are computed.

Generated, bank and executed plans are three separate calls of the same predictor: within a call plans see each other,
and none must see the executed one. Plans enter without gradient; the future path sees the scene without gradient.

Shapes: B scenes, N generated plans, K bank plans, T poses, D width, E features of the future.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from world4scorer.planner.model.dense_encoder import Perception
from world4scorer.planner.model.encoded import Ego, SceneFeatures
from world4scorer.planner.model.generator import VocabularyGenerator
from world4scorer.planner.model.images import Frames
from world4scorer.planner.model.map_sampling import Maps
from world4scorer.planner.model.network import Network
from world4scorer.planner.model.plan_sampling import Cameras


class Proposed(NamedTuple):
    """Result of the first step: plans to label, and inputs of the second step."""

    scene: SceneFeatures
    ego: Ego
    plans: Tensor
    """(B, N, T, 3), with gradient"""
    cameras: Cameras | None


class Predictions(NamedTuple):
    """Inputs of the losses."""

    plans: Tensor
    """(B, N, T, 3), with gradient"""
    states: Tensor
    """(B, N, D)"""
    logits: Tensor
    """(B, N, 6), of generated plans"""
    bank_logits: Tensor | None
    """(B, K, 6)"""
    future: Tensor | None
    """(B, E), read from the state of the executed plan"""


def propose(
    network: Network, image: Tensor | Frames | Perception, ego_status: Tensor, cameras: Cameras | None = None
) -> Proposed:
    """Encode the scenes and generate plans."""
    scene = network.encode(image)
    ego = network.encode_ego(ego_status)
    return Proposed(scene, ego, network.propose(scene, ego), cameras)


def explored_plans(network: Network, proposed: Proposed, count: int) -> Tensor | None:
    """Random plans (B, count, T, 3) of the vocabulary, if the network has one: the screen learns from these, too."""
    generator = network.generator
    if not isinstance(generator, VocabularyGenerator):
        return None
    every = generator.manoeuvres(proposed.ego.speed)
    chosen = torch.rand(every.shape[:2], device=every.device).argsort(1)[:, :count]
    return every.gather(1, chosen[..., None, None].expand(-1, -1, *every.shape[2:]))


def screen_logits(network: Network, proposed: Proposed, plans_BKT3: Tensor) -> Tensor:
    """What the screen of a vocabulary says of plans (B, K); gradients reach the screen alone."""
    generator, maps = network.generator, proposed.scene.readable
    assert isinstance(generator, VocabularyGenerator) and isinstance(maps, Maps)
    logits: Tensor = generator.screen(plans_BKT3, maps, proposed.ego.encoded.detach(), proposed.ego.route)
    return logits


def predict(
    network: Network,
    proposed: Proposed,
    bank: Tensor | None = None,
    executed: Tensor | None = None,
    future_gradient: float = 1.0,
) -> Predictions:
    """Score generated and bank plans (B, K, T, 3), and read the future from the executed plans (B, T, 3).

    `future_gradient` scales what the future's loss sends into predictor and action encoder; the readout gets it whole.
    Scenes without bank need finite numbers in `bank` all the same.
    """
    scene, ego, plans, cameras = proposed
    states = network.predict(plans, scene, ego, cameras)
    bank_logits = None if bank is None else network.score(network.predict(bank, scene, ego, cameras), ego)
    future = None
    if executed is not None:
        unmoved = ego._replace(encoded=ego.encoded.detach())
        state = network.predict(executed[:, None], scene.detach(), unmoved, cameras)[:, 0]
        future = network.read_future(scale_gradient(state, future_gradient))
    return Predictions(plans, states, network.score(states, ego), bank_logits, future)


def scale_gradient(tensor: Tensor, scale: float) -> Tensor:
    """The same values; backwards, the gradient times `scale`."""
    if scale == 1.0:
        return tensor
    scaled: Tensor = _ScaledGradient.apply(tensor, scale)  # type: ignore[no-untyped-call]
    return scaled


class _ScaledGradient(torch.autograd.Function):
    @staticmethod
    def forward(ctx: torch.autograd.function.FunctionCtx, tensor: Tensor, scale: float) -> Tensor:
        ctx.scale = scale  # type: ignore[attr-defined]
        return tensor.view_as(tensor)

    @staticmethod
    def backward(ctx: torch.autograd.function.FunctionCtx, gradient: Tensor) -> tuple[Tensor, None]:
        return gradient * ctx.scale, None  # type: ignore[attr-defined]
