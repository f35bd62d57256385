"""Intervals of means over drawn logs, one draw at a time: the oracle of the bootstrap."""

from __future__ import annotations

import math

import numpy as np


def drawn_interval(log_names, upper, lower, draws):
    """Value, low and high of sum(upper) / sum(lower) over frames, logs drawn with replacement."""
    names = sorted(set(log_names))
    above, below = dict.fromkeys(names, 0.0), dict.fromkeys(names, 0.0)
    for name, u, low in zip(log_names, upper, lower, strict=True):
        above[name] += float(u)
        below[name] += float(low)
    if sum(below.values()) == 0:
        return None
    found = []
    for counts in np.random.default_rng(0).multinomial(len(names), [1 / len(names)] * len(names), draws):
        drawn = sum(int(c) * below[name] for c, name in zip(counts, names, strict=True))
        if drawn > 0:
            found.append(sum(int(c) * above[name] for c, name in zip(counts, names, strict=True)) / drawn)
    low, high = np.quantile(found, [0.025, 0.975])
    return {"value": sum(above.values()) / sum(below.values()), "low": float(low), "high": float(high)}


def mean_interval(log_names, values, draws):
    """Of the mean over frames; frames with NaN do not count."""
    known = [not math.isnan(value) for value in values]
    return drawn_interval(log_names, [v if k else 0.0 for v, k in zip(values, known, strict=True)], known, draws)


def assert_close(found, expected, where=""):
    """Nested dicts of numbers, equal up to rounding; every expected entry must be there."""
    if isinstance(expected, dict):
        for key, value in expected.items():
            assert_close(found[key], value, f"{where}.{key}")
    elif isinstance(expected, list):
        assert len(found) == len(expected), where
        for place, value in enumerate(expected):
            assert_close(found[place], value, f"{where}[{place}]")
    elif expected is None:
        assert found is None, f"{where}: {found}"
    else:
        assert found is not None and math.isclose(found, expected, rel_tol=1e-9, abs_tol=1e-9), (
            f"{where}: {found}, expected {expected}"
        )
