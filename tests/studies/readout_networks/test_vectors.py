from __future__ import annotations

import pytest
import torch

from world4scorer.studies.readout_networks.config import ReadoutConfig
from world4scorer.studies.readout_networks.vectors import guided, kept, of_length, perturbed


@pytest.mark.parametrize("scale", [0.0, 1.0, 2.0, -1.5])
def test_guidance_is_the_formula(scale):
    without, told = torch.tensor([1.0, 2.0]), torch.tensor([3.0, -2.0])
    assert guided(without, told, scale).tolist() == [1.0 + scale * 2.0, 2.0 - scale * 4.0]


def test_share_of_dropped_vectors():
    generator = torch.Generator().manual_seed(0)
    told = kept(20_000, ReadoutConfig(vector_dropout=0.1), generator)
    assert float(told.float().mean()) == pytest.approx(0.9, abs=0.01)
    assert kept(1000, ReadoutConfig(vector_dropout=0.0), generator).all()


def test_vectors_are_perturbed_as_told():
    vector = torch.zeros(20_000, 64)
    vector[:, 0] = 3.0
    generator = torch.Generator().manual_seed(0)
    scaled = perturbed(vector, ReadoutConfig(scale_noise=0.2, direction_noise=0.0), generator)
    assert not scaled[:, 1:].any()
    assert float((scaled[:, 0] / 3.0).log().std()) == pytest.approx(0.2, rel=0.03)
    turned = perturbed(vector, ReadoutConfig(scale_noise=0.0, direction_noise=0.6), generator) - vector
    # The share is even from 0 to 0.6, so its mean square is 0.12 of the square of the length.
    assert float(turned.square().sum(1).mean()) == pytest.approx(0.12 * 9.0, rel=0.03)
    assert float(turned.mean()) == pytest.approx(0.0, abs=0.01)


def test_vectors_of_one_length():
    vectors = of_length(torch.tensor([[3.0, 4.0], [0.0, -2.0]]), 10.0)
    assert vectors.tolist() == [[6.0, 8.0], [0.0, -10.0]]
