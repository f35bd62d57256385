"""IoU of the maps that an encoder leads to, on streets that it was not taught on, with controls.

A dense encoder is measured with its own heads. Features of others (the same encoder with random weights, a ViT) are
read by a small head that is trained on frames of the training split: one convolution over neighbouring cells, and a
bias for each cell, which is all that the control `place` has: how often a class is there. Patches of a ViT are lifted
first: each cell of the feature map (2 m) reads the view in which its ground appears. Thresholds are chosen on training
frames.

Shapes: S frames, C cameras, V features of a patch, F features of a cell, K map classes, X x Y cells of the feature map,
4X x 4Y cells of the map.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from world4scorer.datasets.dense.views_file import DenseViews
from world4scorer.planner.model.dense_encoder import DenseEncoder
from world4scorer.planner.model.dense_encoder_config import MAP_CLASSES, SCALE
from world4scorer.planner.model.images import normalise
from world4scorer.planner.model.lift import grid_points
from world4scorer.planner.model.plan_sampling import best_view, project, sample
from world4scorer.planner.pretrained.image_encoder import DenseImageEncoder, ImageEncoder
from world4scorer.planner.pretraining.dense_batches import encoder_config
from world4scorer.planner.pretraining.dense_losses import cell_weights, map_losses, map_targets
from world4scorer.planner.pretraining.dense_pretrain import map_logits, visible_cells
from world4scorer.planner.pretraining.map_iou import (
    REGIONS,
    Counts,
    batches_of,
    best_thresholds,
    count_cells,
    iou_of,
    spread_frames,
)
from world4scorer.planner.pretraining.patch_grid import PatchGrid
from world4scorer.planner.pretraining.probe import random_encoder
from world4scorer.planner.pretraining.schedule import learning_rate

TRAIN_FRAMES: Final = 640
"""Frames of the training split that heads and thresholds are made with."""
THRESHOLD_FRAMES: Final = 160
"""How many of them thresholds are chosen on."""
HEAD_STEPS: Final = 240
HEAD_BATCH: Final = 8
"""Frames."""
HEAD_WIDTH: Final = 48
HEAD_LEARNING_RATE: Final = 5e-3
"""At its peak."""
HEAD_SEED: Final = 1
PRIOR_FRAMES: Final = 5.0
"""Frames' worth of evidence for the mean over all cells, in the bias of a cell."""

MapResult = dict[str, dict[str, dict[str, float]]]
"""IoU by source, region and class; classes that are nowhere are left out."""
Features = Callable[[DenseViews, Sequence[int]], Tensor]
"""Features (S, F, X, Y) of frames."""


