"""Temperatures: known ones are recovered, and no log is scaled by what it said itself."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tests.support.calibrated_pools import calibrated_pools
from world4scorer.engine.selection.utility import OUTCOMES
from world4scorer.studies.calibration.heads import heads_of
from world4scorer.studies.calibration.temperature import (
    MOST_TEMPERATURE,
    Scaling,
    cross_fit,
    fit_scaling,
    half_of_frames,
)


@pytest.mark.parametrize("temperature", [0.4, 1.0, 2.5])
def test_a_known_temperature_is_recovered(temperature):
    pools = calibrated_pools(frames=60, temperature=temperature)
    for name, head in heads_of(pools).items():
        found = fit_scaling(head.logits.ravel(), head.labels.ravel())
        assert found.temperature == pytest.approx(temperature, rel=1e-4 if name == "EP" else 0.05)
        assert found.bias == 0


def test_a_known_bias_is_recovered():
    pools = calibrated_pools(frames=60, temperature=2.0, bias=-0.7)
    for head in heads_of(pools).values():
        found = fit_scaling(head.logits.ravel(), head.labels.ravel(), with_bias=True)
        assert found.temperature == pytest.approx(2.0, rel=0.06) and found.bias == pytest.approx(-0.7, abs=0.06)


def test_nothing_near_is_better():
    """The fitted temperature and bias have a lower log loss than their neighbours."""
    rng = np.random.default_rng(0)
    logits, labels = rng.normal(1, 3, 500), rng.random(500).round()

    def loss(scaling):
        z = scaling.apply(logits)
        return np.mean(np.logaddexp(0, z) - labels * z)

    found = fit_scaling(logits + 2 * labels, labels, with_bias=True)
    logits = logits + 2 * labels
    for step in (-0.02, 0.02):
        assert loss(found) < loss(Scaling(found.temperature + step, found.bias))
        assert loss(found) < loss(Scaling(found.temperature, found.bias + step))


def test_what_cannot_be_fitted():
    logits = np.array([-1.0, 0.5, 2.0, 3.0])
    for labels in (np.zeros(4), np.ones(4), np.zeros(0)):
        assert fit_scaling(logits[: len(labels)], labels) == Scaling(1.0, 0.0)
    opposite = fit_scaling(logits, np.array([1.0, 1.0, 0.0, 0.0]))
    assert opposite == Scaling(MOST_TEMPERATURE, 0.0)
    biased = fit_scaling(logits, np.array([1.0, 1.0, 1.0, 0.0]), with_bias=True)
    assert biased.temperature == MOST_TEMPERATURE and biased.bias == pytest.approx(np.log(3), abs=0.1)
    separated = fit_scaling(logits, (logits > 1).astype(float), with_bias=True)
    assert 0 < separated.temperature < 1 and np.isfinite(separated.bias)


def test_whole_logs_are_in_one_half():
    names = [f"log{index % 7}" for index in range(50)]
    half = half_of_frames(names)
    of_log = {name: {int(one) for other, one in zip(names, half, strict=True) if other == name} for name in names}
    assert all(len(halves) == 1 for halves in of_log.values())
    assert sorted(len([1 for halves in of_log.values() if halves == {one}]) for one in (0, 1)) == [3, 4]
    assert any((half_of_frames(names, seed) != half).any() for seed in range(1, 5))
    with pytest.raises(ValueError, match="one log"):
        half_of_frames(["alone", "alone"])


@pytest.mark.parametrize("with_bias", [False, True])
def test_no_log_is_scaled_by_itself(with_bias):
    """Whatever a log holds, the scaling of its frames stays; those of the other half may change."""
    pools = calibrated_pools(temperature=2.0)
    half = half_of_frames(pools.log_names)
    before = cross_fit(heads_of(pools), half, with_bias)
    for log in set(pools.log_names):
        own = np.array(pools.log_names) == log
        other = pools.v1.copy()
        other[own] = 1 - other[own]
        after = cross_fit(heads_of(replace(pools, v1=other)), half, with_bias)
        applied = int(half[own][0])
        for name in OUTCOMES:
            assert after.scalings[name][applied] == before.scalings[name][applied]
            assert after.scalings[name][1 - applied] != before.scalings[name][1 - applied]
            np.testing.assert_array_equal(after.heads[name].logits[own], before.heads[name].logits[own])


def test_each_half_has_the_scaling_of_the_other():
    pools = calibrated_pools(temperature=2.0)
    half = half_of_frames(pools.log_names, seed=3)
    fitted = cross_fit(heads_of(pools), half)
    for name, head in heads_of(pools).items():
        for one in (0, 1):
            others = half != one
            expected = fit_scaling(head.logits[others].ravel(), head.labels[others].ravel())
            assert fitted.scalings[name][one] == expected
            np.testing.assert_allclose(
                fitted.heads[name].logits[~others], head.logits[~others] / expected.temperature, rtol=1e-12
            )
