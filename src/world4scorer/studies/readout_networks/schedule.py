"""The cosine schedule of noise (Nichol and Dhariwal 2021), and v-prediction (Salimans and Ho 2022).

A noisy grid is alpha x + sigma e of a clean grid x and normal noise e, with alpha^2 + sigma^2 = 1. The network predicts
the velocity v = alpha e - sigma x, from which both are known.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

import torch
from torch import Tensor

OFFSET: Final = 0.008
"""Keeps the first steps from adding almost no noise."""
MOST_VARIANCE: Final = 0.999
"""Largest share of the variance that one step replaces."""


@dataclass(frozen=True, eq=False)
class Schedule:
    """Signal and noise at steps 0 (almost clean) to the last."""

    alpha: Tensor
    """(T,)"""
    sigma: Tensor
    """(T,)"""

    @classmethod
    def cosine(cls, steps: int) -> Schedule:
        """The cosine schedule with this number of steps."""
        time = torch.arange(steps + 1, dtype=torch.float64) / steps
        left = torch.cos((time + OFFSET) / (1 + OFFSET) * math.pi / 2).square()
        signal = torch.cumprod((left[1:] / left[:-1]).clamp_min(1 - MOST_VARIANCE), 0)
        return cls(signal.sqrt().float(), (1 - signal).sqrt().float())

    def noisy(self, clean: Tensor, noise: Tensor, step_B: Tensor) -> Tensor:
        """Grids (B, ...) with noise."""
        alpha, sigma = self.at(step_B, clean)
        return alpha * clean + sigma * noise

    def velocity(self, clean: Tensor, noise: Tensor, step_B: Tensor) -> Tensor:
        """What the network should say."""
        alpha, sigma = self.at(step_B, clean)
        return alpha * noise - sigma * clean

    def clean_and_noise(self, noisy: Tensor, velocity: Tensor, step_B: Tensor) -> tuple[Tensor, Tensor]:
        """What a velocity says of clean grid and noise."""
        alpha, sigma = self.at(step_B, noisy)
        return alpha * noisy - sigma * velocity, sigma * noisy + alpha * velocity

    def at(self, step_B: Tensor, like: Tensor) -> tuple[Tensor, Tensor]:
        """Alpha and sigma, one for each grid of `like` (B, ...)."""
        shape = (-1, *[1] * (like.ndim - 1))
        return self.alpha[step_B].view(shape), self.sigma[step_B].view(shape)

    def visited(self, count: int) -> list[int]:
        """Steps that a shortened way visits, the noisiest first; evenly spread, the last and the first among them."""
        steps = len(self.alpha)
        if not 1 <= count <= steps:
            raise ValueError(f"steps: {count}; from 1 to {steps}")
        return [round(step) for step in torch.linspace(steps - 1, 0, count, dtype=torch.float64).tolist()]
