from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
import torch

from world4scorer.evaluation.scores.bootstrap import LogBootstrap
from world4scorer.studies.readout_networks.regions import REGIONS
from world4scorer.studies.readouts.measures import consistency, fitted, view_shift
from world4scorer.studies.readouts.tables import by_region


def test_consistency_by_hand_and_by_region():
    rng = np.random.default_rng(0)
    grids, mean = rng.normal(size=(4, 3, 5, 6)), rng.normal(size=6)
    regions = rng.integers(0, 3, (4, 5))
    expected = np.zeros((4, 5))
    for scene in range(4):
        for patch in range(5):
            cosines = []
            for a, b in combinations(range(3), 2):
                u, v = grids[scene, a, patch] - mean, grids[scene, b, patch] - mean
                cosines.append(u @ v / np.sqrt((u @ u) * (v @ v)))
            expected[scene, patch] = np.mean(cosines)
    found = consistency(torch.from_numpy(grids), torch.from_numpy(mean))
    assert np.allclose(found, expected)
    bootstrap = LogBootstrap(["a", "a", "b", "b"], 50)
    for number in range(len(REGIONS)):
        assert by_region(bootstrap, found, regions == number).value == pytest.approx(expected[regions == number].mean())


def test_equal_queries_agree():
    grids = torch.randn(2, 1, 4, 3, generator=torch.Generator().manual_seed(0)).expand(-1, 3, -1, -1)
    assert np.allclose(consistency(grids), 1.0)


@pytest.mark.parametrize("shift", [-7, 0, 5])
def test_shift_of_a_view(shift):
    wide = torch.rand(3, 8, 80, generator=torch.Generator().manual_seed(0))
    straight, turned = wide[..., 20:60], wide[..., 20 - shift : 60 - shift]
    assert view_shift(turned, straight) == shift  # what is seen lies so far to the right


def test_images_are_fitted_in_size():
    image = torch.rand(1, 3, 4, 6)
    assert fitted(image, torch.zeros(1, 3, 4, 6)) is image
    assert fitted(image, torch.zeros(1, 3, 8, 8)).shape == (1, 3, 8, 8)
