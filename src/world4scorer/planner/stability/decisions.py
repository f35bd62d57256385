"""Choices that are stable within a budget, choices that can flip, and their critical budgets.

A choice holds as long as it leads every rival by more than the radius of that comparison. Solving for all rivals would
be dear. But no radius exceeds |c| / sqrt(mu), so lead * sqrt(mu) / |c| bounds from below the budget at which a rival
can take over; rivals are taken up in this order, and where the next bound lies beyond the least budget found, none is
missed.

Shapes: B scenes, N plans, R rivals, P parameters.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from world4scorer.planner.model.utility import Benchmark
from world4scorer.planner.stability.geometry import Geometry
from world4scorer.planner.stability.radii import call_utilities, contrasts, radii
from world4scorer.planner.stability.shared_scorer import ScorerCall, SharedScorer


@dataclass(frozen=True, eq=False)
class Rivals:
    """Rivals of the choice of one scene."""

    choice: int
    places: Tensor
    """(R,) the nearest first"""
    lead: Tensor
    """(R,) J of the choice less J of the rival"""
    contrasts: Tensor
    """(R, P)"""
    others: float
    """Budget below which none of the rivals that were left out can take over; infinite where none was"""


@dataclass(frozen=True, eq=False)
class Stability:
    """Comparisons of plans in some scenes. Radii are for epsilon = 1 and grow with it."""

    first: Tensor
    """(B, R) of choices: the choice"""
    second: Tensor
    """(B, R) the rivals, the nearest first"""
    lead: Tensor
    """(B, R) J of the first less J of the second"""
    radius_out: Tensor
    """(B, R) held by outcomes alone"""
    radius: Tensor
    """(B, R) held by outcomes and futures"""
    others: Tensor
    """(B,) budget below which no rival that was left out can take over"""
    epsilon: float
    """Budget that `certified` and `fragile` are asked for."""

    def __repr__(self) -> str:
        return f"Stability({len(self.first)} scenes, {self.first.shape[1]} rivals each, epsilon {self.epsilon:g})"

    @property
    def choice(self) -> Tensor:
        """(B,) the first plan of the first comparison."""
        return self.first[:, 0]

    @property
    def holds(self) -> Tensor:
        """(B, R) which comparisons keep their order throughout the budget."""
        return self.lead > self.epsilon * self.radius

    @property
    def critical(self) -> Tensor:
        """(B,) the least budget at which a comparison that was solved can flip."""
        return (self.lead / self.radius).min(1).values

    @property
    def critical_out(self) -> Tensor:
        """(B,) the same where outcomes alone hold the scorer."""
        return (self.lead / self.radius_out).min(1).values

    @property
    def complete(self) -> Tensor:
        """(B,) whether no rival that was left out can flip the choice sooner."""
        return self.others >= self.critical

    @property
    def certified(self) -> Tensor:
        """(B,) which choices hold throughout the budget, against all rivals."""
        return (self.critical > self.epsilon) & (self.others > self.epsilon)

    @property
    def fragile(self) -> Tensor:
        """(B,) which can flip within the budget; a scene that is neither needs more rivals looked at."""
        return self.critical <= self.epsilon


def nearest_rivals(
    scorer: SharedScorer,
    call: ScorerCall,
    mu: float,
    count: int,
    benchmark: Benchmark = "v1",
    choice: int | None = None,
) -> Rivals:
    """The rivals of the choice of one scene that can take over soonest, by the bound above."""
    with torch.no_grad():
        worth = call_utilities(scorer, scorer.theta, call, benchmark)[0].double()
    best = int(worth.argmax()) if choice is None else choice
    places = torch.tensor([index for index in range(len(worth)) if index != best])
    gradients = contrasts(scorer, call, torch.full_like(places, best), places, benchmark)
    lead = worth[best] - worth[places]
    bound = lead * mu**0.5 / gradients.double().norm(dim=1)
    bound = torch.where(bound.isnan(), torch.inf, bound)  # the same plan twice: no lead, and no way to change that
    order = bound.argsort()
    near = order[:count]
    left = float(bound[order[count]]) if len(order) > count else float("inf")
    return Rivals(best, places[near], lead[near], gradients[near], left)


def stability(
    geometry: Geometry, calls: ScorerCall, rivals: int, epsilon: float, benchmark: Benchmark = "v1"
) -> Stability:
    """The choices of scenes against their nearest rivals."""
    scorer, scenes = geometry.supervision.scorer, len(calls)
    count = min(rivals, calls.plans.shape[1] - 1)
    if count < 1:
        raise ValueError(f"plans: {calls.plans.shape[1]} of them, {rivals} rivals; a choice needs at least one rival")
    found = [
        nearest_rivals(scorer, calls.at(slice(scene, scene + 1)), geometry.mu, count, benchmark)
        for scene in range(scenes)
    ]
    solved = radii(geometry, torch.cat([one.contrasts for one in found]))
    return Stability(
        torch.tensor([one.choice for one in found])[:, None].expand(-1, count),
        torch.stack([one.places for one in found]),
        torch.stack([one.lead for one in found]),
        solved.out.reshape(scenes, count),
        solved.out_future.reshape(scenes, count),
        torch.tensor([one.others for one in found], dtype=torch.float64),
        epsilon,
    )


def compared(
    geometry: Geometry, calls: ScorerCall, pairs_BR2: Tensor, epsilon: float, benchmark: Benchmark = "v1"
) -> Stability:
    """Given pairs of plans of scenes; nothing is said of the plans that are in none."""
    scorer = geometry.supervision.scorer
    with torch.no_grad():
        worth = call_utilities(scorer, scorer.theta, calls, benchmark).double()
    first, second = pairs_BR2.unbind(-1)
    gradients = torch.cat(
        [contrasts(scorer, calls.at(slice(s, s + 1)), first[s], second[s], benchmark) for s in range(len(calls))]
    )
    solved = radii(geometry, gradients)
    lead = worth.gather(1, first) - worth.gather(1, second)
    left = torch.zeros(len(calls), dtype=torch.float64)
    return Stability(first, second, lead, solved.out.view_as(lead), solved.out_future.view_as(lead), left, epsilon)
