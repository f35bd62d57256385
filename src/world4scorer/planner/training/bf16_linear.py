"""Linear layers that multiply in bfloat16 and add in float32; everything between them stays float32.

On processors with bfloat16 instructions these products are two to three times as fast. Autocast gains little there: it
also runs activations and attention in bfloat16, which are slow. Parameters and their gradients stay float32.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from world4scorer.planner.model.network import Network


class _Product(torch.autograd.Function):
    """x W^T, with all three products of training in bfloat16."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor) -> Tensor:
        short_x, short_weight = x.reshape(-1, x.shape[-1]).bfloat16(), weight.bfloat16()
        ctx.save_for_backward(short_x, short_weight)
        return (short_x @ short_weight.t()).float().view(*x.shape[:-1], len(weight))

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, Tensor | None]:
        short_x, short_weight = ctx.saved_tensors
        short = gradient.reshape(-1, gradient.shape[-1]).bfloat16()
        into_x = into_weight = None
        if ctx.needs_input_grad[0]:
            into_x = (short @ short_weight).float().view(*gradient.shape[:-1], short_x.shape[-1])
        if ctx.needs_input_grad[1]:
            into_weight = (short.t() @ short_x).float()
        return into_x, into_weight


class Bf16Linear(nn.Linear):
    """`nn.Linear` with the same parameters under the same names."""

    def forward(self, input: Tensor) -> Tensor:
        """The same up to the rounding of inputs and weights to eight bits."""
        product: Tensor = _Product.apply(input, self.weight)  # type: ignore[no-untyped-call]
        return product if self.bias is None else product + self.bias


def use_bf16_products(network: Network) -> None:
    """Change the linear layers of the ViT's blocks; those of the decoders are too small to gain."""
    for module in network.vit.blocks.modules():
        if type(module) is nn.Linear:
            module.__class__ = Bf16Linear
