"""A vocabulary of manoeuvres, and the choice of those that suit a scene.

Free poses or a few fixed anchors leave the road in every second scene. Here many more anchors than plans are looked up
in the encoder's maps; a small network says how good each would be, and the best ones that differ are kept. The choice
sees the road, vehicles and red lights, so that plans stay on the road without the fan becoming narrower.

Shapes: B scenes, K manoeuvres of the vocabulary, N plans, T poses, D width.
"""

from __future__ import annotations

from typing import Final

import torch
from torch import Tensor, nn
from torch.nn import functional

from world4scorer.datasets.dense.labels import X_RANGE, Y_RANGE
from world4scorer.planner.model.config import ModelConfig
from world4scorer.planner.model.map_sampling import (
    BOX_POINTS,
    DECISIVE_CLASSES,
    OCCUPIED,
    Maps,
    box_points,
    decisive,
    read_forecast,
    worst_so_far,
)
from world4scorer.planner.model.route_reading import READ_NUMBERS, read_route
from world4scorer.planner.model.scorer import plan_motion

SCREENED_POINTS: Final = BOX_POINTS[:3]
HIDDEN: Final = 96
"""Hidden features of the screen."""
SPREAD: Final = 0.7
"""Distance of plans below which they count as alike [m]."""
ALIKE_PENALTY: Final = 1.0
"""Logit that a plan loses beside one that was chosen."""
SAME: Final = 0.1
"""Distance of plans below which they count as the same [m]: at rest most manoeuvres lead nowhere."""
SAME_PENALTY: Final = 10.0
"""Logit that a plan loses that is the same as one that was chosen."""
NEAR_NOTHING: Final = -30.0
"""Exponent that is small enough; below, numbers become denormal and the exponential eight times as slow."""


class Screen(nn.Module):
    """How good plans look at a glance: a logit of their score."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.worst = config.worst_points
        points = len(SCREENED_POINTS) + (1 if self.worst else 0)
        numbers = config.poses * points * len(DECISIVE_CLASSES) + 2 * config.plan_numbers
        numbers += config.poses * (len(SCREENED_POINTS) + 1) if config.forecast else 0
        numbers += config.poses * READ_NUMBERS if config.route_reading else 0
        self.read = nn.Linear(numbers, HIDDEN)
        self.ego = nn.Linear(config.width, HIDDEN)
        self.out = nn.Sequential(nn.GELU(), nn.Linear(HIDDEN, HIDDEN), nn.GELU(), nn.Linear(HIDDEN, 1))

    def forward(self, plans_BKT3: Tensor, maps: Maps, ego_BD: Tensor, route_BS2: Tensor | None = None) -> Tensor:
        """Logits (B, K); a route [m] for models that read plans along it."""
        points = box_points(plans_BKT3, SCREENED_POINTS)
        met = decisive(nearest(maps.classes, points.flatten(1, 3))).view(*points.shape[:-1], -1)
        read = [met.sigmoid().movedim(-1, 2).flatten(2), plan_motion(plans_BKT3).flatten(2)]
        if self.worst:
            read.append(worst_so_far(met))
        if maps.forecast is not None:
            ahead = read_forecast(maps.forecast, points, nearest)
            read += [ahead.sigmoid().flatten(2), worst_so_far(ahead[..., None], OCCUPIED)]
        if route_BS2 is not None:
            read.append(read_route(plans_BKT3, route_BS2))
        logits: Tensor = self.out(self.read(torch.cat(read, -1)) + self.ego(ego_BD)[:, None])[..., 0]
        return logits


def nearest(map_BMXY: Tensor, points_BU2: Tensor) -> Tensor:
    """Values (B, U, M) at points [m], of the cells that they lie in; zero beyond the map."""
    scenes, _, rows, columns = map_BMXY.shape
    row = ((points_BU2[..., 0] - X_RANGE[0]) * (rows / (X_RANGE[1] - X_RANGE[0]))).floor().long()
    column = ((points_BU2[..., 1] - Y_RANGE[0]) * (columns / (Y_RANGE[1] - Y_RANGE[0]))).floor().long()
    inside = (row >= 0) & (row < rows) & (column >= 0) & (column < columns)
    cell = row.clamp(0, rows - 1) * columns + column.clamp(0, columns - 1)
    cell = cell + rows * columns * torch.arange(scenes, device=cell.device)[:, None]
    table = map_BMXY.permute(0, 2, 3, 1).flatten(0, 2)  # no copy of maps that are last in memory
    return functional.embedding(cell, table) * inside[..., None]


def choose_different(logits_BK: Tensor, plans_BKT3: Tensor, count: int) -> Tensor:
    """Indices (B, count) of plans, the best first, each avoiding those that were chosen before it."""
    places = plans_BKT3[:, :, 1::2, :2].flatten(2).transpose(1, 2).contiguous()  # every second; sums run over rows
    worth = logits_BK.clone()
    chosen = []
    for _ in range(count):
        best = worth.argmax(1, keepdim=True)
        chosen.append(best)
        own = places.gather(2, best[:, None].expand(-1, places.shape[1], -1))
        apart = (places - own).square().sum(1) / (places.shape[1] / 2)
        worth = torch.minimum(
            worth, logits_BK - ALIKE_PENALTY * _nearness(apart, SPREAD) - SAME_PENALTY * _nearness(apart, SAME)
        )
        worth.scatter_(1, best, -torch.inf)
    return torch.cat(chosen, 1)


def _nearness(squared: Tensor, scale: float) -> Tensor:
    """One at a distance of zero, falling to zero as a Gaussian."""
    return (squared / (-2 * scale**2)).clamp(min=NEAR_NOTHING).exp()
