"""The four losses, a fifth of a variant, and their sum.

Each is a plain function of tensors; `predictions.py` settles where gradients go.

Shapes: B scenes, N generated plans, K bank plans, T poses, E features of the future. Labels have the columns of an
outcome table: NC, DAC, EP, TTC, C, DDC, PDMS.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Final, NamedTuple

import torch
from torch import Tensor
from torch.nn import functional

from world4scorer.engine.outcomes.results import V1_COLUMNS
from world4scorer.planner.model.utility import COMPONENTS, DDC, EP, LABEL_COLUMNS, NC, TTC
from world4scorer.planner.training.predictions import Predictions

INVALID_TTC: Final = 2.0
"""The label of a plan whose time to collision is not defined."""

PARTIAL_FAULT: Final = 0.5
"""Label of a partial fault (NC, DDC); counts as a full one in training."""

PDMS: Final = V1_COLUMNS.index("PDMS")

LABEL_COLUMN: Final = {name: V1_COLUMNS.index(LABEL_COLUMNS[name]) for name in COMPONENTS}
"""Label column of each component."""


@dataclass(frozen=True)
class LossConfig:
    """Loss weights. The defaults are the paper's; 0 disables a loss."""

    imitation: float = 1.0
    """Weight of the winner-takes-all loss."""
    score: float = 1.0
    """Weight of the outcome loss on generated plans."""
    future: float = 1.0
    """Weight of the future loss."""
    bank: float = 0.5
    """Weight of the outcome loss on bank plans."""
    bank_progress: float = 0.1
    """Weight of progress within the bank loss."""
    bank_like_generated: bool = False
    """Bank plans get the outcome loss of generated plans instead of their own: the same cross-entropies, summed."""
    coverage: float = 0.0
    """Weight of covering good bank plans by generated ones: the variant called Coverage."""
    coverage_score: float = 0.9
    """PDMS from which a bank plan is good."""
    warped_target: bool = True
    """Imitate the time-warped copy of the logged trajectory too."""
    screen: float = 1.0
    """Weight of the loss of a vocabulary's screen, where the model has one."""
    future_gradient: float = 1.0
    """Scale of the future loss's gradient into predictor and action encoder; give it to `predict`."""
    driving_direction: bool = True
    """Train the prediction of driving direction compliance; where labels do not know it, leave it out."""

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if not value >= 0:
                raise ValueError(f"{field.name}: {value}; not below 0")
        if self.coverage and not self.bank:
            raise ValueError("coverage: covers plans of the bank, so losses.bank must have a weight too")

    @property
    def components(self) -> tuple[str, ...]:
        """Whose predictions are trained."""
        return tuple(name for name in COMPONENTS if name != DDC or self.driving_direction)


def paper() -> LossConfig:
    """As in the paper."""
    return LossConfig()


def baseline() -> LossConfig:
    """Imitation and outcomes of generated plans alone."""
    return LossConfig(future=0.0, bank=0.0)


def bench2drive() -> LossConfig:
    """The variant for Bench2Drive.

    The same outcome loss of generated plans and of those of the vocabulary is averaged, the future loss is weak and
    hardly moves the predictor, and nothing is known of driving directions.
    """
    return LossConfig(
        score=0.5, bank=0.5, bank_like_generated=True, future=0.1, future_gradient=0.05, driving_direction=False
    )


class Targets(NamedTuple):
    """Targets of the losses; None if unused."""

    trajectory: Tensor
    """(B, T, 3) logged"""
    trajectory_warped: Tensor | None
    """(B, T, 3) its time-warped copy; the logged one again where the log ends too soon"""
    labels: Tensor | None
    """(B, N, 7) of generated plans"""
    bank_labels: Tensor | None = None
    """(B, K, 7)"""
    bank_valid: Tensor | None = None
    """(B,) which scenes have a bank"""
    future: Tensor | None = None
    """(B, E) features of the view two seconds ahead"""
    future_valid: Tensor | None = None
    """(B,) which scenes have one"""
    bank: Tensor | None = None
    """(B, K, T, 3) plans of the bank; used by coverage only"""
    taught: Tensor | None = None
    """(B,) in which scenes a trajectory is imitated; None for all"""


