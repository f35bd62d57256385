"""Standalone pretrained encoders of single images: for future targets, readouts, and a planner's initial ViT.

>>> encoder = load_encoder("city")                      # the bundled one; or a folder, or a file of DINOv2 weights
>>> features = encoder.pooled(encoder.image(path)[None])    # (1, V)

A folder holds `model.safetensors` under the names of Hugging Face's hub and, where it is ours, `config.json` with the
sizes. DINOv2's weights are used at their native 518 x 518 pixels.

Shapes: M images, R registers, P patches, V width.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, Literal

import torch
from torch import Tensor, nn

from world4scorer.jobs.files import read_json, write_json
from world4scorer.jobs.model_folder import ModelFolder
from world4scorer.jobs.tensor_files import COPY_AGAIN, Tensors, read_tensors, tensors_digest, write_tensors
from world4scorer.planner.hub import is_repository, repository_folder
from world4scorer.planner.model.config import ModelConfig
from world4scorer.planner.model.dense_encoder import DenseEncoder
from world4scorer.planner.model.dense_encoder_files import (
    CITY as CITY,
)
from world4scorer.planner.model.dense_encoder_files import (
    CITY_FILE,
    is_dense_encoder,
    load_dense_encoder,
)
from world4scorer.planner.model.images import normalise, read_view
from world4scorer.planner.model.network import Network
from world4scorer.planner.model.vision_transformer import SIZES, VisionTransformer, encoder_sizes
from world4scorer.planner.pretrained.dinov2 import load_dinov2, load_vit, weights_file
from world4scorer.planner.pretrained.names import hugging_face_names, to_theirs

FORMAT: Final = "world4scorer-encoder-1"
MASKED: Final = "city-masked"
"""Name of the bundled ViT that learned by masked autoencoding."""
BUNDLED: Final = {
    CITY: CITY_FILE,
    MASKED: CITY_FILE.with_name("city_encoder_masked.safetensors"),
    "city-contrast": CITY_FILE.with_name("city_encoder_contrast.safetensors"),
}
"""Encoders by name; docs/findings/pretraining.md compares them."""

DINOV2_PIXELS: Final = 518
"""Side of DINOv2's images."""
DINOV2_HEAD: Final = 64
"""Features of an attention head in every DINOv2."""

Pooling = Literal["patches", "all", "class"]
"""Mean over patches; mean over class token, registers and patches; the class token alone."""


class ImageEncoder(nn.Module):
    """A frozen ViT and the size of its images."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.config = config
        self.vit = VisionTransformer(config)
        self.requires_grad_(False).eval()

    @property
    def grid(self) -> tuple[int, int]:
        """Rows and columns of patches."""
        return self.config.grid

    @torch.no_grad()
    def forward(self, image_M3HW: Tensor) -> Tensor:
        """Features (M, 1 + R + P, V) of normalised images: class token, registers, patches."""
        features: Tensor = self.vit(image_M3HW, image_M3HW.new_zeros(len(image_M3HW), 0, self.config.vit_width))
        return features

    def patches(self, image_M3HW: Tensor) -> Tensor:
        """Features (M, P, V) of patches, row by row."""
        features: Tensor = self(image_M3HW)
        return features[:, -self.grid[0] * self.grid[1] :]

    def pooled(self, image_M3HW: Tensor, pooling: Pooling = "patches") -> Tensor:
        """One feature vector per image (M, V)."""
        if pooling == "patches":
            return self.patches(image_M3HW).mean(1)
        features: Tensor = self(image_M3HW)
        return features[:, 0] if pooling == "class" else features.mean(1)

    def image(self, path: str | os.PathLike[str]) -> Tensor:
        """An image of a file as the encoder sees it (3, H, W)."""
        return normalise(torch.from_numpy(read_view(path, self.config).copy()))

    def digest(self) -> str:
        """16 hex digits that change with any weight or size."""
        return tensors_digest(encoder_sizes(self.config), self.vit.state_dict())


class DenseImageEncoder(ImageEncoder):
    """A dense encoder's view network: patches of single images, without a class token."""

    def __init__(self, encoder: DenseEncoder) -> None:
        nn.Module.__init__(self)
        self.config = encoder.view_sizes
        self.encoder = encoder
        self.requires_grad_(False).eval()

    @property
    def grid(self) -> tuple[int, int]:
        """Rows and columns of patches."""
        return self.encoder.config.patches

    @torch.no_grad()
    def forward(self, image_M3HW: Tensor) -> Tensor:
        """Features (M, P, V) of normalised images, less the mean of front views."""
        features: Tensor = self.encoder.views(image_M3HW.contiguous(memory_format=torch.channels_last)).patches
        return features.flatten(2).transpose(1, 2) - self.encoder.centre

    def pooled(self, image_M3HW: Tensor, pooling: Pooling = "patches") -> Tensor:
        """One feature vector per image (M, V)."""
        if pooling == "class":
            raise ValueError("pooling: 'class', but a dense encoder has no class token; choose 'patches'")
        return super().pooled(image_M3HW, pooling)

    def digest(self) -> str:
        """16 hex digits that change with any weight or size."""
        return self.encoder.digest()


