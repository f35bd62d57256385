"""Decoders of representation autoencoders (RAE) from files: a ViT over patch tokens with a linear head of pixels.

>>> decoder = load_rae_decoder(Path("dinov2_decXL"), encoder)
>>> decoder.images(grids)                # (B, 3, H, W)

Names are those of Hugging Face's ViT-MAE decoder, with or without a prefix. Sizes come from the shapes of the tensors;
the number of attention heads leaves no trace there and comes from `config.json` beside the weights
(`decoder_num_attention_heads`), or is 16.

RAE decodes DINOv2's tokens before the scale and shift of their last norm, and draws in the colours that the encoder
sees; both are undone here.

Shapes: B grids, P patches, V channels, D width.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any, Final

import torch
from torch import Tensor, nn
from torch.nn import functional

from world4scorer.jobs.files import load_json
from world4scorer.jobs.model_folder import ModelFolder
from world4scorer.jobs.tensor_files import Tensors, check_tensors, read_tensors
from world4scorer.planner.model.images import MEAN, STD
from world4scorer.planner.pretrained.dinov2 import weights_file
from world4scorer.planner.pretrained.image_encoder import ImageEncoder

HEADS: Final = 16
"""Of the ViT-XL decoder."""
EPSILON: Final = 1e-12
"""Of its norms."""
EMBED: Final = "decoder_embed.weight"
POSITIONS: Final = "decoder_pos_embed"
CLASS: Final = "trainable_cls_token"
PREDICTION: Final = "decoder_pred.weight"
LAYER: Final = "decoder_layers."
UNUSED: Final = ("mask_token",)


class RaeDecoder(nn.Module):
    """Patch tokens to images."""

    weight_V: Tensor
    shift_V: Tensor

    def __init__(self, channels: int, patches: int, width: int, inner: int, layers: int, pixels: int, heads: int):
        super().__init__()
        self.side, self.patch = math.isqrt(patches), math.isqrt(pixels // 3)
        self.decoder_embed = nn.Linear(channels, width)
        self.decoder_pos_embed = nn.Parameter(torch.zeros(1, patches + 1, width))
        self.trainable_cls_token = nn.Parameter(torch.zeros(1, 1, width))
        self.decoder_layers = nn.ModuleList(_Layer(width, inner, heads) for _ in range(layers))
        self.decoder_norm = nn.LayerNorm(width, EPSILON)
        self.decoder_pred = nn.Linear(width, pixels)
        self.register_buffer("weight_V", torch.ones(channels), persistent=False)
        self.register_buffer("shift_V", torch.zeros(channels), persistent=False)

    @torch.no_grad()
    def images(self, grid_BPV: Tensor) -> Tensor:
        """Images (B, 3, H, W), colours from 0 to 1."""
        count = len(grid_BPV)
        tokens = self.decoder_embed((grid_BPV - self.shift_V) / self.weight_V)
        tokens = torch.cat([self.trainable_cls_token.expand(count, -1, -1), tokens], 1) + self.decoder_pos_embed
        for layer in self.decoder_layers:
            tokens = layer(tokens)
        pixels = self.decoder_pred(self.decoder_norm(tokens))[:, 1:]
        tiles = pixels.unflatten(2, (self.patch, self.patch, 3)).unflatten(1, (self.side, self.side))
        drawn = tiles.permute(0, 5, 1, 3, 2, 4).reshape(count, 3, self.side * self.patch, self.side * self.patch)
        scale, shift = (drawn.new_tensor(part).view(1, 3, 1, 1) for part in (STD, MEAN))
        coloured: Tensor = (drawn * scale + shift).clamp(0.0, 1.0)
        return coloured


class _Attention(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.query, self.key, self.value = (nn.Linear(width, width) for _ in range(3))


class _Dense(nn.Module):
    def __init__(self, inward: int, outward: int) -> None:
        super().__init__()
        self.dense = nn.Linear(inward, outward)


class _Attended(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.attention, self.output = _Attention(width), _Dense(width, width)


class _Layer(nn.Module):
    """One block; its parts are called as in the files."""

    def __init__(self, width: int, inner: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.layernorm_before = nn.LayerNorm(width, EPSILON)
        self.layernorm_after = nn.LayerNorm(width, EPSILON)
        self.attention = _Attended(width)
        self.intermediate, self.output = _Dense(width, inner), _Dense(inner, width)

    def forward(self, tokens: Tensor) -> Tensor:
        seen, own = self.layernorm_before(tokens), self.attention.attention
        parts = [layer(seen).unflatten(-1, (self.heads, -1)) for layer in (own.query, own.key, own.value)]
        gathered = functional.scaled_dot_product_attention(*(part.transpose(1, 2) for part in parts))
        tokens = tokens + self.attention.output.dense(gathered.transpose(1, 2).flatten(2))
        thought: Tensor = self.output.dense(functional.gelu(self.intermediate.dense(self.layernorm_after(tokens))))
        return tokens + thought


def load_rae_decoder(source: Path, encoder: ImageEncoder) -> RaeDecoder:
    """The decoder of a file of weights, or of a folder with one, for the grids of an encoder."""
    path = weights_file(source)
    tensors = _bare(read_tensors(path), path)
    width, channels = tensors[EMBED].shape
    pixels, layers = len(tensors[PREDICTION]), len({name.split(".")[1] for name in tensors if name.startswith(LAYER)})
    patches = tensors[POSITIONS].shape[1] - 1
    inner = tensors.get(f"{LAYER}0.intermediate.dense.weight")
    if inner is None:
        raise ValueError(f"{path}: missing: tensor '{LAYER}0.intermediate.dense.weight'")
    rows, columns = encoder.grid
    if (rows * columns, rows) != (patches, columns) or channels != encoder.config.vit_width:
        raise ValueError(
            f"{path}: decodes {patches} patches of {channels} numbers; the encoder sees {rows} x {columns} of "
            f"{encoder.config.vit_width}"
        )
    if pixels % 3 or math.isqrt(pixels // 3) ** 2 * 3 != pixels:
        raise ValueError(f"{path}: tensor {PREDICTION!r} has {pixels} rows, which are no square of pixels in 3 colours")
    config_file = ModelFolder(path.parent).config_file
    heads = _heads(config_file)
    if width % heads:
        raise ValueError(
            f"{path}: {heads} attention heads do not divide its width, {width}; say how many in {config_file.name}"
        )
    with torch.device("meta"):
        decoder = RaeDecoder(channels, patches, width, len(inner), layers, pixels, heads)
    tensors.setdefault(CLASS, torch.zeros(1, 1, width))
    check_tensors(tensors, {name: tensor.shape for name, tensor in decoder.state_dict().items()}, path)
    decoder.load_state_dict({name: tensor.float() for name, tensor in tensors.items()}, assign=True)
    norm = encoder.vit.norm
    decoder.weight_V, decoder.shift_V = norm.weight.detach().clone(), norm.bias.detach().clone()
    return decoder.requires_grad_(False).eval()


def _bare(tensors: Tensors, path: Path) -> Tensors:
    """Without the prefix that all names of the decoder share, and without what is only for training."""
    found = [name for name in tensors if name.endswith(EMBED)]
    if len(found) != 1:
        raise ValueError(f"{path}: no decoder of patches: tensor {EMBED!r} is not in it")
    prefix = found[0].removesuffix(EMBED)
    bare = {name.removeprefix(prefix): tensor for name, tensor in tensors.items() if name.startswith(prefix)}
    for name, axes in ((EMBED, 2), (POSITIONS, 3), (PREDICTION, 2)):
        if name not in bare or bare[name].ndim != axes:
            raise ValueError(f"{path}: tensor {prefix + name!r} with {axes} axes is needed")
    kept = ("decoder_", CLASS) if not prefix else ("",)
    return {name: tensor for name, tensor in bare.items() if name.startswith(kept) and name not in UNUSED}


def _heads(config: Path) -> int:
    if not config.is_file():
        return HEADS
    try:
        raw: Any = load_json(config.read_bytes())
        heads = raw.get("decoder_num_attention_heads", HEADS) if isinstance(raw, dict) else None
    except ValueError as error:
        raise ValueError(f"{config}: not JSON: {error}") from error
    if not isinstance(heads, int) or heads < 1:
        raise ValueError(f"{config}: decoder_num_attention_heads: a whole number is needed")
    return heads
