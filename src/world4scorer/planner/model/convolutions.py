"""Blocks of the convolutional networks of the dense encoder.

Shapes: features are (batch, width, rows, columns).
"""

from __future__ import annotations

from typing import Final

import torch
from torch import Tensor, nn
from torch.nn import functional

EPSILON: Final = 1e-5
"""Added to variances before division."""


class Norm(nn.Module):
    """Batch normalisation whose state is floating-point numbers alone, as files of weights want it."""

    mean: Tensor
    variance: Tensor

    def __init__(self, width: int) -> None:
        super().__init__()
        self.weight, self.bias = nn.Parameter(torch.ones(width)), nn.Parameter(torch.zeros(width))
        self.register_buffer("mean", torch.zeros(width))
        self.register_buffer("variance", torch.ones(width))

    def forward(self, x: Tensor) -> Tensor:
        """The normalised features."""
        mean, variance = self.mean, self.variance
        return functional.batch_norm(x, mean, variance, self.weight, self.bias, self.training, eps=EPSILON)

    def scale_and_shift(self) -> tuple[Tensor, Tensor]:
        """What it does to features (width,), outside of training."""
        scale = self.weight.detach() / (self.variance + EPSILON).sqrt()
        return scale, self.bias.detach() - self.mean * scale


class ConvolutionBlock(nn.Sequential):
    """Convolution, normalisation, ReLU."""

    def __init__(self, inputs: int, outputs: int, kernel: int = 3, stride: int = 1) -> None:
        super().__init__(
            nn.Conv2d(inputs, outputs, kernel, stride, kernel // 2, bias=False),
            Norm(outputs),
            nn.ReLU(inplace=True),
        )


class ResidualBlock(nn.Module):
    """Two convolutions beside a shortcut."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.first = ConvolutionBlock(width, width)
        self.second = nn.Sequential(nn.Conv2d(width, width, 3, 1, 1, bias=False), Norm(width))

    def forward(self, x: Tensor) -> Tensor:
        """Features of the same shape."""
        return functional.relu(x + self.second(self.first(x)))
