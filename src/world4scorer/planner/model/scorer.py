"""Plans to states to scores: the action encoder phi, the shared predictor P, the score heads H.

Shapes: B scenes, N plans, T poses, S scene tokens, D width.
"""

from __future__ import annotations

from typing import Final

import torch
from torch import Tensor, nn

from world4scorer.planner.model.config import ModelConfig
from world4scorer.planner.model.decoder import Decoder
from world4scorer.planner.model.utility import COMPONENTS

PLAN_SCALE: Final = (0.05, 0.1, 1.0)
"""Scale of poses in motion queries: x, y [1/m], heading [1/rad]."""
STEP_SCALE: Final = (0.2, 1.0, 5.0)
"""Scale of steps between poses."""


class ActionEncoder(nn.Module):
    """phi: the raw numbers of a plan to a query."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        hidden = config.feed_forward
        self.motion = config.motion_queries
        numbers = config.plan_numbers * (2 if self.motion else 1)
        self.layers = nn.Sequential(nn.Linear(numbers, hidden), nn.ReLU(), nn.Linear(hidden, config.width))

    def forward(self, plans_BNT3: Tensor, ego_BD: Tensor) -> Tensor:
        """Queries (B, N, D)."""
        numbers = plan_motion(plans_BNT3) if self.motion else plans_BNT3
        queries: Tensor = self.layers(numbers.flatten(2).to(ego_BD.dtype))
        return queries + ego_BD[:, None] if self.motion else queries


def plan_motion(plans_BNT3: Tensor) -> Tensor:
    """Poses and steps, scaled (B, N, T, 6)."""
    steps = plans_BNT3.diff(dim=-2, prepend=torch.zeros_like(plans_BNT3[..., :1, :]))
    scaled = plans_BNT3 * plans_BNT3.new_tensor(PLAN_SCALE), steps * plans_BNT3.new_tensor(STEP_SCALE)
    return torch.cat(scaled, -1)


class Predictor(nn.Module):
    """P: queries of plans to states, each seeing the scene and the other plans of its call."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.decoder = Decoder(config, config.predictor_layers)
        self.norm = nn.LayerNorm(config.width) if config.predictor_norm else nn.Identity()

    def forward(self, queries_BND: Tensor, scene_BSD: Tensor) -> Tensor:
        """States (B, N, D)."""
        states: Tensor = self.norm(self.decoder(queries_BND, scene_BSD))
        return states


class ScoreHeads(nn.Module):
    """H: state plus encoded ego state to one logit per component."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        hidden = config.feed_forward
        self.components = nn.ModuleDict(
            {
                name: nn.Sequential(nn.Linear(config.width, hidden), nn.ReLU(), nn.Linear(hidden, 1))
                for name in COMPONENTS
            }
        )

    def forward(self, states_BND: Tensor, ego_BD: Tensor) -> Tensor:
        """Logits (B, N, 6), float32, in the order of `COMPONENTS`."""
        return self.logits(states_BND, ego_BD).float()

    def logits(self, states_BND: Tensor, ego_BD: Tensor) -> Tensor:
        """Logits in the precision of the parameters."""
        features_BND = states_BND + ego_BD[:, None]
        return torch.cat([self.components[name](features_BND) for name in COMPONENTS], -1)
