"""From a grid of patches to an image: what decoders promise, and a small one that is trained here.

Shapes: B images, P patches, V channels, D width, H x W pixels.
"""

from __future__ import annotations

from typing import Final, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from world4scorer.studies.readout_networks.grid_transformer import INITIAL_SPREAD, zeroed
from world4scorer.studies.readout_networks.statistics import SMALLEST

CHARBONNIER_EPSILON: Final = 1e-3
"""Differences of colours (from 0 to 1) below which the loss is a square."""
RIDGE: Final = 1e-2
"""Of the regression: variance of noise on channels of spread 1, as predicted grids are not as sharp as seen ones."""
MIDDLE: Final = 0.5
"""Of the colours."""
CHUNK: Final = 128
"""Images at a time."""


class GridDecoder(Protocol):
    """Draws images from grids."""

    def images(self, grid_BPV: Tensor) -> Tensor:
        """Images (B, 3, H, W), colours from 0 to 1."""
        ...


class PatchDecoder(nn.Module):
    """Pixels of each patch by linear regression, what other patches add to them, and a convolution across the seams.

    The regression is solved (`solve`), one for each place of the grid; the rest starts at zero and is trained.
    """

    grid_mean: Tensor
    grid_spread: Tensor
    linear: Tensor

    def __init__(
        self,
        grid: tuple[int, int],
        patch: int,
        channels: int,
        width: int,
        layers: int,
        heads: int,
        maps: int,
        size: tuple[int, int] | None = None,
    ) -> None:
        """`size` is that of images (H, W) where patches reach over their right and lower edges."""
        super().__init__()
        self.grid, self.patch = grid, patch
        self.size = size or (grid[0] * patch, grid[1] * patch)
        patches, pixels = grid[0] * grid[1], 3 * patch**2
        self.register_buffer("grid_mean", torch.zeros(channels))
        self.register_buffer("grid_spread", torch.ones(channels))
        self.register_buffer("linear", torch.zeros(patches, channels + 1, pixels))
        self.inward = nn.Linear(channels, width)
        self.positions = nn.Parameter(torch.randn(1, patches, width) * INITIAL_SPREAD)
        self.blocks = nn.ModuleList(
            nn.TransformerEncoderLayer(width, heads, 4 * width, 0.0, "gelu", batch_first=True, norm_first=True)
            for _ in range(layers)
        )
        self.norm = nn.LayerNorm(width)
        self.outward = zeroed(nn.Linear(width, pixels))
        self.smooth = nn.Conv2d(3, maps, 5, padding=2)
        self.colours = nn.Conv2d(maps, 3, 3, padding=1, bias=False)
        nn.init.zeros_(self.colours.weight)

    @torch.no_grad()
    def solve(self, grid_NPV: Tensor, views_NHW3: NDArray[np.uint8]) -> None:
        """Take the statistics of grids, and the ridge regression of the views they come from."""
        numbers = grid_NPV.flatten(0, 1).float()
        self.grid_mean.copy_(numbers.mean(0))
        self.grid_spread.copy_(numbers.std(0).clamp_min(SMALLEST))
        patches, seen, pixels = self.linear.shape
        products, answers = torch.zeros(patches, seen, seen), torch.zeros(patches, seen, pixels)
        for start in range(0, len(grid_NPV), CHUNK):
            known_PNC = self._known(grid_NPV[start : start + CHUNK].float())
            images = torch.from_numpy(views_NHW3[start : start + CHUNK]).movedim(-1, 1).float() / 255.0
            products += known_PNC.transpose(1, 2) @ known_PNC
            answers += known_PNC.transpose(1, 2) @ (self._tiles(images) - MIDDLE).transpose(0, 1)
        ridge = RIDGE * len(grid_NPV) * torch.eye(seen)
        self.linear.copy_(torch.linalg.solve(products + ridge, answers))

    def disturbed(self, grid_BPV: Tensor, most: float, generator: torch.Generator) -> Tensor:
        """Grids with noise, whose spread is drawn evenly for each from 0 to `most` spreads of a channel."""
        share = most * torch.rand(len(grid_BPV), 1, 1, generator=generator)
        return grid_BPV + share * self.grid_spread * torch.randn(grid_BPV.shape, generator=generator)

    def forward(self, grid_BPV: Tensor) -> Tensor:
        """Images (B, 3, H, W), colours from 0 to 1 but not cut off."""
        known_PBC = self._known(grid_BPV)
        features_BPD = self.inward(known_PBC[..., :-1].transpose(0, 1)) + self.positions
        for block in self.blocks:
            features_BPD = block(features_BPD)
        pixels_BPN = (known_PBC @ self.linear).transpose(0, 1) + self.outward(self.norm(features_BPD))
        (rows, columns), side = self.grid, self.patch
        tiles = pixels_BPN.unflatten(2, (3, side, side)).unflatten(1, (rows, columns))
        drawn = tiles.permute(0, 3, 1, 4, 2, 5).reshape(len(tiles), 3, rows * side, columns * side)
        drawn = drawn[..., : self.size[0], : self.size[1]]
        smoothed: Tensor = drawn + self.colours(functional.relu(self.smooth(drawn))) + MIDDLE
        return smoothed

    @torch.no_grad()
    def images(self, grid_BPV: Tensor) -> Tensor:
        """Images (B, 3, H, W), colours from 0 to 1."""
        drawn: Tensor = self(grid_BPV)
        return drawn.clamp(0.0, 1.0)

    def _known(self, grid_BPV: Tensor) -> Tensor:
        """What the regression starts from (P, B, V + 1): normalised channels, and a one."""
        normalised = (grid_BPV - self.grid_mean) / self.grid_spread
        return functional.pad(normalised, (0, 1), value=1.0).transpose(0, 1)

    def _tiles(self, image_B3HW: Tensor) -> Tensor:
        """Pixels of each patch (B, P, 3 x patch x patch)."""
        (rows, columns), side = self.grid, self.patch
        missing = (0, columns * side - self.size[1], 0, rows * side - self.size[0])
        if any(missing):
            image_B3HW = functional.pad(image_B3HW, missing, mode="replicate")
        tiles = image_B3HW.unflatten(3, (columns, side)).unflatten(2, (rows, side))
        pixels: Tensor = tiles.permute(0, 2, 4, 1, 3, 5).flatten(3).flatten(1, 2)
        return pixels


def image_loss(drawn_B3HW: Tensor, true_B3HW: Tensor) -> Tensor:
    """Charbonnier's distance of colours, and of their differences between neighbours."""
    apart = drawn_B3HW - true_B3HW
    return _size(apart) + _size(apart.diff(dim=-1)) + _size(apart.diff(dim=-2))


def _size(difference: Tensor) -> Tensor:
    return (difference.square() + CHARBONNIER_EPSILON**2).sqrt().mean()
