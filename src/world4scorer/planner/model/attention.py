"""Multi-head attention with biases; the softmax is torch's fused one.

Shapes: B scenes, L queries, S keys, H heads, D width.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional


class Attention(nn.Module):
    """Queries attend to keys; one weight holds the query, key and value projections, in this order."""

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
        key, value = functional.linear(key_BSD, rest_weight, rest_bias).chunk(2, -1)
        query = functional.linear(query_BLD, query_weight, query_bias)
        if query_BLD.shape[1] == key_BSD.shape[1] == 1:
            # The softmax over one key is 1. Said outright, query and key projections get no gradient at all from a
            # single query, rather than whatever rounding leaves of zero.
            gathered = value
        else:
            split = [part.unflatten(-1, (self.heads, -1)).transpose(1, 2) for part in (query, key, value)]
            gathered = functional.scaled_dot_product_attention(*split).transpose(1, 2).flatten(2)
        projected: Tensor = self.out(gathered)
        return projected
