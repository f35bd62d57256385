"""Per-channel mean and spread of grids and vectors, by which networks normalise their inputs.

Kept as buffers, so that they lie in a network's file with its weights.

Shapes: N pairs, P patches, V channels of a grid, E features of a vector.
"""

from __future__ import annotations

from typing import Final

import torch
from torch import Tensor, nn

SMALLEST: Final = 1e-4
"""Spread below which a channel counts as constant."""


class Statistics(nn.Module):
    """Mean and spread of grids (..., V) and vectors (..., E)."""

    grid_mean: Tensor
    grid_spread: Tensor
    vector_mean: Tensor
    vector_spread: Tensor

    def __init__(self, channels: int, features: int) -> None:
        super().__init__()
        for name, size in (("grid", channels), ("vector", features)):
            self.register_buffer(f"{name}_mean", torch.zeros(size))
            self.register_buffer(f"{name}_spread", torch.ones(size))

    @torch.no_grad()
    def measure(self, grid_NPV: Tensor, vector_NE: Tensor) -> None:
        """Take the statistics of these."""
        for name, numbers in (("grid", grid_NPV.flatten(0, 1)), ("vector", vector_NE)):
            getattr(self, f"{name}_mean").copy_(numbers.float().mean(0))
            getattr(self, f"{name}_spread").copy_(numbers.float().std(0).clamp_min(SMALLEST))

    def grid(self, grid: Tensor) -> Tensor:
        """Normalised."""
        return (grid - self.grid_mean) / self.grid_spread

    def vector(self, vector: Tensor) -> Tensor:
        """Normalised."""
        return (vector - self.vector_mean) / self.vector_spread

    def raw_grid(self, grid: Tensor) -> Tensor:
        """Back from normalised."""
        return grid * self.grid_spread + self.grid_mean
