"""Plan generator: learned queries, conditioned on the ego's state, decoded into poses.

Shapes: B scenes, N plans, T poses, S scene tokens, D width.
"""

from __future__ import annotations

from contextlib import nullcontext
from typing import Final

import torch
from torch import Tensor, nn
from torch.nn import functional

from world4scorer.planner.model.anchors import CONTROLS, integrate
from world4scorer.planner.model.config import POSE_NUMBERS, ModelConfig
from world4scorer.planner.model.decoder import Decoder

CONTROL_SCALE: Final = (1.0, 0.2)
"""Scale of the head's output: acceleration [m/s^2], yaw rate [rad/s]."""


class TrajectoryHead(nn.Module):
    """Feature to some numbers for each pose of a plan."""

    def __init__(self, config: ModelConfig, numbers: int) -> None:
        super().__init__()
        hidden = config.feed_forward
        self.numbers = numbers
        self.layers = nn.Sequential(
            nn.Linear(config.width, hidden),
            nn.LayerNorm(hidden),
            nn.ReLU(),
            nn.Linear(hidden, hidden),
            nn.LayerNorm(hidden),
            nn.ReLU(),
        )
        self.poses = nn.Linear(hidden, config.poses * numbers)

    def forward(self, features_BND: Tensor) -> Tensor:
        """(B, N, T, numbers), float32 whatever the model's precision: bfloat16 has steps of 25 cm at 40 m."""
        hidden = self.layers(features_BND)
        device = hidden.device.type
        with torch.autocast(device, enabled=False) if torch.amp.is_autocast_available(device) else nullcontext():
            numbers = functional.linear(hidden.float(), self.poses.weight.float(), self.poses.bias.float())
        poses: Tensor = numbers.unflatten(-1, (-1, self.numbers))
        return poses


class Generator(nn.Module):
    """Proposal queries plus the encoded ego state, a decoder, a head."""

    anchors: Tensor | None

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.queries = nn.Parameter(torch.empty(config.proposals, config.width))
        nn.init.normal_(self.queries)
        self.decoder = Decoder(config, config.generator_layers)
        self.head = TrajectoryHead(config, CONTROLS if config.anchors else POSE_NUMBERS)
        self.register_buffer("anchors", None)
        if config.anchors:
            self.register_buffer("anchors", torch.zeros(config.proposals, config.poses, CONTROLS))
            nn.init.zeros_(self.head.poses.weight)
            nn.init.zeros_(self.head.poses.bias)

    def forward(self, scene_BSD: Tensor, ego_BD: Tensor, speed_B: Tensor) -> Tensor:
        """Plans (B, N, T, 3); the speed [m/s] is what plans with anchors begin with."""
        queries_BND = self.queries + ego_BD[:, None]
        decoded: Tensor = self.head(self.decoder(queries_BND, scene_BSD))
        if self.anchors is None:
            return decoded
        controls = self.anchors.float() + decoded * decoded.new_tensor(CONTROL_SCALE)
        return integrate(speed_B.float(), controls)
