"""A temperature for each score head, fitted by log loss on one half of the logs and applied to the other.

A scaled logit is z / T + b, with b = 0 unless a bias is fitted too. T above 1 means that the head is overconfident.

Shapes: S frames, N plans, M plans that a scaling is fitted on.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from world4scorer.studies.calibration.heads import Head, sigmoid

Floats = NDArray[np.float64]

MOST_TEMPERATURE: Final = 20.0
"""Heads that know nothing, or the opposite, would have an infinite or a negative one."""
HALVES: Final = 2
RIDGE: Final = 1e-6
"""Weight of the squared distance to T = 1, b = 0: keeps scalings finite where a head separates outcomes perfectly."""
MOST_STEPS: Final = 100
TOLERANCE: Final = 1e-9


class Scaling(NamedTuple):
    """What is done to the logits of a head."""

    temperature: float = 1.0
    bias: float = 0.0

    def apply(self, logits: Floats) -> Floats:
        """Scaled logits, of the same shape."""
        return logits / self.temperature + self.bias


class CrossFitted(NamedTuple):
    """Heads scaled by what was fitted on the other half of the logs."""

    heads: dict[str, Head]
    scalings: dict[str, tuple[Scaling, ...]]
    """By head: the scaling applied to the frames of each half, fitted on the other."""


def half_of_frames(log_names: Sequence[str], seed: int = 0) -> NDArray[np.int64]:
    """(S,) 0 or 1: logs, not frames, are drawn into two halves."""
    names, log = np.unique(np.asarray(log_names), return_inverse=True)
    if len(names) < HALVES:
        raise ValueError(f"pools of one log ({names[0]}): temperatures are fitted on some logs and applied to others")
    half = np.empty(len(names), np.int64)
    half[np.random.default_rng(seed).permutation(len(names))] = np.arange(len(names)) % HALVES
    return half[log]


def cross_fit(heads: Mapping[str, Head], half: NDArray[np.int64], with_bias: bool = False) -> CrossFitted:
    """Scale each head in each half (S,) by what is fitted on the other."""
    scaled, scalings = {}, {}
    for name, head in heads.items():
        logits, found = head.logits.copy(), []
        for applied in range(HALVES):
            others = half != applied
            found.append(fit_head(head, others, with_bias))
            logits[~others] = found[-1].apply(logits[~others])
        scaled[name], scalings[name] = head.scaled(logits), tuple(found)
    return CrossFitted(scaled, scalings)


def fit_head(head: Head, frames: NDArray[np.bool_], with_bias: bool = False) -> Scaling:
    """Fit the scaling of a head on some frames (S,)."""
    asked = head.valid & frames[:, None]
    return fit_scaling(head.logits[asked], head.labels[asked], with_bias)


def fit_scaling(logits: Floats, labels: Floats, with_bias: bool = False) -> Scaling:
    """The scaling of least log loss on logits (M,) and labels (M,); none where all labels are 0, or all 1."""
    if not len(labels) or not 0.0 < labels.mean() < 1.0:
        return Scaling()
    ones = np.ones_like(logits)
    columns = np.stack([logits, ones], axis=1) if with_bias else logits[:, None]
    start = np.array([1.0, 0.0])[: columns.shape[1]]
    slope, *bias = _least_log_loss(columns, labels, start, np.zeros_like(logits))
    if slope < 1 / MOST_TEMPERATURE:
        slope = 1 / MOST_TEMPERATURE
        bias = list(_least_log_loss(ones[:, None], labels, np.zeros(1), slope * logits)) if with_bias else []
    return Scaling(float(1 / slope), float(bias[0]) if bias else 0.0)


def _least_log_loss(columns: Floats, labels: Floats, start: Floats, offset: Floats) -> Floats:
    """Weights (k,) of columns (M, k): Newton's method on a convex function, with shorter steps where they overshoot."""

    def loss(weights: Floats) -> float:
        logits = offset + columns @ weights
        penalty = RIDGE / 2 * float(((weights - start) ** 2).sum())
        return float((np.logaddexp(0.0, logits) - labels * logits).mean()) + penalty

    weights, value = start, loss(start)
    for _ in range(MOST_STEPS):
        predictions = sigmoid(offset + columns @ weights)
        slope = columns.T @ (predictions - labels) / len(labels) + RIDGE * (weights - start)
        bend = (columns.T * (predictions * (1 - predictions))) @ columns / len(labels) + RIDGE * np.eye(len(start))
        step = np.linalg.solve(bend, slope)
        while (found := loss(weights - step)) > value and np.abs(step).max() > TOLERANCE:
            step = step / 2
        if np.abs(step).max() <= TOLERANCE:
            break
        weights, value = weights - step, found
    return weights
