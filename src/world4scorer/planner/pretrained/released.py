"""Files with the tensor names of released checkpoints: sizes and tensors."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import torch
from torch import Tensor

from world4scorer.jobs.tensor_files import Tensors, check_tensors, read_tensors, write_tensors
from world4scorer.planner.model.config import POSE_NUMBERS, ModelConfig, paper
from world4scorer.planner.model.network import Network
from world4scorer.planner.pretrained.names import released_names, to_ours, to_theirs

PREFIX: Final = "agent._drivor_model."
"""Before every name in a training checkpoint."""

_VIT: Final = "image_backbone.model.lora_vit."
_DINOV2: Final = ("cls_token", "embeddings.cls_token")
"""Keys by which a file of pretrained weights is recognised."""


def load_released(
    path: str | os.PathLike[str], heads: int, vit_heads: int, image_size: tuple[int, int] | None
) -> Network:
    """Build the network that a released file holds. What shapes do not tell is given."""
    path = Path(path)
    tensors = {name.removeprefix(PREFIX): tensor for name, tensor in read_tensors(path).items()}
    if "encoder.scene_queries" in tensors:
        raise ValueError(f"{path}: has our own names, not the released ones; give the folder that it lies in")
    if any(name.removeprefix("dinov2_with_registers.") in _DINOV2 for name in tensors):
        raise ValueError(f"{path}: holds DINOv2 weights, no planner; `w4s import --dinov2` starts one with them")
    config = _Sizes(tensors, path).config(heads, vit_heads, image_size)
    with torch.device("meta"):
        network = Network(config)
    shapes = network.state_dict()
    names = released_names(shapes)
    check_tensors(tensors, {their: tensor.shape for their, tensor in to_theirs(shapes, names).items()}, path)
    network.load_state_dict({name: tensor.float() for name, tensor in to_ours(tensors, names).items()}, assign=True)
    return network


def export_released(network: Network, path: str | os.PathLike[str]) -> None:
    """Write a safetensors file under the released names."""
    write_tensors(released_tensors(network, path), path)


def released_tensors(network: Network, path: str | os.PathLike[str]) -> Tensors:
    """The weights under the released names; `path` names the file to be in errors."""
    if network.config.extensions:
        named = ", ".join(network.config.extensions)
        raise ValueError(f"{path}: released files have no names for extensions ({named}); use save_pretrained")
    state = network.state_dict()
    return to_theirs(state, released_names(state))


class _Sizes:
    """Reads sizes off shapes; errors name file and tensor."""

    def __init__(self, tensors: Tensors, path: Path) -> None:
        self.tensors: Mapping[str, Tensor] = tensors
        self.path = path

    def config(self, heads: int, vit_heads: int, image_size: tuple[int, int] | None) -> ModelConfig:
        _, cameras, scene_queries, vit_width = self._shape("scene_embeds", 4)
        patch = self._shape(_VIT + "patch_embed.proj.weight", 4)[3]
        patches = self._shape(_VIT + "pos_embed", 3)[1]
        height, width = image_size or self._image_size(patches, patch)
        if patch < 1 or height % patch or width % patch or (height // patch) * (width // patch) != patches:
            raise ValueError(
                f"{self.path}: tensor {_VIT + 'pos_embed'!r} has {patches} positions; images of {height} x {width} in "
                f"patches of {patch} do not fit"
            )
        model_width, ego_numbers = self._shape("hist_encoding.weight", 2)
        lora = _VIT + "blocks.0.attn.qkv.linear_a_q.weight"
        readout = "future_predictor.realized_head.weight"
        fc1 = self._shape(_VIT + "blocks.0.mlp.fc1.weight", 2)
        decoder_fc1 = self._shape("trajectory_decoder.layers.0.mlp.fc1.weight", 2)
        try:
            return ModelConfig(
                image_height=height,
                image_width=width,
                patch=patch,
                cameras=cameras,
                vit_width=vit_width,
                vit_layers=self._blocks(_VIT + "blocks."),
                vit_heads=vit_heads,
                vit_mlp_ratio=fc1[0] // max(vit_width, 1),
                registers=self._shape(_VIT + "reg_token", 3)[1],
                lora_rank=self._shape(lora, 2)[0] if lora in self.tensors else 0,
                scene_queries=scene_queries,
                width=model_width,
                heads=heads,
                decoder_mlp_ratio=decoder_fc1[0] // max(model_width, 1),
                feed_forward=self._shape("pos_embed.0.weight", 2)[0],
                generator_layers=self._blocks("trajectory_decoder.layers."),
                predictor_layers=self._blocks("future_predictor.predictor.layers."),
                predictor_norm="future_predictor.out_norm.weight" in self.tensors,
                proposals=self._shape("init_feature.weight", 2)[0],
                poses=self._shape("pos_embed.0.weight", 2)[1] // POSE_NUMBERS,
                ego_numbers=ego_numbers,
                readout=readout in self.tensors,
                future_width=self._shape(readout, 2)[0] if readout in self.tensors else paper().future_width,
            )
        except ValueError as error:
            raise ValueError(f"{self.path}: {error}") from error

    def _shape(self, name: str, axes: int) -> tuple[int, ...]:
        if name not in self.tensors:
            raise ValueError(f"{self.path}: missing: tensor {name!r}")
        shape = tuple(self.tensors[name].shape)
        if len(shape) != axes:
            raise ValueError(f"{self.path}: tensor {name!r} has shape {shape}; {axes} axes are needed")
        return shape

    def _blocks(self, prefix: str) -> int:
        indices = {name.removeprefix(prefix).split(".")[0] for name in self.tensors if name.startswith(prefix)}
        if not indices or not all(index.isdecimal() for index in indices):
            raise ValueError(f"{self.path}: missing: tensors named {prefix + '<number>'!r}")
        return 1 + max(map(int, indices))

    @staticmethod
    def _image_size(patches: int, patch: int) -> tuple[int, int]:
        """The file knows how many patches a view has, not how they lie: take the shape nearest to the paper's."""
        rows, columns = paper().grid
        possible = [(count, patches // count) for count in range(1, patches + 1) if patches % count == 0]
        best = min(possible, key=lambda grid: abs(grid[0] * columns - grid[1] * rows) / (grid[1] * columns))
        return best[0] * patch, best[1] * patch
