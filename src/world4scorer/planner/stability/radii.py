"""Radii of comparisons: how far the lead of one plan over another can move, to first order, within a budget.

rho_ij = epsilon sqrt(c^T G^-1 c) with c the gradient of J_i - J_j. Radii here are for epsilon = 1; they grow with it.

Shapes: K pairs, N plans, P parameters.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.func import vjp, vmap

from world4scorer.planner.model.utility import COMPONENTS, Benchmark, utility
from world4scorer.planner.stability.conjugate_gradients import Solution
from world4scorer.planner.stability.geometry import Geometry
from world4scorer.planner.stability.observations import jacobian_product
from world4scorer.planner.stability.shared_scorer import ScorerCall, SharedScorer


@dataclass(frozen=True, eq=False)
class Radii:
    """Radii of pairs for epsilon = 1, with outcome supervision alone and with futures."""

    outcomes: Solution
    """With G_out; its values are squares of radii"""
    both: Solution
    """With G"""
    foreseen: Tensor
    """(K,) |A_F G_out^-1 c|: how far the futures move along the direction that moves the comparison most"""

    @property
    def out(self) -> Tensor:
        """(K,) rho_out."""
        return self.outcomes.value.sqrt()

    @property
    def out_future(self) -> Tensor:
        """(K,) rho_out+fut."""
        return self.both.value.sqrt()

    @property
    def reduction(self) -> Tensor:
        """(K,) rho_out^2 - rho_out+fut^2."""
        return self.outcomes.value - self.both.value

    @property
    def proven_smaller(self) -> Tensor:
        """(K,) whether the brackets of the two radii do not touch."""
        return self.both.upper < self.outcomes.lower


def contrasts(
    scorer: SharedScorer, call: ScorerCall, first_K: Tensor, second_K: Tensor, benchmark: Benchmark = "v1"
) -> Tensor:
    """(K, P) gradients of J_i - J_j for pairs of plans of one scene's call."""
    assert len(call) == 1, "pairs are of one scene"
    pull = vjp(lambda theta: call_utilities(scorer, theta, call, benchmark)[0], scorer.theta)[1]
    sides = torch.zeros(len(first_K), call.plans.shape[1], dtype=scorer.dtype)
    rows = torch.arange(len(first_K))
    sides[rows, first_K] += 1.0
    sides[rows, second_K] -= 1.0
    found: Tensor = vmap(lambda side: pull(side)[0])(sides)
    return found.detach()


def call_utilities(scorer: SharedScorer, theta_P: Tensor, call: ScorerCall, benchmark: Benchmark = "v1") -> Tensor:
    """(B, N) of the plans of calls."""
    logits = scorer.observe(theta_P, call, "logits")
    return utility(dict(zip(COMPONENTS, logits.unbind(-1), strict=True)), benchmark)


def radii(geometry: Geometry, contrasts_KP: Tensor) -> Radii:
    """Both radii of each comparison; raises NotConverged."""
    outcomes = geometry.solve(contrasts_KP, future=False).checked()
    seen = geometry.supervision.future
    if seen is None:
        return Radii(outcomes, outcomes, torch.zeros(len(contrasts_KP), dtype=torch.float64))
    both = geometry.solve(contrasts_KP, future=True, start_KP=outcomes.x).checked()
    moved = jacobian_product(geometry.supervision.scorer, seen, outcomes.x)
    return Radii(outcomes, both, moved.double().norm(dim=1))
