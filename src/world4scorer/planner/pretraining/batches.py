"""Batches of patches of some views; only these are read and normalised, which saves a fifth of a step.

Shapes: F frames, C cameras, H x W pixels, M views, K patches of a view, N numbers of a patch (3 x patch x patch).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from world4scorer.planner.model.images import normalise
from world4scorer.planner.pretraining.config import PretrainConfig
from world4scorer.planner.pretraining.views import Views

MIN_VIEW_STD: Final = 0.1
"""Added to the standard deviation of a view before division."""


@dataclass(frozen=True, eq=False)
class Patches:
    """Some patches of each view."""

    numbers: Tensor
    """(M, K, N) normalised, in the order of the ViT's patch weights"""
    place: Tensor
    """(M, K) rows of the grid of patches"""


@dataclass(frozen=True, eq=False)
class Batch:
    """The patches of one step. Views of a group follow one another."""

    seen: Patches
    hidden: Patches
    """To be predicted: in their own light, less that of the view where the configuration says so."""
    again: Patches | None
    """Others of the same views, in another light, for telling views apart."""
    before: Patches | None
    """Patches of the same cameras half a second earlier."""


def draw_batch(views: Views, patch: int, config: PretrainConfig, step: int) -> Batch:
    """The batch of a step: a function of seed and step."""
    generator = torch.Generator().manual_seed(config.seed * 1_000_003 + step)
    _, _, height, width, _ = views.bytes.shape
    patches = (height // patch) * (width // patch)
    frame, camera = _draw_views(views, config, generator)
    mirrored = (torch.rand(config.batch, generator=generator) < (0.5 if config.flip else 0.0)).numpy()
    order = torch.rand(config.batch, patches, generator=generator).argsort(1)
    order_before = torch.rand(config.batch, patches, generator=generator).argsort(1)
    lights = [_draw_light(config, generator) for _ in range(2)]
    seen, hidden, again = order.split(
        [config.visible, config.predicted, patches - config.visible - config.predicted], 1
    )
    before, again = order_before[:, : config.visible_before], again[:, : config.visible if config.contrast else 0]

    def cut(frame: NDArray[np.int64], place: Tensor, light: tuple[Tensor, Tensor] | None = None) -> Patches:
        numbers = cut_patches(views.bytes, frame, camera, mirrored, place, patch)
        return Patches(numbers if light is None else numbers * light[0] + light[1], place)

    target = cut(frame, hidden)
    if config.normalise_views:
        own = torch.from_numpy(views.light[frame, camera]).repeat_interleave(patch * patch, -1)  # (M, 2, N)
        target = Patches((target.numbers - own[:, :1]) / (own[:, 1:] + MIN_VIEW_STD), hidden)
    return Batch(
        cut(frame, seen, lights[0]),
        target,
        cut(frame, again, lights[1]) if again.numel() else None,
        cut(views.before[frame], before, lights[0]) if before.numel() else None,
    )


def _draw_views(
    views: Views, config: PretrainConfig, generator: torch.Generator
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Frames (M,) and cameras (M,), group by group; those of a group are spread over its log."""
    groups = config.batch // config.group
    frame = torch.randint(len(views.bytes), (groups,), generator=generator).numpy()[:, None]
    if config.group > 1:
        log = np.searchsorted(views.starts, frame, "right") - 1
        along = torch.rand(groups, config.group, generator=generator).double().numpy() + np.arange(config.group)
        length = np.diff(views.starts)[log]
        frame = views.starts[log] + np.minimum(along / config.group * length, length - 1).astype(np.int64)
    camera = torch.randint(views.bytes.shape[1], (groups,), generator=generator).numpy()
    return frame.ravel(), camera.repeat(config.group)


def _draw_light(config: PretrainConfig, generator: torch.Generator) -> tuple[Tensor, Tensor]:
    """Gain and shift (M, 1, 1)."""
    gain = torch.randn(config.batch, 1, 1, generator=generator) * config.jitter
    shift = torch.randn(config.batch, 1, 1, generator=generator) * config.jitter
    return gain.exp(), shift


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