class Losses(NamedTuple):
    """Scalars; those that were left out are None."""

    total: Tensor
    imitation: Tensor | None
    score: Tensor | None
    future: Tensor | None
    bank: Tensor | None
    coverage: Tensor | None
    screen: Tensor | None = None


def count_labels(targets: Targets, config: LossConfig) -> Tensor:
    """(6,) what means are taken over, in this order.

    Valid labels of TTC of generated plans, scenes with a bank, scenes with a future, good bank plans, valid labels of
    TTC of bank plans, scenes with something to imitate where these are not all.
    """
    device = targets.trajectory.device
    counted = (
        None if targets.labels is None else _label(targets.labels, TTC) != INVALID_TTC,
        targets.bank_valid,
        targets.future_valid,
        _is_good(targets, config) if config.coverage else None,
        _bank_ttc_valid(targets) if config.bank and config.bank_like_generated else None,
        targets.taught,
    )
    zero = torch.zeros((), device=device)
    return torch.stack([zero if valid is None else valid.to(device).sum().float() for valid in counted])


def compute_losses(
    predictions: Predictions,
    targets: Targets,
    config: LossConfig,
    counts: Tensor | None = None,
    screen: Tensor | None = None,
) -> Losses:
    """All losses that the configuration asks for, and their weighted sum.

    Means are taken over what is valid. Processes that share a batch give the mean of all their `count_labels`: then
    the mean of their gradients is the gradient of the whole batch. `screen` is the loss of a vocabulary's screen.
    """
    counts = count_labels(targets, config) if counts is None else counts
    ttc_count, bank_count, future_count, good_count, bank_ttc_count, taught_count = counts
    imitation = score = future = bank = coverage = None
    if config.imitation:
        imitation = winner_takes_all(predictions.plans, targets.trajectory, targets.taught, taught_count)
        if config.warped_target:
            warped = _required(targets.trajectory_warped, "trajectory_warped")
            imitation = imitation + winner_takes_all(predictions.plans, warped, targets.taught, taught_count)
    if config.score:
        score = score_loss(predictions.logits, _required(targets.labels, "labels"), ttc_count, config.components)
    if config.future:
        read = _required(predictions.future, "predictions.future")
        known, valid = _required(targets.future, "future"), _required(targets.future_valid, "future_valid")
        future = future_loss(read, known, valid, future_count)
    if config.bank:
        logits, labels = (
            _required(predictions.bank_logits, "bank_logits"),
            _required(targets.bank_labels, "bank_labels"),
        )
        valid = _required(targets.bank_valid, "bank_valid")
        if config.bank_like_generated:
            plan_count = bank_count * logits.shape[1]
            bank = score_loss(logits[valid], labels[valid], bank_ttc_count, config.components, plan_count)
        else:
            bank = bank_loss(logits, labels, valid, config.bank_progress, bank_count, config.components)
    if config.coverage:
        coverage = coverage_loss(
            predictions.plans, _required(targets.bank, "bank"), _is_good(targets, config), good_count
        )
    weighed = (
        (config.imitation, imitation),
        (config.score, score),
        (config.future, future),
        (config.bank, bank),
        (config.coverage, coverage),
        (config.screen, screen),
    )
    total = sum((weight * loss for weight, loss in weighed if loss is not None), predictions.plans.new_zeros(()))
    return Losses(total, imitation, score, future, bank, coverage, screen)


def winner_takes_all(
    plans_BNT3: Tensor, target_BT3: Tensor, taught_B: Tensor | None = None, taught_count: Tensor | None = None
) -> Tensor:
    """L_WTA for one target: |error| summed over a pose, mean over poses, least over plans, mean over taught scenes."""
    error_BN = (plans_BNT3 - target_BT3[:, None]).abs().sum(-1).mean(-1)
    error_B = error_BN.min(1).values  # not amin, which splits the gradient among ties
    return error_B.mean() if taught_B is None else _mean(error_B[taught_B], taught_count)


