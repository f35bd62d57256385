"""DINOv2 with registers, for images of one fixed size.

The blocks are those of `transformers`. The embedding is ours, because theirs resamples positions at every call and
keeps two tensors that are never used (a mask token; a position of the class token, which can be added once for all).

Shapes: M images, P patches, R registers, Q extra tokens, V width of the ViT.
"""

from __future__ import annotations

import math
from typing import Any, Final

import torch
from torch import Tensor, nn
from torch.nn import functional
from transformers.models.dinov2_with_registers.configuration_dinov2_with_registers import Dinov2WithRegistersConfig
from transformers.models.dinov2_with_registers.modeling_dinov2_with_registers import Dinov2WithRegistersLayer

from world4scorer.planner.model.config import ModelConfig

SIZES: Final = (
    "image_height",
    "image_width",
    "crop_top",
    "patch",
    "vit_width",
    "vit_layers",
    "vit_heads",
    "vit_mlp_ratio",
    "registers",
)
"""Fields of `ModelConfig` that an encoder depends on."""
INITIAL_SPREAD = 0.02
"""Standard deviation of tokens and weights before training, as in DINOv2."""


class LoraLinear(nn.Linear):
    """A linear layer plus a low-rank adapter: x W^T + b + (x A^T) B^T. B starts at zero, so at first nothing changes.

    Not peft's: the layer stays an `nn.Linear` with two more tensors, so state-dict names do not depend on a wrapper,
    released files map one to one, and `merged` gives back an ordinary layer.
    """

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


class VisionTransformer(nn.Module):
    """Image patches, with extra tokens before them, to features."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        width = config.vit_width
        rows, columns = config.grid
        self.patches = nn.Conv2d(3, width, config.patch, stride=config.patch)
        self.positions = nn.Parameter(torch.empty(1, rows * columns, width))
        self.class_token = nn.Parameter(torch.empty(1, 1, width))
        self.register_tokens = nn.Parameter(torch.empty(1, config.registers, width))
        self.blocks = nn.ModuleList(_block(config) for _ in range(config.vit_layers))
        self.norm = nn.LayerNorm(width, eps=_settings(config).layer_norm_eps)
        self._start()
        self.requires_grad_(config.train_vit)
        if config.lora_rank:
            self._adapt(config.lora_rank)

    def forward(self, image_M3HW: Tensor, extra_MQV: Tensor, extra_only: bool = False) -> Tensor:
        """Features (M, Q + 1 + R + P, V): extra tokens, class token, registers, patches.

        Or those of the extra tokens alone (M, Q, V), which spares the last block most of its work.
        """
        patches_MPV = self.patches(image_M3HW).flatten(2).transpose(1, 2) + self.positions
        images = len(image_M3HW)
        tokens = [extra_MQV, self.class_token.expand(images, -1, -1), self.register_tokens.expand(images, -1, -1)]
        features = torch.cat([*tokens, patches_MPV], 1)
        *blocks, last = self.blocks
        for block in blocks:
            features = block(features)
        features = _first_tokens(last, features, extra_MQV.shape[1]) if extra_only else last(features)
        normalised: Tensor = self.norm(features)
        return normalised

    def merge_adapters(self) -> None:
        """Turn every adapted layer into an ordinary one that does the same."""
        for block in self.blocks:
            for name in ("q_proj", "v_proj"):
                layer = getattr(block.attention, name)
                if isinstance(layer, LoraLinear):
                    setattr(block.attention, name, layer.merged())

    def _start(self) -> None:
        for module in self.modules():
            if isinstance(module, (nn.Linear, nn.Conv2d)):
                nn.init.normal_(module.weight, std=INITIAL_SPREAD)
                if module.bias is not None:
                    nn.init.zeros_(module.bias)
        for token in (self.positions, self.class_token, self.register_tokens):
            nn.init.normal_(token, std=INITIAL_SPREAD)

    def _adapt(self, rank: int) -> None:
        for block in self.blocks:
            for name in ("q_proj", "v_proj"):
                plain = getattr(block.attention, name)
                adapted = LoraLinear(plain.in_features, plain.out_features, rank)
                adapted.weight, adapted.bias = plain.weight, plain.bias
                setattr(block.attention, name, adapted)


def encoder_sizes(config: ModelConfig) -> dict[str, int]:
    """Settings that an encoder depends on."""
    return {name: getattr(config, name) for name in SIZES}


def _first_tokens(block: Any, features_MLV: Tensor, count: int) -> Tensor:
    """Output of a block for the first tokens (M, count, V); the others only provide keys and values."""
    attention = block.attention
    normed_MLV = block.norm1(features_MLV)
    projected = (attention.q_proj(normed_MLV[:, :count]), attention.k_proj(normed_MLV), attention.v_proj(normed_MLV))
    query, key, value = (part.unflatten(-1, (-1, attention.head_dim)).transpose(1, 2) for part in projected)
    gathered = functional.scaled_dot_product_attention(query, key, value).transpose(1, 2).flatten(2)
    first: Tensor = features_MLV[:, :count] + block.layer_scale1(attention.o_proj(gathered))
    thought: Tensor = block.layer_scale2(block.mlp(block.norm2(first)))
    return first + thought


def _settings(config: ModelConfig) -> Dinov2WithRegistersConfig:
    return Dinov2WithRegistersConfig(
        hidden_size=config.vit_width,
        num_hidden_layers=config.vit_layers,
        num_attention_heads=config.vit_heads,
        mlp_ratio=config.vit_mlp_ratio,
        layerscale_value=config.vit_layer_scale,
        num_register_tokens=config.registers,
        patch_size=config.patch,
        image_size=(config.image_height, config.image_width),
        attn_implementation="sdpa",
    )


def _block(config: ModelConfig) -> nn.Module:
    block: nn.Module = Dinov2WithRegistersLayer(_settings(config))
    return block
