from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from world4scorer.studies.readout_networks.condgrid import CondGrid, change_direction, condgrid_loss
from world4scorer.studies.readout_networks.config import ReadoutConfig
from world4scorer.studies.readout_networks.diffusion import GridDiffusion

TINY = ReadoutConfig(width=8, layers=1, heads=2)


def numbers(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))


def moved(network: torch.nn.Module) -> torch.nn.Module:
    """Weights that are not zero."""
    with torch.no_grad():
        for number, parameter in enumerate(network.parameters()):
            parameter.copy_(0.3 * numbers(*parameter.shape, seed=number))
    return network.eval()


def test_untrained_it_changes_nothing():
    network, now = CondGrid(TINY, 6, 4, 3), numbers(2, 6, 4)
    assert torch.equal(network.predict(now, numbers(2, 3), 2.0), now)
    assert torch.equal(network.without_vector(now), now)


def test_guidance_goes_beyond_the_vector():
    network, now, vector = moved(CondGrid(TINY, 6, 4, 3)), numbers(2, 6, 4), numbers(2, 3)
    told, none = (network(now, vector, torch.full((2,), known)).detach() for known in (True, False))
    assert not torch.allclose(told, none)
    assert torch.allclose(network.predict(now, vector, 1.0), now + told)
    assert torch.allclose(network.predict(now, vector, 2.0), now + none + 2.0 * (told - none), atol=1e-5)
    assert torch.allclose(network.predict(now, vector, 0.0), network.without_vector(now), atol=1e-6)


def test_without_vector_it_does_not_matter():
    network, now, nobody = moved(CondGrid(TINY, 6, 4, 3)), numbers(2, 6, 4), torch.zeros(2, dtype=torch.bool)
    assert torch.equal(network(now, numbers(2, 3, seed=1), nobody), network(now, numbers(2, 3, seed=2), nobody))


def test_losses_by_hand():
    now = torch.tensor([[[1.0, 0.0], [0.0, 2.0]]])
    future = torch.tensor([[[1.0, 1.0], [0.0, 5.0]]])
    change = torch.tensor([[[0.0, 0.0], [3.0, 0.0]]])
    # Predicted (1, 0) and (3, 2). True changes (0, 1), (0, 3): sizes 1 and 3; both predictions are at right angles.
    cosine = 1 - (1 / math.sqrt(2) + 2 / math.sqrt(13)) / 2
    squares = (0.0 + (1 / 2) ** 2 + 3.0**2 + (3 / 2) ** 2) / 4
    spread = torch.tensor([1.0, 2.0])
    assert float(change_direction(change, future - now)) == pytest.approx(1.0)
    assert float(change_direction(future - now, future - now)) == pytest.approx(0.0, abs=1e-6)
    half = torch.tensor([[[0.0, 1.0], [0.0, -1.0]]])  # right where little changes, wrong where much does
    assert float(change_direction(half, future - now)) == pytest.approx((1 * 0.0 + 3 * 2.0) / 4)
    config = ReadoutConfig(cosine_weight=2.0, mse_weight=3.0, change_weight=5.0)
    found = float(condgrid_loss(change, now, future, spread, config))
    assert found == pytest.approx(2 * cosine + 3 * squares + 5 * 1.0, rel=1e-6)


def test_statistics_are_those_of_the_grids():
    network, grids, vectors = CondGrid(TINY, 6, 4, 3), 3.0 * numbers(50, 6, 4) + 1.0, numbers(50, 3) - 2.0
    network.statistics.measure(grids, vectors)
    flat = grids.flatten(0, 1).numpy()
    assert np.allclose(network.statistics.grid_mean.numpy(), flat.mean(0), atol=1e-5)
    assert np.allclose(network.statistics.grid_spread.numpy(), flat.std(0, ddof=1), rtol=1e-5)
    assert np.allclose(network.statistics.raw_grid(network.statistics.grid(grids)).numpy(), grids.numpy(), atol=1e-5)


def test_samples_do_not_depend_on_their_neighbours():
    network, now, vector = moved(GridDiffusion(TINY, 6, 4, 3)), numbers(3, 6, 4), numbers(3, 3)
    together = network.sample(now, vector, steps=3)
    alone = network.sample(now[1:2], vector[1:2], steps=3)
    assert torch.allclose(together[1:2], alone, atol=1e-5)
    assert not torch.allclose(network.sample(now, vector, steps=3, seed=18), together)


def test_an_untrained_diffusion_loses_the_variance_of_velocities():
    network = GridDiffusion(TINY, 6, 4, 3)
    everybody = torch.ones(400, dtype=torch.bool)
    generator = torch.Generator().manual_seed(0)
    loss = network.loss(numbers(400, 6, 4), numbers(400, 6, 4, seed=1), numbers(400, 3), everybody, generator)
    assert loss.item() == pytest.approx(1.0, abs=0.05)  # alpha^2 + sigma^2


@pytest.mark.parametrize("wrong", [{"heads": 3}, {"vector_dropout": 1.0}, {"pairs": 0}, {"scale_noise": -1.0}])
def test_configurations_that_cannot_be(wrong):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        ReadoutConfig(**wrong)


def test_networks_depend_on_what_they_use():
    plain, other = ReadoutConfig(), ReadoutConfig(decoder_steps=7)
    assert plain.of_network("condgrid") == other.of_network("condgrid")
    assert plain.of_network("decoder") != other.of_network("decoder")
