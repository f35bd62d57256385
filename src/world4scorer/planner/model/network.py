"""The complete network: encode, propose, predict, score, read out.

Shapes: B scenes, N plans, T poses, C cameras, D width, E features of the future.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import torch
from torch import Tensor, nn

from world4scorer.planner.model.config import DENSE, POSE_NUMBERS, ModelConfig
from world4scorer.planner.model.dense_encoder import DenseEncoder, Perception
from world4scorer.planner.model.dense_encoder_config import DenseEncoderConfig
from world4scorer.planner.model.encoded import Ego, SceneFeatures
from world4scorer.planner.model.encoder import SceneEncoder
from world4scorer.planner.model.forecast import FORECAST_WIDTH
from world4scorer.planner.model.frozen_vit import FrozenEncoder, FrozenViT
from world4scorer.planner.model.generator import Generator, VocabularyGenerator
from world4scorer.planner.model.images import Frames
from world4scorer.planner.model.map_sampling import Maps, MapSampling
from world4scorer.planner.model.plan_sampling import Cameras, PlanSampling
from world4scorer.planner.model.route_reading import read_route, route_points
from world4scorer.planner.model.scene_reader import SceneReader
from world4scorer.planner.model.scorer import ActionEncoder, Predictor, ScoreHeads
from world4scorer.planner.model.vision_transformer import VisionTransformer

SPEED: Final = 3
"""Place of the forward velocity [m/s] in the ego status."""


class Forward(NamedTuple):
    """Output of a forward pass."""

    plans: Tensor
    """(B, N, T, 3) float32"""
    states: Tensor
    """(B, N, D)"""
    logits: Tensor
    """(B, N, 6) float32, in the order of `COMPONENTS`"""


class FrozenSceneEncoder(nn.Module):
    """An encoder that is not trained, and what reads scene tokens from it, which is."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        encoder = _dense_encoder(config) if config.encoder == DENSE else FrozenViT(config)
        self.perceiver: FrozenEncoder = encoder.requires_grad_(False).eval()
        self.reader = SceneReader(config, encoder.shapes)

    def train(self, mode: bool = True) -> FrozenSceneEncoder:
        """Switch the reader's mode; statistics of the frozen encoder stay."""
        super().train(mode)
        self.perceiver.eval()
        return self

    @torch.no_grad()
    def perceive(self, image: Tensor | Frames) -> Perception:
        """What the frozen encoder makes of normalised images."""
        perceived: Perception = self.perceiver(image.to(self.reader.queries.dtype))
        return perceived

    def forward(self, image: Tensor | Frames | Perception) -> tuple[Tensor, Perception]:
        """Scene tokens, and what they were read from."""
        perception = image if isinstance(image, Perception) else self.perceive(image)
        return self.reader(perception), perception


def _dense_encoder(config: ModelConfig) -> DenseEncoder:
    width = FORECAST_WIDTH if config.forecast else 0
    sizes = DenseEncoderConfig(config.image_height, config.image_width, config.crop_top, forecast=width)
    if config.cameras != len(sizes.mounts):
        raise ValueError(f"cameras: {config.cameras}; the dense encoder looks at {len(sizes.mounts)} views")
    return DenseEncoder(sizes)


