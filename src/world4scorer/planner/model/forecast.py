"""Forecast: where road users will be, from the feature maps of two frames half a second apart.

One frame shows where others are, two show how they move. The map of the frame before is brought into the present ego
frame; a small network of three resolutions turns both into occupancies at the times of a plan's poses. It is taught
with what happened next (`forecasting/occupancy.py`) and frozen with the encoder.

Shapes: B scenes, F features of a map cell, X x Y cells of the feature map (2 m), T times, 2X x 2Y cells of forecasts.
"""

from __future__ import annotations

from typing import Final

import torch
from torch import Tensor, nn
from torch.nn import functional

from world4scorer.datasets.dense.labels import X_RANGE, Y_RANGE
from world4scorer.planner.model.convolutions import ConvolutionBlock, ResidualBlock

FORECAST_TIMES: Final = 8
"""Occupancies that are forecast, 0.5 s apart, from 0.5 s ahead."""
FORECAST_SCALE: Final = 2
"""Cells of a forecast per cell of the feature map, along both axes."""
FORECAST_WIDTH: Final = 48
"""Features of the network at its finest level."""
FORECAST_FEATURES: Final = FORECAST_TIMES * FORECAST_SCALE**2
"""Features of a cell of the feature map that hold a forecast."""


class Forecast(nn.Module):
    """Feature maps of two frames to logits of occupancy."""

    def __init__(self, map_width: int, width: int = FORECAST_WIDTH) -> None:
        super().__init__()
        self.join = nn.Sequential(
            ConvolutionBlock(2 * map_width + 1, width, 1),
            ConvolutionBlock(width, width),
        )
        self.middle = nn.Sequential(ConvolutionBlock(width, 2 * width, 3, 2), ResidualBlock(2 * width))
        self.coarse = nn.Sequential(
            ConvolutionBlock(2 * width, 3 * width, 3, 2), ResidualBlock(3 * width), ResidualBlock(3 * width)
        )
        self.from_coarse = ConvolutionBlock(3 * width, 2 * width, 1)
        self.from_middle = ConvolutionBlock(2 * width, width, 1)
        self.refine = ConvolutionBlock(width, width)
        self.out = nn.Conv2d(width, FORECAST_FEATURES, 1)

    def forward(self, now_BFXY: Tensor, before_BFXY: Tensor, pose_before_B3: Tensor) -> Tensor:
        """Logits (B, 4T, X, Y) of occupancy, as features of the map's cells; `forecast_maps` spreads them.

        `pose_before_B3` is the ego pose of the frame before in the present ego frame [m, rad]; of scenes where it is
        NaN only the present frame is looked at.
        """
        known = pose_before_B3.isfinite().all(-1)
        seen = torch.cat([before_BFXY, torch.ones_like(before_BFXY[:, :1])], 1) * known[:, None, None, None]
        near = self.join(torch.cat([now_BFXY, shift_map(seen, pose_before_B3.nan_to_num())], 1))
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
