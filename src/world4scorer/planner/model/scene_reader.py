"""Scene tokens from what a frozen encoder perceives.

Shapes: B scenes, C cameras, Q scene queries per camera, P patches of a view, V features of a patch, F features of a map
cell, D width, X x Y cells of the feature map.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from world4scorer.planner.model.config import ModelConfig
from world4scorer.planner.model.dense_encoder import Perception, Shapes

MAP_STRIDE = 4
"""Cells of the feature map per map token, along both axes."""
INITIAL_SPREAD = 0.02


class SceneReader(nn.Module):
    """Scene queries read the patches of their camera; a coarse convolution turns a feature map, if any, into tokens."""

    def __init__(self, config: ModelConfig, shapes: Shapes) -> None:
        super().__init__()
        (_, patch_width, rows, columns), (map_width, *cells) = shapes[:2]
        self.queries = nn.Parameter(torch.randn(config.cameras, config.scene_queries, config.width) * INITIAL_SPREAD)
        self.keys = nn.Linear(patch_width, config.width)
        self.values = nn.Linear(patch_width, config.width)
        self.patch_place = nn.Parameter(torch.randn(config.cameras, rows * columns, config.width) * INITIAL_SPREAD)
        self.map: nn.Sequential | None = None
        if map_width:
            self.map = nn.Sequential(
                nn.Conv2d(map_width, config.width, 2, 2), nn.GELU(), nn.Conv2d(config.width, config.width, 2, 2)
            )
            tokens = (cells[0] // MAP_STRIDE) * (cells[1] // MAP_STRIDE)
            self.map_place = nn.Parameter(torch.randn(tokens, config.width) * INITIAL_SPREAD)

    def forward(self, perception: Perception) -> Tensor:
        """Scene tokens (B, C * Q, D), or (B, C * Q + cells, D) with a feature map."""
        patches_BCPV = perception.patches.flatten(3).transpose(2, 3)
        keys = self.keys(patches_BCPV) + self.patch_place
        values = self.values(patches_BCPV) + self.patch_place
        queries = self.queries.expand(len(keys), -1, -1, -1)
        read = functional.scaled_dot_product_attention(queries, keys, values).flatten(1, 2)
        if self.map is None:
            return read
        cells = self.map(perception.features).flatten(2).transpose(1, 2) + self.map_place
        return torch.cat([read, cells], 1)
