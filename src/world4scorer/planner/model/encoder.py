"""Camera images to scene tokens.

Each view is encoded on its own with learned scene queries before its tokens; only what becomes of these is kept.

Shapes: B scenes, C cameras, Q scene queries per camera, V width of the ViT, D width, h x w patches.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor, nn

from world4scorer.planner.model.config import ModelConfig
from world4scorer.planner.model.images import check_images
from world4scorer.planner.model.vision_transformer import VisionTransformer

QUERY_STD = 1e-6
"""Initial standard deviation of scene queries; small, so that the ViT starts undisturbed."""


class Encoded(NamedTuple):
    """Encoded views."""

    tokens: Tensor
    """(B, C * Q, D)"""
    patches: Tensor | None
    """(B, C, V, h, w), where plan sampling asks for them"""


class SceneEncoder(nn.Module):
    """ViT with adapters, scene queries, and a linear neck."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.config = config
        self.scene_queries = nn.Parameter(torch.empty(1, config.cameras, config.scene_queries, config.vit_width))
        nn.init.normal_(self.scene_queries, std=QUERY_STD)
        self.vit = VisionTransformer(config)
        self.neck = nn.Linear(config.vit_width, config.width)
        self.spare_last_block = not config.plan_sampling
        """Only the scene queries go through all of the ViT's last block; the result is the same."""

    def forward(self, image_BC3HW: Tensor) -> Encoded:
        """Encode normalised images."""
        config = self.config
        check_images(image_BC3HW, config.cameras, config.image_height, config.image_width)
        scenes = len(image_BC3HW)
        queries = self.scene_queries.expand(scenes, -1, -1, -1).flatten(0, 1)
        features = self.vit(image_BC3HW.flatten(0, 1), queries, extra_only=self.spare_last_block)
        tokens = self.neck(features[:, : config.scene_queries]).unflatten(0, (scenes, config.cameras)).flatten(1, 2)
        if self.spare_last_block:
            return Encoded(tokens, None)
        rows, columns = config.grid
        patches = features[:, -rows * columns :].transpose(1, 2)
        return Encoded(tokens, patches.unflatten(2, (rows, columns)).unflatten(0, (scenes, config.cameras)))
