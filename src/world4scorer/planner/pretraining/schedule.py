"""What training loops share: learning-rate schedule, groups of weight decay, loss curve."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from torch import nn

CURVE_POINTS: Final = 100
"""Points of the loss curve in a report."""


def learning_rate(step: int, steps: int, warm_up: float) -> float:
    """Share of the peak at a step: a line up to the end of the warm-up, then half a cosine down to zero."""
    if step < warm_up:
        return (step + 1) / warm_up
    return 0.5 * (1 + math.cos(math.pi * min(1.0, (step - warm_up) / max(steps - warm_up, 1))))


def decay_groups(network: nn.Module, weight_decay: float) -> list[dict[str, Any]]:
    """Weight decay for matrices only: neither biases, norms and scales, nor tokens and positions."""
    groups: dict[bool, list[nn.Parameter]] = {True: [], False: []}
    for name, parameter in network.named_parameters():
        groups[parameter.ndim >= 2 and name.endswith("weight")].append(parameter)
    return [{"params": groups[True], "weight_decay": weight_decay}, {"params": groups[False], "weight_decay": 0.0}]


def loss_curve(losses: Sequence[float]) -> list[tuple[int, float]]:
    """Steps, and the mean loss since the point before."""
    each = max(1, len(losses) // CURVE_POINTS)
    return [(i + each, round(float(np.mean(losses[i : i + each])), 5)) for i in range(0, len(losses), each)]
