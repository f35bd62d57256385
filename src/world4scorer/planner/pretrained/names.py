"""Tensor names in other file formats.

A foreign name stands for one of our tensors, or for several one after the other along the first axis: most files keep
the query, key and value projections of the ViT in one tensor.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

import torch
from torch import Tensor

Table = tuple[tuple[str, str], ...]
"""Our beginning of a name, and theirs; the first that fits counts."""

VIT: Final = "encoder.vit."

_DECODER_BLOCK: Final[Table] = (
    ("self_norm.", "self_attn_norm."),
    ("self_attention.in_", "self_attn.attn.in_proj_"),
    ("self_attention.out.", "self_attn.attn.out_proj."),
    ("query_norm.", "cross_attn_norm_q."),
    ("scene_norm.", "cross_attn_norm_kv."),
    ("cross_attention.in_", "cross_attn.attn.in_proj_"),
    ("cross_attention.out.", "cross_attn.attn.out_proj."),
    ("mlp_norm.", "mlp_norm."),
    ("mlp.0.", "mlp.fc1."),
    ("mlp.2.", "mlp.fc2."),
)

_TIMM_BLOCK: Final[Table] = (
    ("attention.q_proj.down.", "attn.qkv.linear_a_q."),
    ("attention.q_proj.up.", "attn.qkv.linear_b_q."),
    ("attention.v_proj.down.", "attn.qkv.linear_a_v."),
    ("attention.v_proj.up.", "attn.qkv.linear_b_v."),
    ("attention.q_proj.", "attn.qkv."),
    ("attention.k_proj.", "attn.qkv."),
    ("attention.v_proj.", "attn.qkv."),
    ("attention.o_proj.", "attn.proj."),
    ("layer_scale1.lambda1", "ls1.gamma"),
    ("layer_scale2.lambda1", "ls2.gamma"),
    ("", ""),
)

# A layer with adapters keeps its own weights one level deeper in released files.
_RELEASED_VIT_BLOCK: Final[Table] = tuple(
    (ours, "attn.qkv.qkv." if theirs == "attn.qkv." else theirs) for ours, theirs in _TIMM_BLOCK
)

_TIMM: Final[Table] = (
    ("class_token", "cls_token"),
    ("register_tokens", "reg_token"),
    ("positions", "pos_embed"),
    ("patches.", "patch_embed.proj."),
    ("blocks.", "blocks."),
    ("norm.", "norm."),
)

_RELEASED: Final[Table] = (
    ("encoder.scene_queries", "scene_embeds"),
    *((VIT + ours, "image_backbone.model.lora_vit." + theirs) for ours, theirs in _TIMM),
    ("encoder.neck.", "image_backbone.neck."),
    ("ego_encoder.", "hist_encoding."),
    ("generator.queries", "init_feature.weight"),
    ("generator.decoder.blocks.", "trajectory_decoder.layers."),
    ("generator.head.layers.", "traj_head.0.mlp."),
    ("generator.head.poses.", "traj_head.0.mlp.6."),
    ("action_encoder.layers.", "pos_embed."),
    ("predictor.decoder.blocks.", "future_predictor.predictor.layers."),
    ("predictor.norm.", "future_predictor.out_norm."),
    ("readout.", "future_predictor.realized_head."),
    ("heads.components.", "scorer.pred_score."),
)

_HUGGING_FACE: Final[Table] = (
    ("class_token", "embeddings.cls_token"),
    ("register_tokens", "embeddings.register_tokens"),
    ("positions", "embeddings.position_embeddings"),
    ("patches.", "embeddings.patch_embeddings.projection."),
    ("blocks.", "encoder.layer."),
    ("norm.", "layernorm."),
)

_HUGGING_FACE_BLOCK: Final[Table] = (
    ("attention.q_proj.", "attention.attention.query."),
    ("attention.k_proj.", "attention.attention.key."),
    ("attention.v_proj.", "attention.attention.value."),
    ("attention.o_proj.", "attention.output.dense."),
    ("", ""),
)

_SAME: Final[Table] = (("", ""),)

Names = dict[str, list[str]]
"""Their name -> ours."""


def released_names(ours: Iterable[str]) -> Names:
    """Names in released checkpoints, without the prefix that training puts before them."""
    names: Names = {}
    for name in ours:
        block = _RELEASED_VIT_BLOCK if name.startswith(VIT) else _DECODER_BLOCK
        names.setdefault(_translated(name, _RELEASED, block), []).append(name)
    return names


def timm_names(ours: Iterable[str]) -> Names:
    """Names of a ViT's tensors in timm's files; ours as seen from the ViT."""
    names: Names = {}
    for name in ours:
        names.setdefault(_translated(name, _TIMM, _TIMM_BLOCK), []).append(name)
    return names


def hugging_face_names(ours: Iterable[str], of_hub: bool = True) -> Names:
    """Names of a ViT's tensors in the files of Hugging Face's hub, or in its models; ours as seen from the ViT."""
    block = _HUGGING_FACE_BLOCK if of_hub else _SAME
    return {_translated(name, _HUGGING_FACE, block): [name] for name in ours}


def to_theirs(tensors: Mapping[str, Tensor], names: Names) -> dict[str, Tensor]:
    """Our tensors under their names."""
    return {their: torch.cat([tensors[our] for our in ours]) for their, ours in names.items()}


def to_ours(tensors: Mapping[str, Tensor], names: Names) -> dict[str, Tensor]:
    """Their tensors under our names."""
    parts = {their: tensors[their].chunk(len(ours)) for their, ours in names.items()}
    return {our: part.clone() for their, ours in names.items() for our, part in zip(ours, parts[their], strict=True)}


def _translated(name: str, table: Table, block_table: Table) -> str:
    theirs, rest = _replaced(name, table)
    if "blocks." not in name:
        return theirs + rest
    index, _, rest = rest.partition(".")
    return f"{theirs}{index}." + "".join(_replaced(rest, block_table))


def _replaced(name: str, table: Table) -> tuple[str, str]:
    """Their beginning of the name, and what follows it."""
    for ours, theirs in table:
        if name.startswith(ours):
            return theirs, name[len(ours) :]
    raise ValueError(f"tensor {name!r} has no name in files of this kind")
