"""Cross-entropy search over action sequences, for many starts at once.

Sample candidates around a mean, score them, take the mean and spread of the best as the next iteration's, and so on;
the plan is the last mean. What a score is, the caller says.

>>> plans = search(Search(), score, [torch.Generator().manual_seed(seed) for seed in range(50)])
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from world4scorer.cube.errors import CubeError
from world4scorer.cube.model.lewm import ACTION_BLOCK

Score = Callable[[Tensor], Tensor]
"""Scores (starts, candidates), more is better, of candidates (starts, candidates, blocks, 25)."""


@dataclass(frozen=True)
class Search:
    """Budget of a search; the defaults are those of the published protocol."""

    candidates: int = 300
    """Action sequences of an iteration."""
    elites: int = 30
    """Elites that define the next distribution."""
    iterations: int = 10
    """Iterations."""
    blocks: int = 5
    """Action blocks of a sequence, of five steps each; all of them are carried out before the next search."""
    bounded: bool = False
    """Whether candidates are kept within the action space; the published planner lets them leave it."""

    def __post_init__(self) -> None:
        if not 2 <= self.elites <= self.candidates:
            raise CubeError(f"{self.elites} elites of {self.candidates} candidates: take at least two, at most all")
        if self.iterations < 1 or self.blocks < 1:
            raise CubeError("a search needs an iteration and a block")


@torch.inference_mode()
def search(
    budget: Search, score: Score, generators: Sequence[torch.Generator], bounds: tuple[Tensor, Tensor] | None = None
) -> Tensor:
    """Plans (starts, blocks, 25), in units of the data's standard deviation of actions.

    Args:
        budget: How much is tried.
        score: What is sought.
        generators: One for each of the searches that run side by side, each with candidates and elites of its own:
            what one of them finds does not depend on the others.
        bounds: Least and most (25,) of an action block, for a bounded search.
    """
    shape = (budget.candidates, budget.blocks, ACTION_BLOCK)
    mean = torch.zeros(len(generators), *shape[1:])
    spread = torch.ones_like(mean)
    for _ in range(budget.iterations):
        noise = torch.stack([torch.randn(shape, generator=generator) for generator in generators])
        candidates = mean[:, None] + spread[:, None] * noise
        candidates[:, 0] = mean
        if budget.bounded and bounds is not None:
            candidates = candidates.clamp(*bounds)
        best = score(candidates).topk(budget.elites, dim=1).indices
        elites = candidates.gather(1, best[..., None, None].expand(-1, -1, budget.blocks, ACTION_BLOCK))
        mean, spread = elites.mean(1), elites.std(1)
    return mean