def score_loss(
    logits_BN6: Tensor,
    labels_BN7: Tensor,
    ttc_count: Tensor | None = None,
    components: Sequence[str] = COMPONENTS,
    plan_count: Tensor | None = None,
) -> Tensor:
    """L_score: mean binary cross-entropy of each component, summed; plans without a TTC label do not count there."""
    total = logits_BN6.new_zeros(())
    for name in components:
        index = COMPONENTS.index(name)
        logit, label = logits_BN6[..., index], _label(labels_BN7, name)
        count = plan_count
        if name == TTC:
            valid = label != INVALID_TTC
            logit, label, count = logit[valid], label[valid], ttc_count
        total = total + _mean(functional.binary_cross_entropy_with_logits(logit, label, reduction="none"), count)
    return total


def bank_loss(
    logits_BK6: Tensor,
    labels_BK7: Tensor,
    valid_B: Tensor,
    progress_weight: float = 0.1,
    bank_count: Tensor | None = None,
    components: Sequence[str] = COMPONENTS,
) -> Tensor:
    """L_bank: mean of the cross-entropies, plus some of the error in progress; over scenes with a bank."""
    logits, labels = logits_BK6[valid_B], labels_BK7[valid_B]
    count = None if bank_count is None else bank_count * logits_BK6.shape[1]
    total = logits_BK6.new_zeros(())
    for name in components:
        index = COMPONENTS.index(name)
        logit, label = logits[..., index], _label(labels, name)
        if name == EP:
            total = total + progress_weight * _mean((logit.sigmoid() - label).abs(), count)
        else:
            cross_entropy = functional.binary_cross_entropy_with_logits(logit, label, reduction="none")
            total = total + _mean(cross_entropy, count) / (len(components) - 1)
    return total


def future_loss(read_BE: Tensor, future_BE: Tensor, valid_B: Tensor, future_count: Tensor | None = None) -> Tensor:
    """L_fut: one minus the cosine between what was read and what came; over scenes with a future."""
    cosine = functional.cosine_similarity(read_BE[valid_B].float(), future_BE[valid_B].float(), dim=-1)
    return _mean(1.0 - cosine, future_count)


def coverage_loss(plans_BNT3: Tensor, bank_BKT3: Tensor, good_BK: Tensor, good_count: Tensor | None = None) -> Tensor:
    """Mean imitation distance of good bank plans to the nearest generated plan."""
    error_BKN = (plans_BNT3[:, None] - bank_BKT3[:, :, None]).abs().sum(-1).mean(-1)
    return _mean(error_BKN.min(2).values[good_BK], good_count)


def screen_loss(logits_BK: Tensor, scores_BK: Tensor) -> Tensor:
    """Mean binary cross-entropy of a screen's logits and the scores of plans, 0 to 1."""
    return functional.binary_cross_entropy_with_logits(logits_BK, scores_BK.float())


def _bank_ttc_valid(targets: Targets) -> Tensor:
    """(B, K) which plans of the bank have a label of TTC."""
    labels, valid = _required(targets.bank_labels, "bank_labels"), _required(targets.bank_valid, "bank_valid")
    return (_label(labels, TTC) != INVALID_TTC) & valid[:, None]


def _is_good(targets: Targets, config: LossConfig) -> Tensor:
    """(B, K) which plans of the bank the generator should cover."""
    labels, valid = _required(targets.bank_labels, "bank_labels"), _required(targets.bank_valid, "bank_valid")
    return (labels[..., PDMS] >= config.coverage_score) & valid[:, None]


def _label(labels: Tensor, name: str) -> Tensor:
    label = labels[..., LABEL_COLUMN[name]].float()
    return torch.where(label == PARTIAL_FAULT, 0.0, label) if name in (NC, DDC) else label


def _mean(values: Tensor, count: Tensor | None = None) -> Tensor:
    """The mean; of nothing, a zero that still belongs to the graph, so that every process has gradients to exchange."""
    if count is None:
        return values.sum() / max(values.numel(), 1)
    return values.sum() / torch.where(count > 0, count, 1.0)


def _required(tensor: Tensor | None, name: str) -> Tensor:
    if tensor is None:
        raise ValueError(f"{name}: missing, but its loss has a weight")
    return tensor
