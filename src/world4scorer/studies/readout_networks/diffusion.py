"""Conditional latent diffusion: future grids from noise, given the grid seen now and one pooled vector of the future.

Shapes: B pairs, P patches, V channels, E features of a vector, D width.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Final

import torch
from torch import Tensor, nn

from world4scorer.studies.readout_networks.config import ReadoutConfig
from world4scorer.studies.readout_networks.grid_transformer import GridTransformer
from world4scorer.studies.readout_networks.schedule import Schedule
from world4scorer.studies.readout_networks.statistics import Statistics
from world4scorer.studies.readout_networks.vectors import guided

DDIM_STEPS: Final = 20
SEED: Final = 17
"""Of samples, as in the paper."""
LONGEST_WAVE: Final = 1000.0
"""Of the waves that encode a step."""

Velocity = Callable[[Tensor, Tensor], Tensor]
"""Of noisy grids (B, ...) at steps (B,)."""


class GridDiffusion(nn.Module):
    """Says the velocity of noisy future grids."""

    def __init__(self, config: ReadoutConfig, patches: int, channels: int, features: int) -> None:
        super().__init__()
        width = config.width
        self.schedule = Schedule.cosine(config.noise_steps)
        self.statistics = Statistics(channels, features)
        self.embed = nn.Sequential(nn.Linear(features, width), nn.SiLU(), nn.Linear(width, width))
        self.null = nn.Parameter(torch.zeros(width))
        self.time = nn.Sequential(nn.Linear(width, width), nn.SiLU(), nn.Linear(width, width))
        self.trunk = GridTransformer(2 * channels, channels, patches, width, config.layers, config.heads)

    def forward(self, noisy_BPV: Tensor, step_B: Tensor, now_BPV: Tensor, vector_BE: Tensor, kept_B: Tensor) -> Tensor:
        """Velocities (B, P, V) of noisy normalised grids; pairs that are not kept get no vector."""
        known = torch.where(kept_B[:, None], self.embed(self.statistics.vector(vector_BE)), self.null)
        waves = step_waves(step_B / len(self.schedule.alpha), self.null.shape[0])
        tokens = torch.cat([noisy_BPV, self.statistics.grid(now_BPV)], -1)
        velocity: Tensor = self.trunk(tokens, known + self.time(waves))
        return velocity

    def loss(
        self, now_BPV: Tensor, future_BPV: Tensor, vector_BE: Tensor, kept_B: Tensor, generator: torch.Generator
    ) -> Tensor:
        """Mean squared error of velocities at random steps."""
        clean = self.statistics.grid(future_BPV)
        step = torch.randint(len(self.schedule.alpha), (len(clean),), generator=generator)
        noise = torch.randn(clean.shape, generator=generator)
        said = self(self.schedule.noisy(clean, noise, step), step, now_BPV, vector_BE, kept_B)
        loss: Tensor = (said - self.schedule.velocity(clean, noise, step)).square().mean()
        return loss

    @torch.no_grad()
    def sample(
        self, now_BPV: Tensor, vector_BE: Tensor, guidance: float = 1.0, steps: int = DDIM_STEPS, seed: int = SEED
    ) -> Tensor:
        """Future grids (B, P, V). All start from the same noise, so that it does not matter who is beside whom."""
        noise = torch.randn(now_BPV.shape[1:], generator=torch.Generator().manual_seed(seed)).expand_as(now_BPV)
        yes, no = (torch.full((len(now_BPV),), answer) for answer in (True, False))

        def velocity(noisy: Tensor, step: Tensor) -> Tensor:
            conditioned = self(noisy, step, now_BPV, vector_BE, yes)
            return (
                conditioned
                if guidance == 1.0
                else guided(self(noisy, step, now_BPV, vector_BE, no), conditioned, guidance)
            )

        return self.statistics.raw_grid(ddim(velocity, noise, self.schedule, steps))


def ddim(velocity: Velocity, noise: Tensor, schedule: Schedule, steps: int) -> Tensor:
    """From noise (B, ...) to clean grids by the deterministic way (eta 0)."""
    visited = schedule.visited(steps)
    noisy = clean = noise
    for index, number in enumerate(visited):
        step = torch.full((len(noisy),), number)
        clean, left = schedule.clean_and_noise(noisy, velocity(noisy, step), step)
        if index + 1 < len(visited):
            noisy = schedule.noisy(clean, left, torch.full_like(step, visited[index + 1]))
    return clean


def step_waves(share_B: Tensor, width: int) -> Tensor:
    """Sines and cosines (B, D) of a step, given as a share of all."""
    half = width // 2
    pace = torch.exp(-math.log(LONGEST_WAVE) * torch.arange(half) / half) * LONGEST_WAVE
    angle = share_B[:, None] * pace
    return torch.nn.functional.pad(torch.cat([angle.sin(), angle.cos()], -1), (0, width - 2 * half))
