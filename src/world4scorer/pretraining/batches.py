"""What one step sees: some patches of some views. Only these are touched and normalised, which saves a fifth of a step.

Shapes: F frames, C cameras, H x W pixels, M views, K patches of a view, N numbers of a patch (3 x patch x patch).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from world4scorer.model.images import normalise
from world4scorer.pretraining.config import PretrainConfig
from world4scorer.pretraining.views import Views


@dataclass(frozen=True, eq=False)
class Patches:
    """Some patches of each view."""

    numbers: Tensor
    """(M, K, N) normalised, in the order of the ViT's patch weights"""
    place: Tensor
    """(M, K) rows of the grid of patches"""


@dataclass(frozen=True, eq=False)
class Batch:
    """The patches of one step."""

    seen: Patches
    hidden: Patches
    """To be predicted."""
    before: Patches | None
    """Of the same cameras half a second earlier."""


def draw_batch(views: Views, patch: int, config: PretrainConfig, step: int) -> Batch:
    """The batch of a step: a function of seed and step."""
    generator = torch.Generator().manual_seed(config.seed * 1_000_003 + step)
    _, cameras, height, width, _ = views.bytes.shape
    patches = (height // patch) * (width // patch)
    frame = torch.randint(len(views.bytes), (config.batch,), generator=generator).numpy()
    camera = torch.randint(cameras, (config.batch,), generator=generator).numpy()
    mirrored = (torch.rand(config.batch, generator=generator) < (0.5 if config.flip else 0.0)).numpy()
    order = torch.rand(config.batch, patches, generator=generator).argsort(1)
    order_before = torch.rand(config.batch, patches, generator=generator).argsort(1)
    seen, hidden = order[:, : config.visible], order[:, config.visible :][:, : config.predicted]
    before = order_before[:, : config.visible_before]

    def cut(frame: NDArray[np.int64], place: Tensor) -> Patches:
        return Patches(cut_patches(views.bytes, frame, camera, mirrored, place, patch), place)

    return Batch(cut(frame, seen), cut(frame, hidden), cut(views.before[frame], before) if before.numel() else None)


def cut_patches(
    views: NDArray[np.uint8],
    frame: NDArray[np.int64],
    camera: NDArray[np.int64],
    mirrored: NDArray[np.bool_],
    place: Tensor,
    patch: int,
) -> Tensor:
    """Normalised patches (M, K, N) at places (M, K) of views (F, C, H, W, 3), some of which are seen in a mirror."""
    columns = views.shape[3] // patch
    row, column = np.divmod(place.numpy(), columns)
    column = np.where(mirrored[:, None], columns - 1 - column, column)
    tiles = views.reshape(*views.shape[:2], -1, patch, columns, patch, 3)
    pixels = tiles[frame[:, None], camera[:, None], row, :, column]  # (M, K, patch, patch, 3)
    pixels[mirrored] = pixels[mirrored, :, :, ::-1]
    return normalise(torch.from_numpy(pixels)).flatten(2)
