from __future__ import annotations

import numpy as np
import pytest

from world4scorer.evaluation.scores.bootstrap import Interval, LogBootstrap, plain


def test_whole_logs_are_drawn():
    values = np.repeat([0.0, 1.0], 500)
    alone = LogBootstrap([str(i) for i in range(1000)]).mean(values)
    assert 0.45 < alone.low < alone.value == 0.5 < alone.high < 0.55
    assert LogBootstrap(["a"] * 500 + ["b"] * 500).mean(values) == (0.5, 0.0, 1.0)


def test_against_drawing_logs_one_by_one():
    """Logs of unequal length count as often as they have frames."""
    rng = np.random.default_rng(0)
    logs = np.repeat([f"log{i}" for i in range(12)], rng.integers(1, 20, 12))
    values = rng.random(len(logs)) + 0.3 * (logs == "log3")
    names = np.unique(logs)
    means = []
    for _ in range(4000):
        drawn = np.concatenate([values[logs == name] for name in rng.choice(names, len(names))])
        means.append(drawn.mean())
    found = LogBootstrap(list(logs), 20_000).mean(values)
    assert found.value == pytest.approx(values.mean())
    assert (found.low, found.high) == pytest.approx(tuple(np.quantile(means, (0.025, 0.975))), abs=0.01)


def test_missing_values_do_not_count_and_seeds_repeat():
    logs = ["a", "a", "b", "b"]
    values = np.array([1.0, np.nan, 0.0, 1.0])
    bootstrap = LogBootstrap(logs, 500, seed=3)
    assert bootstrap.mean(values).value == pytest.approx(2 / 3)
    assert bootstrap.mean(values) == LogBootstrap(logs, 500, seed=3).mean(values)
    assert np.isnan(bootstrap.mean(np.full(4, np.nan)).value)
    assert bootstrap.ratio([1, 0, 1, 1], [1, 0, 2, 2]).value == pytest.approx(3 / 5)
    with pytest.raises(ValueError, match="draws"):
        LogBootstrap(logs, 0)


def test_a_single_log_has_no_interval():
    """Drawn again and again it would pretend to certainty."""
    found = LogBootstrap(["a"] * 9).mean(np.arange(9.0))
    assert found.value == 4 and np.isnan(found.low) and np.isnan(found.high)
    assert found.text(1) == "4.0" and plain(found) == {"value": 4.0, "low": None, "high": None}
    assert not found.low > 0 and not found.high < 0


def test_text():
    assert Interval(np.nan, np.nan, np.nan).text() == "none"
    assert Interval(0.5, 0.25, 0.751).times(100).text(1) == "50.0 [25.0, 75.1]"
    assert Interval(0.5, -0.25, 0.751).text(2, signed=True) == "+0.50 [-0.25, +0.75]"
