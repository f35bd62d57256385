"""Forecast: where road users will be, from what is seen in two frames half a second apart.

One frame shows where others are, two show how they move. The maps of the frame before are brought into the present ego
frame, at the resolution of maps: features of a cell say where in the cell something is, so they cannot be shifted by
parts of a cell. A small network of three resolutions turns the maps of both frames into occupancies at the times of a
plan's poses. It is taught with what happened next (`forecasting/occupancy.py`) and frozen with the encoder.

Shapes: B scenes, M classes of maps, X x Y cells of the feature map (2 m), 4X x 4Y cells of maps, T times, 2X x 2Y cells
of forecasts.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from world4scorer.datasets.dense.labels import X_RANGE, Y_RANGE
from world4scorer.planner.model.convolutions import ConvolutionBlock, ResidualBlock
from world4scorer.planner.model.dense_encoder_config import LIFT_SCALE, MAP_CLASSES, SCALE

FORECAST_TIMES: Final = 8
"""Occupancies that are forecast, 0.5 s apart, from 0.5 s ahead."""
FORECAST_SCALE: Final = 2
"""Cells of a forecast per cell of the feature map, along both axes."""
FORECAST_WIDTH: Final = 64
"""Features of the network at its finest level; at the coarser ones half as many more, and twice as many."""
FORECAST_FEATURES: Final = FORECAST_TIMES * FORECAST_SCALE**2
"""Features of a cell of the feature map that hold a forecast."""
INPUTS: Final = 2 * len(MAP_CLASSES) * SCALE**2 + 2 * LIFT_SCALE**2 + 1
"""Numbers of a cell of the feature map: classes of both frames, lane directions, whether there is a frame before."""


class SeenFrames(NamedTuple):
    """What an encoder's heads make of two frames of scenes."""

    classes: Tensor
    """(B, M, 4X, 4Y) probabilities"""
    direction: Tensor
    """(B, 2, 2X, 2Y) cosine and sine of lane headings"""
    classes_before: Tensor
    """(B, M, 4X, 4Y) around the ego pose of the frame before"""
    pose_before: Tensor
    """(B, 3) that pose in the present ego frame [m, rad]; NaN in scenes of which only the present frame is looked at"""

    def mirrored(self) -> SeenFrames:
        """Left and right exchanged."""
        across = self.direction.new_tensor([1.0, -1.0])[:, None, None]
        turned = self.pose_before * self.pose_before.new_tensor([1.0, -1.0, -1.0])
        return SeenFrames(self.classes.flip(-1), self.direction.flip(-1) * across, self.classes_before.flip(-1), turned)


class Forecast(nn.Module):
    """Maps of two frames to logits of occupancy."""

    def __init__(self, width: int = FORECAST_WIDTH) -> None:
        super().__init__()
        middle, coarse = width * 3 // 2, width * 2
        self.join = nn.Sequential(ConvolutionBlock(INPUTS, width, 1), ResidualBlock(width))
        self.middle = nn.Sequential(ConvolutionBlock(width, middle, 3, 2), ResidualBlock(middle), ResidualBlock(middle))
        self.coarse = nn.Sequential(
            ConvolutionBlock(middle, coarse, 3, 2), ResidualBlock(coarse), ResidualBlock(coarse)
        )
        self.from_coarse = ConvolutionBlock(coarse, middle, 1)
        self.from_middle = ConvolutionBlock(middle, width, 1)
        self.refine = ConvolutionBlock(width, width)
        self.out = nn.Conv2d(width, FORECAST_FEATURES, 1)

    def forward(self, seen: SeenFrames) -> Tensor:
        """Logits (B, 4T, X, Y) of occupancy, as features of the map's cells; `forecast_maps` spreads them."""
        known = seen.pose_before.isfinite().all(-1)[:, None, None, None].to(seen.classes.dtype)
        before = shift_map(seen.classes_before, seen.pose_before.nan_to_num()) * known
        parts = [functional.pixel_unshuffle(maps, SCALE) for maps in (seen.classes, before)]
        parts.append(functional.pixel_unshuffle(seen.direction, LIFT_SCALE))
        parts.append(known.expand(-1, -1, *parts[0].shape[-2:]))
        near = self.join(torch.cat(parts, 1).contiguous(memory_format=torch.channels_last))
        middle = self.middle(near)
        middle = middle + _enlarged(self.from_coarse(self.coarse(middle)), middle)
        logits: Tensor = self.out(self.refine(near + _enlarged(self.from_middle(middle), near)))
        return logits


def forecast_maps(features_BGXY: Tensor) -> Tensor:
    """Logits (B, T, 2X, 2Y) of what `Forecast` returned."""
    return functional.pixel_shuffle(features_BGXY, FORECAST_SCALE)


def shift_map(map_BFXY: Tensor, pose_before_B3: Tensor) -> Tensor:
    """A map around an earlier ego pose (B, 3), as a map around the present one; zero beyond its edge."""
    rows, columns = map_BFXY.shape[-2:]
    x = X_RANGE[0] + (X_RANGE[1] - X_RANGE[0]) * (torch.arange(rows, device=map_BFXY.device) + 0.5) / rows
    y = Y_RANGE[0] + (Y_RANGE[1] - Y_RANGE[0]) * (torch.arange(columns, device=map_BFXY.device) + 0.5) / columns
    forward, left, heading = (part[:, None, None] for part in pose_before_B3.unbind(-1))
    ahead, aside = x[:, None] - forward, y[None] - left
    there_x = ahead * heading.cos() + aside * heading.sin()
    there_y = aside * heading.cos() - ahead * heading.sin()
    grid = torch.stack(
        [
            2 * (there_y - Y_RANGE[0]) / (Y_RANGE[1] - Y_RANGE[0]) - 1,
            2 * (there_x - X_RANGE[0]) / (X_RANGE[1] - X_RANGE[0]) - 1,
        ],
        -1,
    )
    return functional.grid_sample(map_BFXY, grid.to(map_BFXY.dtype), align_corners=False)


def _enlarged(small: Tensor, like: Tensor) -> Tensor:
    return functional.interpolate(small, like.shape[-2:], mode="bilinear", align_corners=False)
