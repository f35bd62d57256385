"""Masked autoencoding of views: most patches are hidden and predicted from the rest.

The encoder is the planner's ViT and runs on visible patches alone. Hidden patches are queries of a small decoder that
reads what the encoder made of them. Two additions are off unless asked for: the decoder may also read a part of the
view half a second before, and views of one log may have to be distinguished by the mean of their features.

Shapes: M views, P patches, K visible ones, L predicted ones, N numbers of a patch, V width of the ViT.
"""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor, nn
from torch.nn import functional

from world4scorer.planner.model.config import ModelConfig
from world4scorer.planner.model.decoder import Decoder
from world4scorer.planner.model.vision_transformer import INITIAL_SPREAD, VisionTransformer
from world4scorer.planner.pretraining.batches import Batch, Patches
from world4scorer.planner.pretraining.config import PretrainConfig

MIN_PATCH_VARIANCE = 1e-2
"""Added to the variance of a patch before division, so that flat patches stay flat."""


class MaskedViews(nn.Module):
    """A ViT with the decoder that it is taught by."""

    def __init__(self, model: ModelConfig, config: PretrainConfig) -> None:
        super().__init__()
        rows, columns = model.grid
        config.check_patches(rows * columns)
        self.config = config
        self.vit = VisionTransformer(replace(model, train_vit=True, lora_rank=0))
        width = config.decoder_width
        shape = replace(model, width=width, heads=config.decoder_heads, dropout=0.0, drop_path=0.0)
        self.memory = nn.Linear(model.vit_width, width)
        self.queries = nn.Parameter(torch.empty(1, rows * columns, width))
        self.earlier = nn.Parameter(torch.zeros(1, 1, width))
        self.decoder = Decoder(shape, config.decoder_layers)
        self.norm = nn.LayerNorm(width)
        self.pixels = nn.Linear(width, 3 * model.patch**2)
        nn.init.normal_(self.queries, std=INITIAL_SPREAD)

    def forward(self, batch: Batch) -> Tensor:
        """The mean squared error over predicted patches, and the weighted second task."""
        seen = encode_patches(self.vit, batch.seen)
        memory = self.memory(seen)
        if batch.before is not None:
            earlier = self.memory(encode_patches(self.vit, batch.before)) + self.earlier
            memory = torch.cat([memory, earlier], 1)
        predicted_MLN = self.pixels(self.norm(self.decoder(self.queries[0, batch.hidden.place], memory)))
        loss = functional.mse_loss(predicted_MLN, self._target(batch.hidden.numbers))
        if batch.again is None:
            return loss
        first = seen.shape[1] - batch.seen.place.shape[1]
        one, other = seen[:, first:].mean(1), encode_patches(self.vit, batch.again)[:, first:].mean(1)
        return loss + self.config.contrast * contrastive_loss(one, other, self.config.group, self.config.temperature)

    def _target(self, patches_MLN: Tensor) -> Tensor:
        if not self.config.normalise_patches:
            return patches_MLN
        mean = patches_MLN.mean(-1, keepdim=True)
        spread = (patches_MLN.var(-1, keepdim=True) + MIN_PATCH_VARIANCE).sqrt()
        return (patches_MLN - mean) / spread


def contrastive_loss(one_MV: Tensor, other_MV: Tensor, group: int, temperature: float) -> Tensor:
    """Contrastive loss: match features of a view to other patches of the same view within its group.

    The group mean, above all weather and light, is subtracted first.
    """
    halves = [half.unflatten(0, (-1, group)) for half in (one_MV, other_MV)]
    units = [functional.normalize(half - half.mean(1, keepdim=True), dim=-1) for half in halves]
    logits = units[0] @ units[1].transpose(1, 2) / temperature  # (groups, group, group)
    right = torch.arange(group).expand(len(logits), -1)
    return (functional.cross_entropy(logits, right) + functional.cross_entropy(logits.transpose(1, 2), right)) / 2


def encode_patches(vit: VisionTransformer, patches: Patches) -> Tensor:
    """Features (M, 1 + R + K, V) of class token, registers and the given patches; others are not computed at all."""
    embedded = functional.linear(patches.numbers, vit.patches.weight.flatten(1), vit.patches.bias)
    views = len(embedded)
    tokens = [vit.class_token.expand(views, -1, -1), vit.register_tokens.expand(views, -1, -1)]
    features = torch.cat([*tokens, embedded + vit.positions[0, patches.place]], 1)
    for block in vit.blocks:
        features = block(features)
    normalised: Tensor = vit.norm(features)
    return normalised
