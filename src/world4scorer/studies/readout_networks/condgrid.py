"""CondGrid: the grid of patches seen now, and one pooled vector of the future, to the grid of the future.

It predicts what changes. Untrained it changes nothing.

Shapes: B pairs, P patches, V channels, E features of a vector, D width.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from world4scorer.studies.readout_networks.config import ReadoutConfig
from world4scorer.studies.readout_networks.grid_transformer import GridTransformer
from world4scorer.studies.readout_networks.statistics import Statistics
from world4scorer.studies.readout_networks.vectors import guided


class CondGrid(nn.Module):
    """A small conditional transformer that predicts a residual grid."""

    def __init__(self, config: ReadoutConfig, patches: int, channels: int, features: int) -> None:
        super().__init__()
        width = config.width
        self.statistics = Statistics(channels, features)
        self.embed = nn.Sequential(nn.Linear(features, width), nn.SiLU(), nn.Linear(width, width))
        self.null = nn.Parameter(torch.zeros(width))
        self.trunk = GridTransformer(channels, channels, patches, width, config.layers, config.heads)

    def forward(self, now_BPV: Tensor, vector_BE: Tensor, kept_B: Tensor) -> Tensor:
        """The change (B, P, V) that is predicted; pairs that are not kept get no vector."""
        condition_BD = torch.where(kept_B[:, None], self.embed(self.statistics.vector(vector_BE)), self.null)
        change: Tensor = self.trunk(self.statistics.grid(now_BPV), condition_BD) * self.statistics.grid_spread
        return change

    @torch.no_grad()
    def without_vector(self, now_BPV: Tensor) -> Tensor:
        """The grid (B, P, V) expected where nothing is known of the future."""
        none = now_BPV.new_zeros(len(now_BPV), len(self.statistics.vector_mean))
        change: Tensor = self(now_BPV, none, torch.zeros(len(now_BPV), dtype=torch.bool))
        return now_BPV + change

    @torch.no_grad()
    def predict(self, now_BPV: Tensor, vector_BE: Tensor, guidance: float = 2.0) -> Tensor:
        """The grid (B, P, V) that a vector stands for."""
        change: Tensor = self(now_BPV, vector_BE, torch.ones(len(now_BPV), dtype=torch.bool))
        if guidance == 1.0:
            return now_BPV + change
        return now_BPV + guided(self.without_vector(now_BPV) - now_BPV, change, guidance)


def condgrid_loss(
    change_BPV: Tensor, now_BPV: Tensor, future_BPV: Tensor, spread_V: Tensor, config: ReadoutConfig
) -> Tensor:
    """Cosine of tokens, squared error in spreads of each channel, and the direction of the change."""
    predicted, true = now_BPV + change_BPV, future_BPV - now_BPV
    cosine = 1.0 - functional.cosine_similarity(predicted, future_BPV, dim=-1).mean()
    squares = ((predicted - future_BPV) / spread_V).square().mean()
    return (
        config.cosine_weight * cosine
        + config.mse_weight * squares
        + config.change_weight * change_direction(change_BPV, true)
    )


def change_direction(change_BPV: Tensor, true_BPV: Tensor) -> Tensor:
    """1 - cosine of predicted and true changes, averaged over patches by the size of the true change."""
    weight = true_BPV.norm(dim=-1)
    apart = 1.0 - functional.cosine_similarity(change_BPV, true_BPV, dim=-1)
    mean: Tensor = (weight * apart).sum() / weight.sum().clamp_min(1e-8)
    return mean
