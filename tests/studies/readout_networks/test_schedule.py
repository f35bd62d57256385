from __future__ import annotations

import math

import pytest
import torch

from world4scorer.studies.readout_networks.diffusion import ddim
from world4scorer.studies.readout_networks.schedule import MOST_VARIANCE, OFFSET, Schedule

SCHEDULE = Schedule.cosine(1000)


def test_signal_and_noise_share_the_variance():
    assert torch.allclose(SCHEDULE.alpha**2 + SCHEDULE.sigma**2, torch.ones(1000), atol=1e-6)
    assert (SCHEDULE.alpha.diff() < 0).all()


def test_the_cosine_in_plain_numbers():
    """The product of the steps, none of which replaces more than `MOST_VARIANCE` of the variance."""

    def left(time: float) -> float:
        return math.cos((time + OFFSET) / (1 + OFFSET) * math.pi / 2) ** 2

    signal = 1.0
    for step in range(4):
        signal *= max(1 - MOST_VARIANCE, left((step + 1) / 4) / left(step / 4))
        assert Schedule.cosine(4).alpha[step] == pytest.approx(math.sqrt(signal), rel=1e-6)


def test_velocity_tells_clean_grid_and_noise():
    generator = torch.Generator().manual_seed(0)
    clean, noise = torch.randn(5, 3, 2, generator=generator), torch.randn(5, 3, 2, generator=generator)
    step = torch.tensor([0, 10, 500, 900, 999])
    noisy = SCHEDULE.noisy(clean, noise, step)
    said = SCHEDULE.clean_and_noise(noisy, SCHEDULE.velocity(clean, noise, step), step)
    assert torch.allclose(said[0], clean, atol=1e-5) and torch.allclose(said[1], noise, atol=1e-5)


@pytest.mark.parametrize("steps", [1, 2, 20])
def test_ddim_with_one_who_knows_finds_the_clean_grid(steps):
    generator = torch.Generator().manual_seed(1)
    clean, noise = torch.randn(2, 4, 3, generator=generator), torch.randn(2, 4, 3, generator=generator)

    def oracle(noisy: torch.Tensor, step: torch.Tensor) -> torch.Tensor:
        alpha, sigma = SCHEDULE.at(step, noisy)
        return (alpha * noisy - clean) / sigma  # the velocity for which the clean grid is `clean`

    assert torch.allclose(ddim(oracle, noise, SCHEDULE, steps), clean, atol=2e-5)


def test_steps_that_are_visited():
    assert SCHEDULE.visited(1) == [999]
    assert SCHEDULE.visited(3) == [999, 500, 0]
    assert SCHEDULE.visited(20)[0] == 999 and SCHEDULE.visited(20)[-1] == 0
    with pytest.raises(ValueError, match="steps"):
        SCHEDULE.visited(0)