@dataclass(frozen=True, eq=False)
class MapProbe:
    """Frames to learn from and frames to measure on."""

    train: DenseViews
    test: DenseViews
    most: int = 100_000
    """Largest number of test frames, evenly taken."""

    def measure(self, encoder: ImageEncoder, others: Mapping[str, ImageEncoder] | None = None) -> MapResult:
        """IoU of an encoder, of the same with random weights, of other encoders by name, and of places alone."""
        result: MapResult = {}
        if isinstance(encoder, DenseImageEncoder):
            result["encoder"] = self.own_heads(encoder.encoder)
        else:
            result["encoder"] = self.fitted(features_of(encoder, self.train))
        result["random"] = self.fitted(features_of(random_encoder(encoder), self.train))
        for name, other in (others or {}).items():
            result[name] = self.fitted(features_of(other, self.train))
        result["place"] = self.fitted(None)
        return result

    def own_heads(self, encoder: DenseEncoder) -> dict[str, dict[str, float]]:
        """IoU of a dense encoder with the heads that it was taught with."""

        def count(views: DenseViews, frames: Sequence[int]) -> Counts:
            return count_cells(lambda chosen: map_logits(encoder, views, chosen), views, frames, self._visible)

        return self._iou(
            count(self.train, spread_frames(self.train, THRESHOLD_FRAMES)), count(self.test, self._test_frames)
        )

    def fitted(self, features: Features | None) -> dict[str, dict[str, float]]:
        """IoU of a head that is trained on features; None for the bias of each cell alone."""
        frames = spread_frames(self.train, TRAIN_FRAMES)
        kept = None if features is None else _encode(features, self.train, frames)
        head = self._fit(kept, frames)

        @torch.no_grad()
        def known(chosen: Sequence[int]) -> Tensor:
            rows = [frames.index(frame) for frame in chosen]
            found: Tensor = head(None if kept is None else kept[rows].float(), len(rows))
            return found

        @torch.no_grad()
        def new(chosen: Sequence[int]) -> Tensor:
            found: Tensor = head(None if features is None else features(self.test, chosen), len(chosen))
            return found

        asked = frames[:: max(1, len(frames) // THRESHOLD_FRAMES)]
        trained = count_cells(known, self.train, asked, self._visible)
        return self._iou(trained, count_cells(new, self.test, self._test_frames, self._visible))

    def _fit(self, kept_SFXY: Tensor | None, frames: Sequence[int]) -> _MapHead:
        bits = torch.from_numpy(np.stack([self.train.labels(frame).bits for frame in frames]))
        weights = cell_weights(self._visible[::2, ::2], 0.0, 1.0, 0.0)
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(HEAD_SEED)
            head = _MapHead(kept_SFXY, _log_odds(bits))
            if kept_SFXY is None:
                return head
            optimiser = torch.optim.AdamW(head.parameters(), lr=0.0, weight_decay=1e-3)
            for step in range(HEAD_STEPS):
                rows = torch.randint(len(frames), (HEAD_BATCH,))
                for group in optimiser.param_groups:
                    group["lr"] = HEAD_LEARNING_RATE * learning_rate(step, HEAD_STEPS, 0.05 * HEAD_STEPS)
                loss = map_losses(head(kept_SFXY[rows].float(), len(rows)), bits[rows], weights).sum()
                optimiser.zero_grad()
                loss.backward()
                optimiser.step()
        return head

    def _iou(self, trained: Counts, tested: Counts) -> dict[str, dict[str, float]]:
        found = iou_of(tested, best_thresholds(trained))
        return {
            region: {
                name: round(float(value), 4) for name, value in zip(MAP_CLASSES, row, strict=True) if np.isfinite(value)
            }
            for region, row in zip(REGIONS, found, strict=True)
        }

    @cached_property
    def _visible(self) -> Tensor:
        return visible_cells(DenseEncoder(encoder_config(self.train.geometry)))

    @property
    def _test_frames(self) -> list[int]:
        return spread_frames(self.test, self.most)


class _MapHead(nn.Module):
    """Features of cells to a map: a convolution over neighbours, a linear reading, and a bias for each map cell."""

    mean: Tensor
    spread: Tensor

    def __init__(self, example_SFXY: Tensor | None, bias_KXY: Tensor) -> None:
        super().__init__()
        self.bias = nn.Parameter(bias_KXY)
        self.layers: nn.Sequential | None = None
        if example_SFXY is not None:
            part = example_SFXY[:: max(1, len(example_SFXY) // 64)].float()
            self.register_buffer("mean", part.mean((0, 2, 3)))
            self.register_buffer("spread", part.std((0, 2, 3)) + 1e-6)
            self.layers = nn.Sequential(
                nn.Conv2d(part.shape[1], HEAD_WIDTH, 3, padding=1),
                nn.ReLU(),
                nn.Conv2d(HEAD_WIDTH, len(MAP_CLASSES) * SCALE**2, 1),
            )

    def forward(self, features_SFXY: Tensor | None, scenes: int) -> Tensor:
        """Logits (S, K, 4X, 4Y)."""
        if self.layers is None or features_SFXY is None:
            return self.bias.expand(scenes, -1, -1, -1)
        normalised = (features_SFXY - self.mean[:, None, None]) / self.spread[:, None, None]
        read: Tensor = functional.pixel_shuffle(self.layers(normalised), SCALE)
        return read + self.bias


def _log_odds(bits_SXY: Tensor) -> Tensor:
    """Log odds (K, 4X, 4Y) of finding each class in each cell; with few frames, those of the class in any cell."""
    found = torch.stack([map_targets(part)[0].sum(0) for part in bits_SXY.split(HEAD_BATCH)]).sum(0)
    share = found.mean((1, 2), keepdim=True) / len(bits_SXY)
    chance = (found + PRIOR_FRAMES * share) / (len(bits_SXY) + PRIOR_FRAMES)
    return chance.clamp(1e-5, 1 - 1e-5).logit()


def features_of(encoder: ImageEncoder, views: DenseViews) -> Features:
    """What a head reads from an encoder: its feature map, or patches lifted onto the ground."""
    if isinstance(encoder, DenseImageEncoder):
        dense = encoder.encoder

        @torch.no_grad()
        def perceive(views: DenseViews, frames: Sequence[int]) -> Tensor:
            features: Tensor = dense(_images(views, frames)).features
            return features

        return perceive
    config = encoder_config(views.geometry)
    size = (encoder.config.image_height, encoder.config.image_width)
    if size != (config.image_height, config.image_width):
        raise ValueError(f"views of {config.image_height} x {config.image_width} pixels; the encoder sees {size}")
    pixels, ahead = project(grid_points(1, 0.0)[None], config.cameras)
    view, pixel, visible = best_view(pixels, ahead, *size)
    side = PatchGrid.of(encoder).side

    def lift(views: DenseViews, frames: Sequence[int]) -> Tensor:
        images = _images(views, frames)
        patches = encoder.patches(images.flatten(0, 1)).unflatten(1, encoder.grid).unflatten(0, images.shape[:2])
        scenes = len(images)
        read = sample(patches, view.expand(scenes, -1), (pixel / side).expand(scenes, -1, -1)) * visible[..., None]
        lifted: Tensor = read.transpose(1, 2).unflatten(2, config.map_cells)
        return lifted

    return lift


def _encode(features: Features, views: DenseViews, frames: Sequence[int]) -> Tensor:
    return torch.cat([features(views, chosen).half() for chosen in batches_of(frames)])


def _images(views: DenseViews, frames: Sequence[int]) -> Tensor:
    return normalise(torch.from_numpy(np.stack([views.images(frame) for frame in frames])))
