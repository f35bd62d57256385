"""Pairs of views and what tells them apart, against cases computed by hand and plain loops."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from world4scorer.evaluation.scores.bootstrap import LogBootstrap
from world4scorer.studies.shared.pair_statistics import auc, cohen_d, quantile
from world4scorer.studies.target_geometry.pairings import (
    HORIZON,
    LEAST_TIME_APART,
    cosines,
    mean_cosine_of_all,
    of_other_groups,
    of_same_log,
)


@given(st.lists(st.integers(0, 4), min_size=1, max_size=30), st.integers(0, 5))
@settings(max_examples=60, deadline=None)
def test_permutations_across_groups(groups, seed):
    found = of_other_groups(groups, seed)
    if 2 * max(groups.count(one) for one in groups) > len(groups):
        assert (found == -1).all()  # some would have to keep one of their own
    else:
        assert sorted(found) == list(range(len(groups)))
        assert all(groups[other] != own for own, other in zip(groups, found, strict=True))


def test_same_log_pairs_show_another_moment():
    times = np.concatenate([np.arange(0, 12, 0.5), np.arange(0, 3, 0.5)])
    logs = ["long"] * 24 + ["short"] * 6
    found = of_same_log(logs, times, 0)
    assert (found[24:] == -1).all()  # three seconds are too short
    for frame, other in enumerate(found[:24]):
        fits = [
            j
            for j in range(24)
            if abs(times[j] + HORIZON - times[frame]) >= LEAST_TIME_APART
            and abs(times[j] - times[frame]) >= LEAST_TIME_APART
        ]
        assert other in fits
    assert (of_same_log(logs, times, 0) == found).all() and (of_same_log(logs, times, 1) != found).any()


def test_cosines_by_hand():
    current = np.array([[1.0, 0.0], [0.0, 2.0], [0.0, 0.0], [3.0, 4.0]])
    future = np.array([[1.0, 1.0], [0.0, 1.0], [1.0, 0.0], [-3.0, -4.0]])
    own = cosines(current, future, np.arange(4))
    np.testing.assert_allclose(own, [np.sqrt(0.5), 1.0, np.nan, -1.0])
    np.testing.assert_allclose(cosines(current, future, np.array([1, 0, 3, -1])), [0, np.sqrt(0.5), np.nan, np.nan])
    kept = [0, 1, 3]
    every = [cosines(current, future, np.full(4, j))[i] for i in kept for j in kept if i != j]
    assert mean_cosine_of_all(current[kept], future[kept]) == pytest.approx(np.mean(every))


def test_auc_and_d_by_hand():
    higher, lower = np.array([3.0, 2.0, 1.0, np.nan]), np.array([2.0, 0.0, np.nan, np.nan])
    bootstrap = LogBootstrap(["a", "a", "b", "b"], 50)
    assert auc(bootstrap, higher, lower).value == (1 + 1 + 0.5 + 1 + 0 + 1) / 6
    assert cohen_d(bootstrap, higher, lower).value == pytest.approx((2 - 1) / np.sqrt((1 + 2) / 2))
    assert np.isnan(auc(bootstrap, higher, np.full(4, np.nan)).value)


def test_intervals_are_those_of_drawn_logs():
    """Each draw is made anew from the frames of its logs, without sums."""
    rng = np.random.default_rng(0)
    logs = np.repeat(list("abcde"), [3, 9, 5, 7, 6])
    higher, lower = np.round(rng.normal(0.5, 1, 30), 1), np.round(rng.normal(0, 1, 30), 1)
    lower[4] = np.nan
    bootstrap = LogBootstrap(logs.tolist(), 40)
    found = {"auc": [], "d": [], "p": []}
    for often in np.random.default_rng(0).multinomial(5, [0.2] * 5, 40):
        frames = np.concatenate(
            [np.tile(np.flatnonzero(logs == name), n) for name, n in zip("abcde", often, strict=True)]
        )
        a, b = higher[frames], lower[frames][~np.isnan(lower[frames])]
        found["auc"].append(((a[:, None] > b) + 0.5 * (a[:, None] == b)).mean())
        found["d"].append((a.mean() - b.mean()) / np.sqrt((a.var(ddof=1) + b.var(ddof=1)) / 2))
        found["p"].append(np.quantile(a, 0.3, method="inverted_cdf"))
    for name, interval in (
        ("auc", auc(bootstrap, higher, lower)),
        ("d", cohen_d(bootstrap, higher, lower)),
        ("p", quantile(bootstrap, higher, 0.3)),
    ):
        assert interval[1:] == pytest.approx(tuple(np.quantile(found[name], (0.025, 0.975)))), name
    assert quantile(bootstrap, higher, 0.3).value == np.quantile(higher, 0.3, method="inverted_cdf")
