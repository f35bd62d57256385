"""Scene to plans: learned queries, told of the ego's state, decoded into poses.

Shapes: B scenes, N plans, T poses, S scene tokens, D width.
"""

from __future__ import annotations

from contextlib import nullcontext

import torch
from torch import Tensor, nn
from torch.nn import functional

from world4scorer.model.config import POSE_NUMBERS, ModelConfig
from world4scorer.model.decoder import Decoder


class TrajectoryHead(nn.Module):
    """Feature to the poses of a plan."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        hidden = config.feed_forward
        self.layers = nn.Sequential(
            nn.Linear(config.width, hidden),
            nn.LayerNorm(hidden),
            nn.ReLU(),
            nn.Linear(hidden, hidden),
            nn.LayerNorm(hidden),
            nn.ReLU(),
        )
        self.poses = nn.Linear(hidden, config.plan_numbers)

    def forward(self, features_BND: Tensor) -> Tensor:
        """Plans (B, N, T, 3), float32 whatever the model's precision: bfloat16 has steps of 25 cm at 40 m."""
        hidden = self.layers(features_BND)
        device = hidden.device.type
        with torch.autocast(device, enabled=False) if torch.amp.is_autocast_available(device) else nullcontext():
            numbers = functional.linear(hidden.float(), self.poses.weight.float(), self.poses.bias.float())
        plans: Tensor = numbers.unflatten(-1, (-1, POSE_NUMBERS))
        return plans


class Generator(nn.Module):
    """Proposal queries plus the encoded ego state, a decoder, a head."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.queries = nn.Parameter(torch.empty(config.proposals, config.width))
        nn.init.normal_(self.queries)
        self.decoder = Decoder(config, config.generator_layers)
        self.head = TrajectoryHead(config)

    def forward(self, scene_BSD: Tensor, ego_BD: Tensor) -> Tensor:
        """Plans (B, N, T, 3)."""
        queries_BND = self.queries + ego_BD[:, None]
        plans: Tensor = self.head(self.decoder(queries_BND, scene_BSD))
        return plans
