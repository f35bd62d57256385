"""The six outcomes that the score heads predict, and the utility of a plan that they make.

J = sum of a_m log p_m over NC, DAC, DDC  +  log of the sum of b_m p_m over TTC, EP, comfort,  p = sigmoid(logit).
Computed from logits with log-sigmoid and log-sum-exp, so that it stays finite where p rounds to 0.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Final

import torch
from torch import Tensor
from torch.nn import functional

from world4scorer.engine.selection.utility import UTILITY_WEIGHTS, Benchmark

__all__ = ["COMPONENTS", "LABEL_COLUMNS", "WEIGHTS", "Benchmark", "utility"]

NC: Final = "no_at_fault_collisions"
DAC: Final = "drivable_area_compliance"
DDC: Final = "driving_direction_compliance"
TTC: Final = "time_to_collision_within_bound"
EP: Final = "ego_progress"
COMFORT: Final = "comfort"

COMPONENTS: Final = (NC, DAC, DDC, TTC, EP, COMFORT)
"""Outcomes under the names of released checkpoints, in the order of the columns of a pool file."""
LABEL_COLUMNS: Final = {NC: "NC", DAC: "DAC", DDC: "DDC", TTC: "TTC", EP: "EP", COMFORT: "C"}
"""The name that an outcome table gives to each."""

WEIGHTS: Final[Mapping[str, Mapping[str, float]]] = {
    benchmark: {name: weights[LABEL_COLUMNS[name]] for name in COMPONENTS}
    for benchmark, weights in UTILITY_WEIGHTS.items()
}
"""Weights by benchmark, NAVSIM v1 and v2."""

MULTIPLIED: Final = (NC, DAC, DDC)
ADDED: Final = (TTC, EP, COMFORT)


def utility(logits: Mapping[str, Tensor], benchmark: Benchmark = "v1", progress: float = 0.0) -> Tensor:
    """Utility of plans, of the shape of each entry of `logits`, in float32 or better.

    `progress` replaces the benchmark's weight of progress, unless it is 0.
    """
    if benchmark not in WEIGHTS:
        raise ValueError(f"no such benchmark: {benchmark!r}; choose from {', '.join(map(repr, WEIGHTS))}")
    weights = {**WEIGHTS[benchmark], **({EP: progress} if progress else {})}
    log_p = {name: functional.logsigmoid(_at_least_float32(logits[name])) for name in (*MULTIPLIED, *ADDED)}
    # A weight of zero leaves its component out: 0 * log p would be NaN for a logit of minus infinity.
    product = sum(weights[name] * log_p[name] for name in MULTIPLIED if weights[name])
    mean = torch.stack([log_p[name] + math.log(weights[name]) for name in ADDED]).logsumexp(0)
    return product + mean


def _at_least_float32(tensor: Tensor) -> Tensor:
    return tensor if tensor.dtype == torch.float64 else tensor.float()
