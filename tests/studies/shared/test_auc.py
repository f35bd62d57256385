from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from world4scorer.evaluation.scores.bootstrap import LogBootstrap
from world4scorer.studies.shared.pair_statistics import auc, auc_of_counts


def log_auc(values, positive, logs, draws):
    value, yes = np.asarray(values, np.float64), np.asarray(positive, np.bool_)
    return auc(LogBootstrap(logs, draws), np.where(yes, value, np.nan), np.where(yes, np.nan, value))


@given(st.lists(st.tuples(st.integers(0, 3), st.booleans(), st.sampled_from("abc")), min_size=1, max_size=12))
def test_auc_is_the_share_of_pairs(frames):
    values, positive, logs = zip(*frames, strict=True)
    pairs = [
        (a, b)
        for a, yes in zip(values, positive, strict=True)
        if yes
        for b, no in zip(values, positive, strict=True)
        if not no
    ]
    found = log_auc(values, positive, logs, draws=20)
    if not pairs:
        assert math.isnan(found.value)
        return
    assert found.value == pytest.approx(np.mean([1.0 if a > b else 0.5 if a == b else 0.0 for a, b in pairs]))
    assert math.isnan(found.low) == (len(set(logs)) < 2)


def test_interval_draws_logs():
    """Two logs of opposite kinds: a draw of one log twice has its own AUC, of both the mean of four parts."""
    found = log_auc([2.0, 1.0, 1.0, 2.0], [True, False, True, False], ["a", "a", "b", "b"], draws=500)
    assert found == (0.5, 0.0, 1.0)


def test_counts_by_level_say_the_same():
    """Values 0 to 4 of three logs, as values and as counts of each log and value."""
    rng = np.random.default_rng(0)
    values, positive, log = rng.integers(0, 5, 60), rng.random(60) < 0.4, rng.integers(0, 3, 60)
    higher, lower = (
        np.array([[np.sum(kind & (log == one) & (values == level)) for level in range(5)] for one in range(3)], float)
        for kind in (positive, ~positive)
    )
    names = [f"log{one}" for one in log]
    assert auc_of_counts(LogBootstrap(names, 50), higher, lower) == pytest.approx(log_auc(values, positive, names, 50))
