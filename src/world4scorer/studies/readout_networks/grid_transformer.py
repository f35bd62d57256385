"""A transformer over the patches of a grid, steered by one vector: the trunk of CondGrid and of the diffusion.

The vector sets scale, shift and gate of every block (adaptive layer norm). Gates and the last layer start at zero, so
that an untrained trunk answers zero.

Shapes: B grids, P patches, C channels in, O channels out, D width.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

INITIAL_SPREAD = 0.02
"""Of positions before training."""


class GridTransformer(nn.Module):
    """Tokens (B, P, C) and a condition (B, D) to tokens (B, P, O)."""

    def __init__(self, inward: int, outward: int, patches: int, width: int, layers: int, heads: int) -> None:
        super().__init__()
        self.inward = nn.Linear(inward, width)
        self.positions = nn.Parameter(torch.randn(1, patches, width) * INITIAL_SPREAD)
        self.blocks = nn.ModuleList(SteeredBlock(width, heads) for _ in range(layers))
        self.norm = nn.LayerNorm(width, elementwise_affine=False)
        self.steer = zeroed(nn.Linear(width, 2 * width))
        self.outward = zeroed(nn.Linear(width, outward))

    def forward(self, tokens_BPC: Tensor, condition_BD: Tensor) -> Tensor:
        """Tokens (B, P, O)."""
        features_BPD = self.inward(tokens_BPC) + self.positions
        for block in self.blocks:
            features_BPD = block(features_BPD, condition_BD)
        scale, shift = self.steer(functional.silu(condition_BD))[:, None].chunk(2, -1)
        out: Tensor = self.outward(self.norm(features_BPD) * (1 + scale) + shift)
        return out


class SteeredBlock(nn.Module):
    """Self-attention and a feed-forward part."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.steer = zeroed(nn.Linear(width, 6 * width))
        self.norms = nn.ModuleList(nn.LayerNorm(width, elementwise_affine=False) for _ in range(2))
        self.query_key_value = nn.Linear(width, 3 * width)
        self.joined = nn.Linear(width, width)
        self.feed_forward = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, features_BPD: Tensor, condition_BD: Tensor) -> Tensor:
        """The same shape."""
        steer = self.steer(functional.silu(condition_BD))[:, None].chunk(6, -1)
        seen = self.norms[0](features_BPD) * (1 + steer[0]) + steer[1]
        features_BPD = features_BPD + steer[2] * self._attend(seen)
        seen = self.norms[1](features_BPD) * (1 + steer[3]) + steer[4]
        thought: Tensor = steer[5] * self.feed_forward(seen)
        return features_BPD + thought

    def _attend(self, seen_BPD: Tensor) -> Tensor:
        parts = self.query_key_value(seen_BPD).unflatten(-1, (3, self.heads, -1)).permute(2, 0, 3, 1, 4)
        gathered = functional.scaled_dot_product_attention(*parts)
        attended: Tensor = self.joined(gathered.transpose(1, 2).flatten(2))
        return attended


def zeroed(layer: nn.Linear) -> nn.Linear:
    """The same layer, answering zero until it is trained."""
    nn.init.zeros_(layer.weight)
    nn.init.zeros_(layer.bias)
    return layer