def load_encoder(source: str | os.PathLike[str], *, download: bool = False) -> ImageEncoder:
    """A bundled encoder (its name), one that `save_encoder` wrote, or DINOv2 from a file or folder of weights.

    A repository (user/repo) is taken from the local hub cache, or with `download` from the hub.
    """
    source = BUNDLED.get(str(source), source)
    if is_repository(source):
        source = repository_folder(source, download)
    if not Path(source).exists():
        names = ", ".join(repr(name) for name in BUNDLED)
        raise ValueError(f"{source}: no such encoder; give {names}, or a file or folder of weights")
    if is_dense_encoder(source):
        return DenseImageEncoder(load_dense_encoder(source).without_forecast())
    path = weights_file(source)
    beside = path.with_suffix(".json")
    config_file = beside if beside.is_file() else ModelFolder(path.parent).config_file
    raw = read_json(config_file, remedy=COPY_AGAIN) if config_file.is_file() else {}
    if raw.get("format") == FORMAT:
        config = _sizes_config(raw, str(config_file))
    else:
        config = _dinov2_config(read_tensors(path), path)
    encoder = ImageEncoder(config)
    load_vit(encoder.vit, config, path)
    return encoder


def save_encoder(
    vit: VisionTransformer,
    config: ModelConfig,
    weights: str | os.PathLike[str],
    sizes: str | os.PathLike[str],
    notes: Mapping[str, Any] | None = None,
    dtype: torch.dtype = torch.float32,
) -> None:
    """Write weights (.safetensors) and sizes (.json) of an encoder; `notes` say how it was made."""
    state = {name: tensor.to(dtype) for name, tensor in vit.state_dict().items()}
    write_tensors(to_theirs(state, hugging_face_names(state)), weights)
    write_json(sizes, {"format": FORMAT, **encoder_sizes(config), "made": dict(notes or {})}, 2)


def _sizes_config(raw: Mapping[str, Any], where: str) -> ModelConfig:
    missing = [name for name in SIZES if not isinstance(raw.get(name), int)]
    if missing:
        raise ValueError(f"{where}: {missing[0]}: a whole number is needed")
    return ModelConfig(**{name: raw[name] for name in SIZES}, lora_rank=0)


def _dinov2_config(tensors: Tensors, path: Path) -> ModelConfig:
    """Sizes from the shapes of DINOv2's tensors."""
    patches = [tensor for name, tensor in tensors.items() if "patch_embed" in name and tensor.ndim == 4]
    registers = [tensor for name, tensor in tensors.items() if name.endswith(("reg_token", "register_tokens"))]
    layers = {name.split(kind)[1].split(".")[0] for name in tensors for kind in ("blocks.", "layer.") if kind in name}
    if len(patches) != 1 or not layers:
        raise ValueError(f"{path}: neither weights of DINOv2 (timm's names or Hugging Face's) nor an encoder of ours")
    width, _, patch, _ = patches[0].shape
    return ModelConfig(
        image_height=DINOV2_PIXELS,
        image_width=DINOV2_PIXELS,
        patch=patch,
        vit_width=width,
        vit_layers=len(layers),
        vit_heads=max(1, width // DINOV2_HEAD),
        registers=registers[0].shape[1] if registers else 0,
        lora_rank=0,
    )


def load_city_encoder(network: Network) -> None:
    """Start a network's ViT from the bundled one; its sizes must be those of `pretrained_city()`."""
    needed = encoder_sizes(load_encoder(MASKED).config)
    for name, given in encoder_sizes(network.config).items():
        if given != needed[name]:
            raise ValueError(f"{name}: {given}; the ViT of the city was made for {needed[name]}, see pretrained_city()")
    load_dinov2(network, BUNDLED[MASKED])
