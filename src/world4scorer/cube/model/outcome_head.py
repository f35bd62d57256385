"""The outcome head: predicted outcome of a candidate from the world model's prediction.

>>> features = candidate_features(final, goal, cost, actions)
>>> score = standardised(-cost) + weight * standardised(head(features))

`OutcomeHead` is the paper's: it sees where a candidate ends. `PathHead` is an extension: it sees the predicted latent
after every block, as the smallest distance to the goal may lie anywhere on the way.
"""

from __future__ import annotations

from typing import Final, Literal

import torch
from torch import Tensor, nn
from torch.nn import functional

STD_FLOOR: Final = 1e-6
LISTWISE_WEIGHT: Final = 0.25
TEMPERATURE: Final = 0.5
MIN_DIFFERENCE: Final = 1e-7
"""Pairs that differ less in utility are not counted in the ordering accuracy."""

HeadSees = Literal["final", "path"]
"""What a head sees of a candidate: the predicted latent at its end, or after each of its blocks."""


def candidate_features(final: Tensor, goal: Tensor, cost: Tensor, actions: Tensor) -> Tensor:
    """Features of candidates for the head.

    Args:
        final: Predicted latents at the end (…, candidates, latent).
        goal: Latents of the goals (…, latent).
        cost: Latent costs (…, candidates).
        actions: (…, candidates, blocks, 25).

    Returns:
        (…, candidates, 4 x latent + 51): 819 numbers for latents of 192.
    """
    final = functional.layer_norm(final, final.shape[-1:])
    goal = functional.layer_norm(goal, goal.shape[-1:])[..., None, :].expand_as(final)
    logged = torch.log1p(cost.clamp_min(0))[..., None]
    spread = actions.std(-2, correction=0)
    return torch.cat([final, goal, final - goal, final * goal, logged, actions.mean(-2), spread], -1)


def path_features(path: Tensor, goal: Tensor, actions: Tensor) -> Tensor:
    """Features of candidates for the head that sees every block.

    Args:
        path: Predicted latents (…, candidates, blocks, latent).
        goal: Latents of the goals (…, latent).
        actions: (…, candidates, blocks, 25).

    Returns:
        (…, candidates, blocks, 4 x latent + 26).
    """
    goal = goal[..., None, None, :].expand_as(path)
    logged = torch.log1p((path - goal).square().sum(-1, keepdim=True))
    path, goal = (functional.layer_norm(one, one.shape[-1:]) for one in (path, goal))
    return torch.cat([path, goal, path - goal, path * goal, logged, actions], -1)


class OutcomeHead(nn.Module):
    """An MLP from features to one number, of which more is better."""

    sees: HeadSees = "final"

    def __init__(self, width: int) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            nn.LayerNorm(width),
            nn.Linear(width, 256),
            nn.GELU(),
            nn.Dropout(0.05),
            nn.Linear(256, 128),
            nn.LayerNorm(128),
            nn.GELU(),
            nn.Linear(128, 1),
        )

    def forward(self, features: Tensor) -> Tensor:
        """(…, width) to (…)."""
        out: Tensor = self.layers(features)
        return out.squeeze(-1)


class PathHead(nn.Module):
    """An MLP over each block, the same for all, and one over what it makes of them."""

    sees: HeadSees = "path"

    def __init__(self, width: int, blocks: int) -> None:
        super().__init__()
        self.block = nn.Sequential(nn.LayerNorm(width), nn.Linear(width, 128), nn.GELU(), nn.Linear(128, 32), nn.GELU())
        self.layers = nn.Sequential(nn.Dropout(0.05), nn.Linear(32 * blocks, 128), nn.GELU(), nn.Linear(128, 1))

    def forward(self, features: Tensor) -> Tensor:
        """(…, blocks, width) to (…)."""
        out: Tensor = self.layers(self.block(features).flatten(-2))
        return out.squeeze(-1)


def standardised(values: Tensor) -> Tensor:
    """Values (…, candidates) with mean 0 and (population) standard deviation 1 in each group."""
    spread = values.std(-1, correction=0, keepdim=True).clamp_min(STD_FLOOR)
    return (values - values.mean(-1, keepdim=True)) / spread


def outcome_loss(predicted: Tensor, target: Tensor) -> Tensor:
    """Smooth L1 plus a listwise cross-entropy; both (groups, candidates), the target standardised in its groups."""
    wanted = functional.softmax(target / TEMPERATURE, -1)
    listwise = -(wanted * functional.log_softmax(predicted / TEMPERATURE, -1)).sum(-1).mean()
    return functional.smooth_l1_loss(predicted, target) + LISTWISE_WEIGHT * listwise


def pairwise_accuracy(scores: Tensor, utilities: Tensor) -> Tensor:
    """Share of pairs in each group that the scores order as the utilities do; ties of scores count half.

    Both (groups, candidates); groups without a pair that differs in utility are NaN.
    """
    better = utilities[:, :, None] - utilities[:, None, :] > MIN_DIFFERENCE
    gap = scores[:, :, None] - scores[:, None, :]
    right = (gap > 0).double() + 0.5 * (gap == 0).double()
    return (right * better).sum((1, 2)) / better.sum((1, 2))
