from __future__ import annotations

import pytest

from world4scorer.driving.bench2drive.config import LEARNING_RATE, city, paper, with_steps


def test_the_papers_learning_rate_holds_for_any_number_of_devices():
    for devices in (1, 4):
        assert paper(devices).peak_learning_rate == pytest.approx(LEARNING_RATE)


@pytest.mark.parametrize("preset", [paper, city])
def test_another_batch_does_not_change_the_learning_rate(preset):
    before = preset()
    after = with_steps(before, batch=3 * before.batch)
    assert after.batch == 3 * before.batch
    assert after.peak_learning_rate == pytest.approx(before.peak_learning_rate)
    assert after.optimiser.clip == before.optimiser.clip
    assert with_steps(before) == before


@pytest.mark.parametrize("batch", [None, 7])
def test_a_learning_rate_that_is_given_holds(batch):
    after = with_steps(city(), batch, learning_rate=1e-4)
    assert after.peak_learning_rate == pytest.approx(1e-4) and after.batch == (batch or city().batch)
