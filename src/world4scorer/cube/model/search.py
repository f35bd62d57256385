"""Cross-entropy search over action sequences, for many starts at once.

Sample candidates around a mean, score them, take the mean and spread of the best as the next iteration's, and so on;
the plan is the last mean. What a score is, the caller says. With `colour`, `kept` and `momentum` it is iCEM: noise that
is correlated over time, elites that stay among the candidates, means that move gradually.

>>> plans = search(Search(), score, [torch.Generator().manual_seed(seed) for seed in range(50)])
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from world4scorer.cube.errors import CubeError
from world4scorer.cube.model.lewm import ACTION_BLOCK
from world4scorer.cube.simulator.cube_env import ACTION

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
    colour: float = 0.0
    """Exponent of the noise's power spectrum over the steps of a sequence: 0 is white noise, 2 a random walk's."""
    kept: int = 0
    """Elites that are candidates of the next iteration, too."""
    momentum: float = 0.0
    """Share of the last mean and spread in the next."""

    def __post_init__(self) -> None:
        if not 2 <= self.elites <= self.candidates:
            raise CubeError(f"{self.elites} elites of {self.candidates} candidates: take at least two, at most all")
        if self.iterations < 1 or self.blocks < 1:
            raise CubeError("a search needs an iteration and a block")
        if not 0 <= self.kept <= self.elites or not 0 <= self.momentum < 1 or self.colour < 0:
            raise CubeError(
                "at most all elites can be kept; the momentum is below 1, the noise's exponent not negative"
            )


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
    elites: Tensor | None = None
    for _ in range(budget.iterations):
        noise = torch.stack([torch.randn(shape, generator=generator) for generator in generators])
        candidates = mean[:, None] + spread[:, None] * _coloured(noise, budget.colour)
        candidates[:, 0] = mean
        if budget.kept and elites is not None:
            candidates[:, 1 : 1 + budget.kept] = elites[:, : budget.kept]
        if budget.bounded and bounds is not None:
            candidates = candidates.clamp(*bounds)
        best = score(candidates).topk(budget.elites, dim=1).indices
        elites = candidates.gather(1, best[..., None, None].expand(-1, -1, budget.blocks, ACTION_BLOCK))
        mean = budget.momentum * mean + (1 - budget.momentum) * elites.mean(1)
        spread = budget.momentum * spread + (1 - budget.momentum) * elites.std(1)
    return mean


def _coloured(noise: Tensor, colour: float) -> Tensor:
    """White noise (…, blocks, 25) with the spectrum 1 / frequency^colour over its steps, of the same variance."""
    if not colour:
        return noise
    steps = noise.reshape(*noise.shape[:-2], -1, ACTION)
    count = steps.shape[-2]
    frequency = torch.fft.rfftfreq(count).clamp_min(1 / count)  # the mean counts as the lowest frequency
    amplitude = frequency ** (-colour / 2)
    shaped = torch.fft.irfft(torch.fft.rfft(steps, dim=-2) * amplitude[:, None], count, dim=-2)
    twice = torch.full_like(frequency, 2.0)
    twice[0] = 1.0
    if count % 2 == 0:
        twice[-1] = 1.0
    variance = (twice * amplitude.square()).sum() / count
    coloured: Tensor = (shaped / variance.sqrt()).reshape(noise.shape)
    return coloured
