"""Features of camera views brought onto the ground around the ego.

Each cell of the feature map reads the views at the pixels where it would appear, on the ground and a metre above.

Shapes: B scenes, C cameras, L features, h x w of their cells in a view, X x Y cells of the feature map.
"""

from __future__ import annotations

from typing import Final

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from world4scorer.datasets.dense.labels import CELL, X_RANGE, Y_RANGE
from world4scorer.planner.model.dense_encoder_config import LIFT_SCALE, SCALE, DenseEncoderConfig
from world4scorer.planner.model.plan_sampling import best_view, project

LIFT_HEIGHTS: Final = (0.0, 1.0)
"""Heights above the ground at which it reads them [m]."""
READINGS: Final = len(LIFT_HEIGHTS) * LIFT_SCALE**2
"""Points at which a cell of the feature map reads the views."""


class Lift(nn.Module):
    """Features of views, one per `stride` pixels, onto the feature map, for one set of cameras."""

    index: Tensor
    weight: Tensor

    def __init__(self, config: DenseEncoderConfig, stride: int) -> None:
        super().__init__()
        self.cells = config.map_cells
        with torch.device("cpu"):  # a real one, also while a network's parameters have no memory yet
            index, weight = _reading(config, stride)
        self.register_buffer("index", index, persistent=False)
        self.register_buffer("weight", weight, persistent=False)

    def forward(self, features_BCLhw: Tensor) -> Tensor:
        """(B, readings * L, X, Y): by height, place along x, along y, feature; zero where no view looks."""
        scenes, views, width, rows, columns = features_BCLhw.shape
        table = features_BCLhw.permute(1, 3, 4, 0, 2).reshape(views * rows * columns, scenes * width)
        weight = self.weight.to(table.dtype)
        read = functional.embedding_bag(self.index, table, per_sample_weights=weight, mode="sum")
        lifted = read.view(*self.cells, READINGS, scenes, width).permute(3, 0, 1, 2, 4)
        return lifted.reshape(scenes, *self.cells, READINGS * width).permute(0, 3, 1, 2)  # channels last in memory

    @property
    def visible(self) -> Tensor:
        """(2X, 2Y) which places a view sees, on the ground."""
        seen = (self.weight.sum(1) > 0).view(*self.cells, len(LIFT_HEIGHTS), LIFT_SCALE, LIFT_SCALE)[:, :, 0]
        return seen.permute(0, 2, 1, 3).reshape(LIFT_SCALE * self.cells[0], LIFT_SCALE * self.cells[1])


def _reading(config: DenseEncoderConfig, stride: int) -> tuple[Tensor, Tensor]:
    """Rows of the table of features (X * Y * readings, 4) that cells read, and their weights, of the same shape."""
    rows, columns = config.image_height // stride, config.image_width // stride
    axes = (config.map_cells[0], LIFT_SCALE, config.map_cells[1], LIFT_SCALE, 3)
    levels = [grid_points(LIFT_SCALE, height).view(axes).permute(0, 2, 1, 3, 4) for height in LIFT_HEIGHTS]
    points = torch.stack(levels, 2).reshape(1, -1, 3)
    pixels, ahead = project(points, config.cameras)
    view, pixel, visible = best_view(pixels, ahead, config.image_height, config.image_width)
    last = pixel.new_tensor([columns - 1, rows - 1])
    centred = torch.minimum((pixel[0] / stride - 0.5).clamp(min=0), last)
    low = centred.floor()
    high = torch.minimum(low + 1, last)
    right, down = (centred - low).unbind(-1)
    first = view[0] * (rows * columns)
    cells = [first + r.long() * columns + c.long() for r in (low[:, 1], high[:, 1]) for c in (low[:, 0], high[:, 0])]
    shares = [r * c for r in (1 - down, down) for c in (1 - right, right)]
    return torch.stack(cells, -1), torch.stack(shares, -1) * visible[0][:, None]


def grid_points(scale: int, height: float) -> Tensor:
    """Centres (cells, 3) of a grid with `scale` cells per cell of the feature map, in the ego frame [m]."""
    side = CELL * SCALE / scale
    x = X_RANGE[0] + side * (np.arange(round((X_RANGE[1] - X_RANGE[0]) / side)) + 0.5)
    y = Y_RANGE[0] + side * (np.arange(round((Y_RANGE[1] - Y_RANGE[0]) / side)) + 0.5)
    points = np.stack(np.meshgrid(x, y, indexing="ij"), -1).reshape(-1, 2)
    return torch.from_numpy(np.column_stack([points, np.full(len(points), height)])).float()
