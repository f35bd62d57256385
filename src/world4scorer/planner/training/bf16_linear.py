"""Linear layers that multiply in bfloat16 and add in float32; everything between them stays float32.

On processors with bfloat16 instructions these products are two to three times as fast. Autocast gains little there: it
also runs activations and attention in bfloat16, which are slow. Parameters and their gradients stay float32.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import torch
from torch import Tensor, nn

from world4scorer.planner.model.decoder import Attention
from world4scorer.planner.model.network import FrozenSceneEncoder, Network

SMALLEST: Final = 8
"""Layers with fewer inputs or outputs, such as the last ones of the heads, stay as they are."""


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


def bf16_linear(x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    """`functional.linear`, up to the rounding of inputs and weights to eight bits."""
    product: Tensor = _Product.apply(x, weight)  # type: ignore[no-untyped-call]
    return product if bias is None else product + bias


class Bf16Linear(nn.Linear):
    """`nn.Linear` with the same parameters under the same names."""

    def forward(self, input: Tensor) -> Tensor:
        """The same up to rounding."""
        return bf16_linear(input, self.weight, self.bias)


class Bf16Attention(Attention):
    """`Attention` with the same parameters under the same names."""

    def project(self, x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        """The same up to rounding."""
        return bf16_linear(x, weight, bias)

    def attend(self, query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        """The same up to rounding; the softmax is of float32."""
        query, key, value = query.bfloat16(), key.bfloat16(), value.bfloat16()
        logits = (query @ key.transpose(-1, -2)).float() * query.shape[-1] ** -0.5
        gathered: Tensor = (logits.softmax(-1).bfloat16() @ value).float()
        return gathered


def use_bf16_in_vit(network: Network) -> None:
    """Change the linear layers of the ViT's blocks."""
    _change(network.vit.blocks.modules())


def use_bf16_products(network: Network) -> None:
    """Change the linear layers of everything that is trained, except those that read poses or the ego's status.

    For these eight bits are too few: 0.2 m of 40.
    """
    if isinstance(network.encoder, FrozenSceneEncoder):
        _change(network.encoder.reader.modules())
    else:
        use_bf16_in_vit(network)
    generator = network.generator
    for part in (generator.decoder, generator.head, network.predictor, network.heads, network.plan_sampling):
        if part is not None:
            _change(part.modules())
    _change(network.action_encoder.layers[1:].modules())


def _change(modules: Iterator[nn.Module]) -> None:
    for module in modules:
        if type(module) is nn.Linear and min(module.weight.shape) >= SMALLEST:
            module.__class__ = Bf16Linear
        elif type(module) is Attention:
            module.__class__ = Bf16Attention
