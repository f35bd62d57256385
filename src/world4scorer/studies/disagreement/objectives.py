"""What simulated outcomes are worth under the two NAVSIM benchmarks, and which of them makes the difference.

The utility is the planner's own (`selection.utility`), with outcomes in place of predicted probabilities. Outcomes can
be 0: those that are multiplied enter as log(0.01 + 0.99 p), the floor of inertial re-ranking. Extended comfort, which
only v2 knows, is added as re-ranking adds it.

Shapes: plans (...), outcomes (..., 6) in the order of `selection.utility.OUTCOMES`.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from world4scorer.engine.outcomes.results import V1_COLUMNS
from world4scorer.engine.selection.inertial import LOG_FLOOR
from world4scorer.engine.selection.utility import ADDED, MULTIPLIED, OUTCOMES, UTILITY_WEIGHTS, Benchmark

Floats = NDArray[np.float64]

PARTS: Final = ("EC", *OUTCOMES)
"""What a difference of v2 utilities is made of."""


def outcomes_of(v1: Floats) -> Floats:
    """(..., 6) the outcomes that utilities know, from a table (..., 7) of v1.1."""
    return v1[..., [V1_COLUMNS.index(name) for name in OUTCOMES]]


def floored(values: Any) -> Floats:
    """log(0.01 + 0.99 p): 0 for what passes, finite for what fails."""
    return np.log(LOG_FLOOR + (1.0 - LOG_FLOOR) * np.asarray(values, np.float64))


def objective(outcomes: Floats, benchmark: Benchmark, continues: Any = None) -> Floats:
    """Utility (...); with `continues` (...) also for extended comfort. -inf where the weighted sum is 0."""
    weights = UTILITY_WEIGHTS[benchmark]
    value = np.zeros(outcomes.shape[:-1])
    for name in MULTIPLIED:
        value += weights[name] * floored(outcomes[..., OUTCOMES.index(name)])
    with np.errstate(divide="ignore"):
        value += np.log(_weighted_sum(outcomes, benchmark))
    return value if continues is None else value + floored(continues)


def gap_parts(
    higher: Floats, lower: Floats, higher_continues: Any, lower_continues: Any, benchmark: Benchmark = "v2"
) -> dict[str, Floats]:
    """Split the utility of plans (K, 6) less that of others (K, 6) into parts (K,) that add up to it exactly.

    Logarithms of single outcomes are differences as they are. That of the weighted sum is shared out by the logarithmic
    mean L of the two sums: log(A / B) = sum of b_m (p_m - q_m) / L with L = (A - B) / log(A / B).
    """
    weights = UTILITY_WEIGHTS[benchmark]
    parts = {"EC": floored(higher_continues) - floored(lower_continues)}
    for name in MULTIPLIED:
        index = OUTCOMES.index(name)
        parts[name] = weights[name] * (floored(higher[..., index]) - floored(lower[..., index]))
    mean = logarithmic_mean(_weighted_sum(higher, benchmark), _weighted_sum(lower, benchmark))
    for name in ADDED:
        index = OUTCOMES.index(name)
        parts[name] = weights[name] * (higher[..., index] - lower[..., index]) / mean
    return parts


def logarithmic_mean(first: Floats, second: Floats) -> Floats:
    """(a - b) / log(a / b) of positive numbers; a where they are equal."""
    ratio = (first - second) / second
    same = ratio == 0
    return np.where(same, first, second * ratio / np.where(same, 1.0, np.log1p(ratio)))


def _weighted_sum(outcomes: Floats, benchmark: Benchmark) -> Floats:
    weights = UTILITY_WEIGHTS[benchmark]
    return np.asarray(sum(weights[name] * outcomes[..., OUTCOMES.index(name)] for name in ADDED))
