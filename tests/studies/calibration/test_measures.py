"""Measures of score heads against loops over plans."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest

from tests.support.calibrated_pools import calibrated_pools
from tests.support.random_pools import random_pools
from world4scorer.engine.outcomes.results import V1_COLUMNS
from world4scorer.engine.selection.utility import OUTCOMES
from world4scorer.evaluation.scores.bootstrap import LogBootstrap
from world4scorer.studies.calibration.heads import INVALID_TTC, PARTIAL_FAULT, head_labels, heads_of
from world4scorer.studies.calibration.measures import equal_count_bins, measure


def outcomes_of(**columns):
    """Outcomes (1, N, 7) of one frame."""
    count = len(next(iter(columns.values())))
    table = np.ones((1, count, len(V1_COLUMNS)))
    for name, values in columns.items():
        table[0, :, V1_COLUMNS.index(name)] = values
    return table


def test_labels_are_those_of_training():
    v1 = outcomes_of(NC=[0, 0.5, 1], DDC=[1, 0.5, 0], TTC=[0, 2, 1], EP=[0.5, 0.2, 1], DAC=[1, 0, 1])
    assert head_labels(v1, "NC").tolist() == [[0, 0, 1]]
    assert head_labels(v1, "DDC").tolist() == [[1, 0, 0]]
    assert head_labels(v1, "EP").tolist() == [[0.5, 0.2, 1]]
    assert head_labels(v1, "DAC").tolist() == [[1, 0, 1]]
    np.testing.assert_array_equal(head_labels(v1, "TTC"), [[0, np.nan, 1]])


def test_constants_are_those_of_training():
    losses = pytest.importorskip("world4scorer.planner.training.losses")
    assert (losses.PARTIAL_FAULT, losses.INVALID_TTC) == (PARTIAL_FAULT, INVALID_TTC)


def test_bins_have_equal_counts():
    values = np.random.default_rng(0).permutation(30)
    assert np.bincount(equal_count_bins(values, 15)).tolist() == [2] * 15
    assert (equal_count_bins(values, 15) == values // 2).all()


def test_equal_values_share_a_bin():
    assert equal_count_bins(np.array([5.0, 5.0, 5.0, 5.0, 1.0, 9.0]), 3).tolist() == [0, 0, 0, 0, 0, 2]
    assert len(set(equal_count_bins(np.zeros(40), 15).tolist())) == 1
    few = equal_count_bins(np.array([3.0, 1.0, 2.0]), 15)
    assert few[1] < few[2] < few[0]


@pytest.mark.parametrize("name", OUTCOMES)
def test_calibrated_logits_have_no_calibration_error(name):
    pools = calibrated_pools(frames=100)
    found = measure(LogBootstrap(pools.log_names, 50), heads_of(pools)[name])
    assert found.ece.value < (1e-9 if name == "EP" else 0.01)
    assert abs(found.excess.value) < 0.01
    assert len(found.bins) == 15 and {one.plans for one in found.bins} == {600 * 64 // 15}
    for one in found.bins:
        assert abs(one.outcome.value - one.prediction) < 0.05
        assert one.outcome.low <= one.outcome.value <= one.outcome.high


def test_overconfident_logits_have_a_calibration_error():
    pools = calibrated_pools(temperature=3.0)
    found = measure(LogBootstrap(pools.log_names, 50), heads_of(pools)["NC"])
    assert 0.1 < found.ece.low < found.ece.value < found.ece.high < 0.3
    assert found.bins[0].prediction < found.bins[0].outcome.low
    assert found.bins[-1].prediction > found.bins[-1].outcome.high


def pearson(pairs):
    x, y = zip(*pairs, strict=True)
    return None if len(set(x)) == 1 or len(set(y)) == 1 else float(np.corrcoef(x, y)[0, 1])


def auc_pairs(plans):
    """1, 0.5 or 0 of each pair of a passing and a failing plan (logit, label)."""
    passing, failing = ([z for z, y in plans if y == wanted] for wanted in (1, 0))
    return [1.0 if a > b else 0.5 if a == b else 0.0 for a, b in itertools.product(passing, failing)]


@pytest.mark.parametrize("seed", range(3))
def test_against_loops(seed):
    rng = np.random.default_rng(seed)
    pools = random_pools(seed, logs=3, frames=4, plans=6)
    v1 = pools.v1.copy()
    v1[..., V1_COLUMNS.index("TTC")] = rng.choice([0.0, 1.0, 2.0], v1.shape[:2])
    v1[..., V1_COLUMNS.index("NC")] = rng.choice([0.0, 0.5, 1.0], v1.shape[:2])
    logits = np.round(rng.normal(size=(*v1.shape[:2], 6)), 1)  # with ties
    pools = replace(pools, v1=v1, logits=logits)
    for index, name in enumerate(OUTCOMES):
        head = heads_of(pools)[name]
        found = measure(LogBootstrap(pools.log_names, 20), head)
        frames = [
            [(logits[s, n, index], head.labels[s, n]) for n in range(6) if not math.isnan(head.labels[s, n])]
            for s in range(len(pools))
        ]
        plans = [plan for frame in frames for plan in frame]
        p = [1 / (1 + math.exp(-z)) for z, _ in plans]
        y = [label for _, label in plans]
        assert found.plans == len(plans) and (name == "TTC") == (len(plans) < 72)
        assert found.prediction.value == pytest.approx(np.mean(p)) and found.outcome.value == pytest.approx(np.mean(y))
        assert found.brier.value == pytest.approx(np.mean([(a - b) ** 2 for a, b in zip(p, y, strict=True)]))
        losses = [-b * math.log(a) - (1 - b) * math.log(1 - a) for a, b in zip(p, y, strict=True)]
        assert found.log_loss.value == pytest.approx(np.mean(losses))
        bins = equal_count_bins(np.array([z for z, _ in plans]), 15).tolist()
        error = sum(abs(sum(p[i] - y[i] for i in range(len(p)) if bins[i] == one)) for one in set(bins)) / len(p)
        assert found.ece.value == pytest.approx(error)
        if name != "EP":
            assert found.ranking.value == pytest.approx(np.mean(auc_pairs(plans)))
            assert found.ranking_within.value == pytest.approx(np.mean([w for f in frames for w in auc_pairs(f)]))


def test_progress_is_correlated_over_safe_plans():
    """Frame by frame, and all plans together; plans that collide or leave the road do not count."""
    pools = calibrated_pools(logs=3, frames=4, plans=8)
    noisy = pools.logits + np.random.default_rng(0).normal(size=pools.logits.shape)
    pools = replace(pools, logits=noisy)
    columns = [V1_COLUMNS.index(name) for name in ("NC", "DAC", "EP")]
    frames = []
    for s in range(len(pools)):
        safe = [n for n in range(8) if pools.v1[s, n, columns[0]] == pools.v1[s, n, columns[1]] == 1]
        index = OUTCOMES.index("EP")
        frames.append([(1 / (1 + math.exp(-noisy[s, n, index])), pools.v1[s, n, columns[2]]) for n in safe])
    found = measure(LogBootstrap(pools.log_names, 20), heads_of(pools)["EP"])
    assert found.ranking.value == pytest.approx(pearson([plan for frame in frames for plan in frame]))
    within = [r for frame in frames if len(frame) > 1 and (r := pearson(frame)) is not None]
    assert found.ranking_within.value == pytest.approx(np.mean(within))


def test_a_head_without_failures_has_no_auc():
    pools = calibrated_pools(frames=3)
    v1 = pools.v1.copy()
    v1[..., V1_COLUMNS.index("C")] = 1
    v1[..., V1_COLUMNS.index("TTC")] = INVALID_TTC
    heads = heads_of(replace(pools, v1=v1))
    bootstrap = LogBootstrap(pools.log_names, 20)
    assert math.isnan(measure(bootstrap, heads["C"]).ranking.value)
    nothing = measure(bootstrap, heads["TTC"])
    assert nothing.plans == 0 and nothing.bins == () and math.isnan(nothing.ece.value)