class Network(nn.Module):
    """Parameters and steps. `Planner` is the way in for inference; training calls the steps."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.config = config
        self.encoder: SceneEncoder | FrozenSceneEncoder = (
            FrozenSceneEncoder(config) if config.frozen_encoder else SceneEncoder(config)
        )
        self.ego_encoder = nn.Linear(config.ego_numbers, config.width)
        self.generator: Generator = VocabularyGenerator(config) if config.vocabulary else Generator(config)
        self.action_encoder = ActionEncoder(config)
        self.predictor = Predictor(config)
        self.heads = ScoreHeads(config)
        self.readout = nn.Linear(config.width, config.future_width) if config.readout else None
        self.plan_sampling: PlanSampling | MapSampling | None = None
        if config.plan_sampling:
            self.plan_sampling = MapSampling(config) if config.encoder == DENSE else PlanSampling(config)

    @property
    def vit(self) -> VisionTransformer:
        """The ViT of a model that has one; a ValueError for others."""
        encoder = self.encoder.perceiver if isinstance(self.encoder, FrozenSceneEncoder) else self.encoder
        if isinstance(encoder, DenseEncoder):
            raise ValueError(f"this model has no ViT: its encoder is {self.config.encoder!r}")
        return encoder.vit

    @property
    def dtype(self) -> torch.dtype:
        """Precision of the parameters."""
        return self.ego_encoder.weight.dtype

    def encode(self, image: Tensor | Frames | Perception) -> SceneFeatures:
        """Encode normalised images (B, C, 3, H, W); empty for a model without images.

        A model with a forecast takes two frames; one with a frozen encoder also takes what that encoder has perceived
        before, from a cache.
        """
        config = self.config
        if not config.images:
            scenes = len(image) if isinstance(image, Tensor) else len(image[0])
            tokens = self.ego_encoder.weight.new_zeros(scenes, config.cameras * config.scene_queries, config.width)
            return SceneFeatures(tokens, None)
        image_BC3HW = None
        if isinstance(self.encoder, FrozenSceneEncoder):
            tokens, perception = self.encoder(image)
            if isinstance(self.encoder.perceiver, DenseEncoder):
                return SceneFeatures(tokens, Maps.of(self.encoder.perceiver.heads, perception))
            patches = perception.patches
        elif not isinstance(image, Tensor):
            raise ValueError("image: features or frames for a frozen encoder, but this model encodes images itself")
        else:
            image_BC3HW = image.to(self.dtype)
            tokens, patches = self.encoder(image_BC3HW)
        sampling = self.plan_sampling
        readable = sampling.prepare(patches, image_BC3HW) if isinstance(sampling, PlanSampling) else None
        return SceneFeatures(tokens, readable)

    def encode_ego(self, ego_status: Tensor) -> Ego:
        """The encoded ego state of ego statuses (B, 11)."""
        if ego_status.ndim != 2 or ego_status.shape[1] != self.config.ego_numbers:
            given = tuple(ego_status.shape)
            raise ValueError(f"ego_status: shape {given}; (scenes, {self.config.ego_numbers}) is needed")
        route = route_points(ego_status) if self.config.route_reading else None
        return Ego(self.ego_encoder(ego_status.to(self.dtype)), ego_status[:, SPEED], route)

    def propose(self, scene: SceneFeatures, ego: Ego) -> Tensor:
        """Plans (B, N, T, 3)."""
        plans: Tensor = self.generator(scene, ego)
        return plans

    def predict(self, plans_BNT3: Tensor, scene: SceneFeatures, ego: Ego, cameras: Cameras | None = None) -> Tensor:
        """States (B, N, D) of plans that are looked at together. No gradient flows into the plans."""
        self._check_plans(plans_BNT3, len(scene.tokens))
        plans_BNT3 = plans_BNT3.detach()
        queries = self.action_encoder(plans_BNT3, ego.encoded)
        if self.plan_sampling is not None and self.config.images:
            read = self.read_along(plans_BNT3, scene, ego, cameras)
            queries = queries + self.plan_sampling.out(read.to(self.dtype))
        states: Tensor = self.predictor(queries, scene.tokens)
        return states

    def read_along(self, plans_BNT3: Tensor, scene: SceneFeatures, ego: Ego, cameras: Cameras | None) -> Tensor:
        """What plan sampling reads of plans: from the scene, and along the route where the model knows it."""
        assert self.plan_sampling is not None
        read = self.plan_sampling.read(plans_BNT3, scene.readable, cameras)
        return read if ego.route is None else torch.cat([read, read_route(plans_BNT3, ego.route).to(read.dtype)], -1)

    def score(self, states_BND: Tensor, ego: Ego) -> Tensor:
        """Logits (B, N, 6) of states."""
        logits: Tensor = self.heads(states_BND.to(self.dtype), ego.encoded)
        return logits

    def read_future(self, states: Tensor) -> Tensor:
        """The visual future (..., E) that states (..., D) stand for."""
        if self.readout is None:
            raise ValueError("this model was built without a visual readout (config.readout is False)")
        future: Tensor = self.readout(states.to(self.dtype))
        return future

    def forward(
        self,
        image: Tensor | Frames | Perception,
        ego_status: Tensor,
        plans_BNT3: Tensor | None = None,
        cameras: Cameras | None = None,
        corridor: Tensor | None = None,
    ) -> Forward:
        """Score the model's own plans, made to stay near a route (B, m, 2) if it is given, or plans that are given."""
        perceiver = self.encoder.perceiver if isinstance(self.encoder, FrozenSceneEncoder) else None
        if isinstance(perceiver, DenseEncoder) and not isinstance(image, Perception) and cameras is not None:
            perceiver.config.check_cameras(cameras)
        scene = self.encode(image)
        ego = self.encode_ego(ego_status)._replace(corridor=corridor)
        if len(ego.encoded) != len(scene.tokens):
            raise ValueError(f"ego_status: {len(ego.encoded)} scenes, but image has {len(scene.tokens)}")
        plans = self.propose(scene, ego) if plans_BNT3 is None else plans_BNT3.float()
        states = self.predict(plans, scene, ego, cameras)
        return Forward(plans, states, self.score(states, ego))

    def _check_plans(self, plans: Tensor, scenes: int) -> None:
        expected = (self.config.poses, POSE_NUMBERS)
        if plans.ndim != 4 or len(plans) != scenes or tuple(plans.shape[2:]) != expected:
            needed = f"({scenes}, plans, {expected[0]}, {expected[1]})"
            raise ValueError(f"plans: shape {tuple(plans.shape)}; {needed} is needed")
