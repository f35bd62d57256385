"""Supervision of a fitted scorer: outcome labels of generated and bank plans, futures of executed ones.

Each supervised scene takes part in three calls, as in training: its generated plans together, its bank plans together,
the executed plan alone. Weights are the curvatures of the training loss in logits and directions:

- generated: each component is a mean over labelled pairs of scene and plan, and binary cross-entropy has the curvature
  p (1 - p) in its logit, whatever the label, progress with its soft labels included;
- bank: `bank` / 5 times the mean over the five components but progress, whose L1 loss is left out;
- future: on directions the cosine loss is half a squared distance, so 1 / scenes for each number.

Labels do not enter, only where there are any: at fixed parameters another label does not change these curvatures.

Shapes: B scenes, N generated plans, K bank plans, T poses, C cameras, E features of the future.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import torch
from torch import Tensor

from world4scorer.planner.model.dense_encoder import Perception
from world4scorer.planner.model.images import Frames
from world4scorer.planner.model.network import Network
from world4scorer.planner.model.plan_sampling import Cameras
from world4scorer.planner.model.utility import COMPONENTS, EP, TTC
from world4scorer.planner.stability.observations import WeightedReading
from world4scorer.planner.stability.shared_scorer import ScorerCall, SharedScorer


@dataclass(frozen=True)
class LossWeights:
    """Loss weights, as in training; 0 disables a loss."""

    score: float = 1.0
    bank: float = 0.5
    future: float = 1.0


@dataclass(frozen=True, eq=False)
class SupervisedScenes:
    """Some scenes that a planner was trained on; what is None was not supervised."""

    image: Tensor | Frames | Perception
    """(B, C, 3, H, W) normalised, or what a frozen encoder has perceived"""
    ego_status: Tensor
    """(B, 11)"""
    cameras: Cameras | None = None
    ttc_valid: Tensor | None = None
    """(B, N) which generated plans have a label of TTC; None for all"""
    bank: Tensor | None = None
    """(B, K, T, 3)"""
    bank_valid: Tensor | None = None
    """(B,) which scenes have a bank; None for all"""
    executed: Tensor | None = None
    """(B, T, 3)"""
    future_valid: Tensor | None = None
    """(B,) which scenes have a future; None for all"""


@dataclass(frozen=True, eq=False)
class Supervision:
    """The observations that supervise a scorer."""

    scorer: SharedScorer
    outcomes: tuple[WeightedReading, ...]
    """Readings of generated plans and of bank plans"""
    future: WeightedReading | None
    """With weights 1 / scenes"""
    future_weight: float
    """lambda, by which these are multiplied"""
    scenes: int

    @classmethod
    def of(
        cls,
        network: Network,
        batches: Iterable[SupervisedScenes],
        weights: LossWeights | None = None,
        dtype: torch.dtype = torch.float32,
        varied: Callable[[str], bool] | None = None,
    ) -> Supervision:
        """The supervision of scenes, given in batches that fit into memory."""
        weights = weights or LossWeights()
        scorer = SharedScorer(network, dtype, varied)
        parts = [_calls(scorer, scenes) for scenes in batches]
        if not parts:
            raise ValueError("supervision: no scenes; give at least one that the planner was trained on")
        outcomes = []
        if weights.score:
            generated = _joined([part[0] for part in parts])
            outcomes.append(
                generated_outcomes(scorer, generated, torch.cat([part[1] for part in parts]), weights.score)
            )
        banks = [part[2] for part in parts if part[2] is not None and len(part[2])]
        if weights.bank and banks:
            outcomes.append(bank_outcomes(scorer, _joined(banks), weights.bank))
        executed = [part[3] for part in parts if part[3] is not None and len(part[3])]
        future = None
        if weights.future and executed:
            call = _joined(executed)
            scorer.check_futures(call)
            future = executed_future(scorer, call)
        if not outcomes and future is None:
            raise ValueError("supervision: neither outcomes nor futures; every loss has a weight of 0")
        return cls(scorer, tuple(outcomes), future, weights.future, sum(len(part[0]) for part in parts))

    @property
    def rows(self) -> int:
        """Numbers that are observed, those without weight left out."""
        seen = (*self.outcomes, *(() if self.future is None else (self.future,)))
        return sum(int((one.weight > 0).sum()) for one in seen)


def generated_outcomes(
    scorer: SharedScorer, call: ScorerCall, ttc_valid_BN: Tensor, weight: float, pairs: int | None = None
) -> WeightedReading:
    """Outcomes of generated plans; each counts 1 / `pairs`, by default the pairs of scene and plan that are given."""
    valid = torch.ones(*call.plans.shape[:2], len(COMPONENTS), dtype=scorer.dtype)
    valid[..., COMPONENTS.index(TTC)] = ttc_valid_BN.to(scorer.dtype)
    count = valid.sum((0, 1)).clamp(min=1.0) if pairs is None else pairs
    return WeightedReading(call, "logits", weight * valid / count * _cross_entropy_curvature(scorer, call))


def bank_outcomes(scorer: SharedScorer, call: ScorerCall, weight: float, pairs: int | None = None) -> WeightedReading:
    """Outcomes of bank plans but progress, each counting as in `generated_outcomes`."""
    shares = torch.full((len(COMPONENTS),), weight / (len(COMPONENTS) - 1), dtype=scorer.dtype)
    shares[COMPONENTS.index(EP)] = 0.0
    count = call.plans.shape[0] * call.plans.shape[1] if pairs is None else pairs
    return WeightedReading(call, "logits", shares / count * _cross_entropy_curvature(scorer, call))


def executed_future(scorer: SharedScorer, call: ScorerCall, scenes: int | None = None) -> WeightedReading:
    """Directions of the futures of executed plans, each scene counting 1 / `scenes`, by default those given."""
    with torch.no_grad():
        directions = scorer.observe(scorer.theta, call, "view")
    return WeightedReading(call, "view", torch.full_like(directions, 1 / (scenes or len(call))))


def _cross_entropy_curvature(scorer: SharedScorer, call: ScorerCall) -> Tensor:
    """(B, N, 6) p (1 - p), from logits so that it does not round to 0 where p rounds to 1."""
    with torch.no_grad():
        logits = scorer.observe(scorer.theta, call, "logits")
    return logits.sigmoid() * (-logits).sigmoid()


@torch.no_grad()
def _calls(
    scorer: SharedScorer, scenes: SupervisedScenes
) -> tuple[ScorerCall, Tensor, ScorerCall | None, ScorerCall | None]:
    """Generated plans, which of them have a TTC label, bank plans and executed plans of scenes that have them."""
    network = scorer.network
    scene, ego = network.encode(scenes.image), network.encode_ego(scenes.ego_status)
    plans = network.propose(scene, ego)
    valid = torch.ones(plans.shape[:2], dtype=torch.bool) if scenes.ttc_valid is None else scenes.ttc_valid
    bank = executed = None
    if scenes.bank is not None:
        bank = scorer.call(scenes.bank, scene, ego, scenes.cameras)
        bank = bank if scenes.bank_valid is None else bank.at(scenes.bank_valid)
    if scenes.executed is not None:
        executed = scorer.call(scenes.executed[:, None], scene, ego, scenes.cameras)
        executed = executed if scenes.future_valid is None else executed.at(scenes.future_valid)
    return scorer.call(plans, scene, ego, scenes.cameras), valid, bank, executed


def _joined(calls: list[ScorerCall]) -> ScorerCall:
    reads = [call.read for call in calls if call.read is not None]
    plans, tokens, ego = (torch.cat([getattr(call, name) for call in calls]) for name in ("plans", "tokens", "ego"))
    return ScorerCall(plans, torch.cat(reads) if reads else None, tokens, ego)
