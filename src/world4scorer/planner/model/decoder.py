"""Transformer decoder: queries exchange among themselves and read the scene tokens. Pre-norm.

Shapes: B scenes, L queries, S scene tokens (or keys), D width.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from world4scorer.planner.model.config import ModelConfig


class Attention(nn.Module):
    """Multi-head attention with biases; one weight holds the query, key and value projections, in this order."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.in_weight = nn.Parameter(torch.empty(3 * width, width))
        self.in_bias = nn.Parameter(torch.zeros(3 * width))
        self.out = nn.Linear(width, width)
        nn.init.xavier_uniform_(self.in_weight)
        nn.init.zeros_(self.out.bias)

    def forward(self, query_BLD: Tensor, key_BSD: Tensor) -> Tensor:
        """Attention output of the queries (B, L, D)."""
        width = query_BLD.shape[-1]
        query_weight, rest_weight = self.in_weight.split([width, 2 * width])
        query_bias, rest_bias = self.in_bias.split([width, 2 * width])
        key, value = self.project(key_BSD, rest_weight, rest_bias).chunk(2, -1)
        query = self.project(query_BLD, query_weight, query_bias)
        if query_BLD.shape[1] == key_BSD.shape[1] == 1:
            # The softmax over one key is 1. Said outright, query and key projections get no gradient at all from a
            # single query, rather than whatever rounding leaves of zero.
            gathered = value
        else:
            split = [part.unflatten(-1, (self.heads, -1)).transpose(1, 2) for part in (query, key, value)]
            gathered = self.attend(*split).transpose(1, 2).flatten(2)
        projected: Tensor = self.out(gathered)
        return projected

    def project(self, x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        """A linear layer with some rows of the weight."""
        return functional.linear(x, weight, bias)

    def attend(self, query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        """What queries gather (B, heads, L, D / heads)."""
        return functional.scaled_dot_product_attention(query, key, value)


class Branch(nn.Module):
    """Dropout and stochastic depth per scene of a residual branch, in training only."""

    def __init__(self, dropout: float, drop_path: float) -> None:
        super().__init__()
        self.dropout = nn.Dropout(dropout)
        self.drop_path = drop_path

    def forward(self, branch_BLD: Tensor) -> Tensor:
        """Drop features, and the branches of some scenes; what is kept grows so that the mean stays."""
        branch_BLD = self.dropout(branch_BLD)
        if not self.training or self.drop_path == 0.0:
            return branch_BLD
        keep = 1.0 - self.drop_path
        kept_B11 = torch.empty(len(branch_BLD), 1, 1, dtype=branch_BLD.dtype, device=branch_BLD.device)
        return branch_BLD * kept_B11.bernoulli_(keep) / keep


class DecoderBlock(nn.Module):
    """Self-attention, cross-attention, MLP."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        width = config.width
        self.self_norm = nn.LayerNorm(width)
        self.self_attention = Attention(width, config.heads)
        self.query_norm = nn.LayerNorm(width)
        self.scene_norm = nn.LayerNorm(width)
        self.cross_attention = Attention(width, config.heads)
        self.mlp_norm = nn.LayerNorm(width)
        self.mlp = nn.Sequential(
            nn.Linear(width, config.decoder_mlp_ratio * width),
            nn.GELU(),
            nn.Linear(config.decoder_mlp_ratio * width, width),
        )
        self.branch = Branch(config.dropout, config.drop_path)

    def forward(self, queries_BLD: Tensor, scene_BSD: Tensor) -> Tensor:
        """Queries after one block (B, L, D)."""
        own = self.self_norm(queries_BLD)
        queries_BLD = queries_BLD + self.branch(self.self_attention(own, own))
        seen = self.cross_attention(self.query_norm(queries_BLD), self.scene_norm(scene_BSD))
        queries_BLD = queries_BLD + self.branch(seen)
        thought: Tensor = self.branch(self.mlp(self.mlp_norm(queries_BLD)))
        return queries_BLD + thought


class Decoder(nn.Module):
    """Blocks in a row."""

    def __init__(self, config: ModelConfig, layers: int) -> None:
        super().__init__()
        self.blocks = nn.ModuleList(DecoderBlock(config) for _ in range(layers))

    def forward(self, queries_BLD: Tensor, scene_BSD: Tensor) -> Tensor:
        """Queries after all blocks (B, L, D)."""
        for block in self.blocks:
            queries_BLD = block(queries_BLD, scene_BSD)
        return queries_BLD
