"""Attention of a ViT in bfloat16 on CPUs, by products of blocks of queries with all keys.

PyTorch's fused attention adds nothing on processors that multiply bfloat16 without AMX: as fast as in float32. Ordinary
products are four times as fast there, if the scores of a block stay in the cache. Scores are rounded to bfloat16, as
everything else in that precision. Elsewhere, and where gradients are needed, the fused attention is used.
"""

from __future__ import annotations

from typing import Any, Final

import torch
from torch import Tensor, nn
from transformers.integrations.sdpa_attention import sdpa_attention_forward
from transformers.modeling_utils import AttentionInterface

from world4scorer.planner.model.vision_transformer import VisionTransformer

NAME: Final = "world4scorer_blocks"
"""Name of this attention among those of transformers."""
BLOCK: Final = 192
"""Queries of a block: 1.5 MB of scores for the paper's 3,953 tokens."""
MIN_TOKENS: Final = 512
"""Fewer are as fast in the fused attention."""


def use_blocks(network: nn.Module) -> None:
    """Let the ViTs of a network use this attention wherever it is faster."""
    for vit in network.modules():
        if isinstance(vit, VisionTransformer):
            for block in vit.blocks:
                attention: Any = block.attention
                attention.config._attn_implementation = NAME


def _attend(
    module: nn.Module, query: Tensor, key: Tensor, value: Tensor, attention_mask: Tensor | None, **options: Any
) -> tuple[Tensor, None]:
    """Values (M, L, heads, D) for queries, keys and values (M, heads, L, D); as transformers calls it."""
    if attention_mask is not None or options.get("dropout") or not _gains(query):
        gathered, _ = sdpa_attention_forward(module, query, key, value, attention_mask, **options)
        return gathered, None
    images, heads, tokens, _ = query.shape
    query = query * options["scaling"]
    gathered = query.new_empty(images, tokens, heads, value.shape[-1])
    for image in range(images):
        for head in range(heads):
            keys, values = key[image, head].t(), value[image, head]
            for start in range(0, tokens, BLOCK):
                rows = slice(start, start + BLOCK)
                scores = query[image, head, rows] @ keys
                gathered[image, rows, head] = torch.softmax(scores, -1) @ values
    return gathered, None


def _gains(query: Tensor) -> bool:
    return (
        query.dtype == torch.bfloat16
        and query.device.type == "cpu"
        and query.shape[2] >= MIN_TOKENS
        and not torch.is_grad_enabled()
        and _multiplies_bf16_without_amx()
    )


def _multiplies_bf16_without_amx() -> bool:
    supports = torch.cpu
    return bool(supports._is_avx512_bf16_supported() and not supports._is_amx_tile_supported())


AttentionInterface.register(NAME, _attend)
