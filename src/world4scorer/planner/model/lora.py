"""Low-rank adapters on a frozen linear layer.

Our own dozen lines rather than peft's: the layer stays an `nn.Linear` with two more tensors, so state-dict names do not
depend on a wrapper, released files map one to one, and `merged` gives back an ordinary layer. The arithmetic is the
same: x W^T + b + (x A^T) B^T, scale 1.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn


class LoraLinear(nn.Linear):
    """A linear layer plus B A of low rank; B starts at zero, so at first nothing changes."""

    def __init__(self, inputs: int, outputs: int, rank: int, bias: bool = True) -> None:
        super().__init__(inputs, outputs, bias)
        self.down = nn.Linear(inputs, rank, bias=False)
        self.up = nn.Linear(rank, outputs, bias=False)
        nn.init.kaiming_uniform_(self.down.weight, a=math.sqrt(5))
        nn.init.zeros_(self.up.weight)

    def forward(self, input: Tensor) -> Tensor:
        """Apply layer and adapter."""
        adapted: Tensor = self.up(self.down(input))
        return super().forward(input) + adapted

    @torch.no_grad()
    def merged(self) -> nn.Linear:
        """The one linear layer that does the same."""
        layer = nn.Linear(self.in_features, self.out_features, self.bias is not None).to(self.weight)
        # The product in float64: rounded once, so that merging costs no more than storing the sum does.
        change = self.up.weight.double() @ self.down.weight.double()
        layer.weight.copy_(self.weight.double() + change)
        if self.bias is not None:
            layer.bias.copy_(self.bias)
        layer.requires_grad_(self.weight.requires_grad)
        return layer
