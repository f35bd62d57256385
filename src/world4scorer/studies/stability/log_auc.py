"""How well a number tells two kinds of frames apart, with an interval from drawing logs.

Shapes: S frames, L logs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from world4scorer.evaluation.scores.bootstrap import COVERAGE, LEAST_LOGS, Interval


def log_auc(values: Any, positive: Any, log_names: Sequence[str], draws: int = 10_000, seed: int = 0) -> Interval:
    """The chance that a positive frame has the larger value (S,) of a pair, ties counting half; NaN without pairs."""
    value, yes = np.asarray(values, np.float64), np.asarray(positive, np.bool_)
    names, log = np.unique(np.asarray(log_names), return_inverse=True)
    wins = (value[:, None] > value[None]) + 0.5 * (value[:, None] == value[None])
    pair = yes[:, None] & ~yes[None]
    of_log = np.eye(len(names))[log]
    won, all_pairs = (of_log.T @ part @ of_log for part in (wins * pair, pair.astype(np.float64)))
    if not all_pairs.sum():
        return Interval(np.nan, np.nan, np.nan)
    whole = float(won.sum() / all_pairs.sum())
    if len(names) < LEAST_LOGS:
        return Interval(whole, np.nan, np.nan)
    counts = np.random.default_rng(seed).multinomial(len(names), np.full(len(names), 1 / len(names)), draws)
    upper, lower = (((counts @ part) * counts).sum(1) for part in (won, all_pairs))
    known = upper[lower > 0] / lower[lower > 0]
    low, high = np.quantile(known, ((1 - COVERAGE) / 2, (1 + COVERAGE) / 2))
    return Interval(whole, float(low), float(high))
