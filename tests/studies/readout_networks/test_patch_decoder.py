from __future__ import annotations

import numpy as np
import torch

from world4scorer.studies.readout_networks.patch_decoder import CHARBONNIER_EPSILON, RIDGE, PatchDecoder, image_loss

GRID, PATCH, CHANNELS = (2, 3), 4, 5


def made(count: int = 60) -> tuple[torch.Tensor, np.ndarray]:
    """Grids, and views (8 x 12) that are a linear function of them, another for each patch."""
    rng = np.random.default_rng(0)
    grids = rng.normal(size=(count, 6, CHANNELS))
    weights = rng.normal(size=(6, CHANNELS, PATCH, PATCH, 3))
    tiles = 128 + 12 * np.einsum("npc,pcyxk->npyxk", grids, weights)
    views = tiles.reshape(count, 2, 3, PATCH, PATCH, 3).transpose(0, 1, 3, 2, 4, 5).reshape(count, 8, 12, 3)
    return torch.from_numpy(grids).float(), views.clip(0, 255).round().astype(np.uint8)


def decoder() -> PatchDecoder:
    return PatchDecoder(GRID, PATCH, CHANNELS, width=8, layers=1, heads=2, maps=2).eval()


def test_the_regression_draws_each_patch_where_it_lies():
    grids, views = made()
    network = decoder()
    network.solve(grids, views)
    drawn = network.images(grids).movedim(1, -1).numpy()
    assert np.abs(drawn - views / 255.0).mean() < 0.01


def test_patches_may_reach_over_the_edge():
    grids, views = made()
    network = PatchDecoder(GRID, PATCH, CHANNELS, width=8, layers=1, heads=2, maps=2, size=(7, 10)).eval()
    network.solve(grids, views[:, :7, :10])
    drawn = network.images(grids).movedim(1, -1).numpy()
    assert drawn.shape == (60, 7, 10, 3) and np.abs(drawn - views[:, :7, :10] / 255.0).mean() < 0.01


def test_the_regression_is_numpy_s():
    grids, views = made(20)
    network = decoder()
    network.solve(grids, views)
    flat = grids.flatten(0, 1).numpy()
    known = (grids.numpy() - flat.mean(0)) / flat.std(0, ddof=1)
    seen = np.concatenate([known[:, 4], np.ones((20, 1))], 1)  # row 1, column 1 of the grid
    pixels = views[:, 4:8, 4:8].transpose(0, 3, 1, 2).reshape(20, -1) / 255.0 - 0.5
    solved = np.linalg.solve(seen.T @ seen + RIDGE * 20 * np.eye(CHANNELS + 1), seen.T @ pixels)
    assert np.allclose(network.linear[4].numpy(), solved, atol=1e-4)


def test_loss_of_colours_and_edges():
    true = torch.zeros(1, 3, 2, 2)
    assert float(image_loss(true, true)) <= 3 * CHARBONNIER_EPSILON + 1e-6
    shifted = true + 0.5  # no edge is wrong
    assert abs(float(image_loss(shifted, true)) - 0.5) < 3 * CHARBONNIER_EPSILON
    edge = true.clone()
    edge[..., 1] = 0.5  # half of the pixels, every horizontal edge
    assert abs(float(image_loss(edge, true)) - (0.25 + 0.5)) < 3 * CHARBONNIER_EPSILON


def test_noise_is_in_spreads_of_channels():
    network = decoder()
    network.grid_spread.copy_(torch.tensor([1.0, 2.0, 4.0, 8.0, 0.0]))
    noise = network.disturbed(torch.zeros(4000, 6, CHANNELS), 0.6, torch.Generator().manual_seed(0))
    spread = noise.square().mean((0, 1)).sqrt() / 0.6 * 3**0.5  # even shares: the mean square is a third
    assert torch.allclose(spread, network.grid_spread, rtol=0.05)
