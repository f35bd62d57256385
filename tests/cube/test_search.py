"""Cross-entropy search against a plain NumPy version of it, on a cost whose best plan is known."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from world4scorer.cube.errors import CubeError
from world4scorer.cube.model.search import Search, _coloured, search

TARGET = torch.linspace(-0.8, 0.8, 50).view(2, 25)


def toy_score(candidates: torch.Tensor) -> torch.Tensor:
    return -(candidates - TARGET).square().sum((-1, -2))


def generators(*seeds: int) -> list[torch.Generator]:
    return [torch.Generator().manual_seed(seed) for seed in seeds]


def numpy_search(budget: Search, seed: int, low: float, high: float) -> np.ndarray:
    """One search, one candidate after the other, on the same noise."""
    noise = torch.Generator().manual_seed(seed)
    mean, spread = np.zeros((budget.blocks, 25), np.float32), np.ones((budget.blocks, 25), np.float32)
    for _ in range(budget.iterations):
        drawn = torch.randn((budget.candidates, budget.blocks, 25), generator=noise).numpy()
        candidates = [np.clip(mean + spread * one, low, high) for one in drawn]
        candidates[0] = np.clip(mean, low, high)
        costs = [float(((one - TARGET.numpy()) ** 2).sum()) for one in candidates]
        elites = np.stack([candidates[index] for index in np.argsort(costs)[: budget.elites]])
        mean, spread = elites.mean(0), elites.std(0, ddof=1)
    return mean


@pytest.mark.parametrize("bounded", [True, False])
def test_it_is_the_plain_search(bounded: bool) -> None:
    budget = Search(candidates=60, elites=6, iterations=7, blocks=2, bounded=bounded)
    bounds = torch.full((25,), -0.5), torch.full((25,), 0.5)
    found = search(budget, toy_score, generators(3), bounds)[0]
    edge = 0.5 if bounded else np.inf
    np.testing.assert_allclose(found, numpy_search(budget, 3, -edge, edge), atol=1e-5)


def test_it_comes_near_the_best_plan() -> None:
    budget = Search(candidates=300, elites=30, iterations=30, blocks=2)
    assert (search(budget, toy_score, generators(0))[0] - TARGET).abs().mean() < 0.05


def test_a_search_does_not_depend_on_its_neighbours() -> None:
    budget = Search(candidates=40, elites=5, iterations=4, blocks=2)
    together = search(budget, toy_score, generators(5, 6, 7))
    torch.testing.assert_close(together[1:2], search(budget, toy_score, generators(6)))


def test_the_mean_is_always_among_the_candidates() -> None:
    seen: list[torch.Tensor] = []

    def score(candidates: torch.Tensor) -> torch.Tensor:
        seen.append(candidates.clone())
        return toy_score(candidates)

    plan = search(Search(candidates=20, elites=2, iterations=3, blocks=2), score, generators(1))
    assert len(seen) == 3
    best = toy_score(seen[0])[0].topk(2).indices
    torch.testing.assert_close(seen[1][0, 0], seen[0][0, best].mean(0))
    assert plan.shape == (1, 2, 25)


@pytest.mark.parametrize("wrong", [{"elites": 1}, {"elites": 301}, {"iterations": 0}, {"blocks": 0}])
def test_budgets_that_make_no_sense_are_refused(wrong: dict[str, int]) -> None:
    with pytest.raises(CubeError):
        Search(**wrong)


def test_coloured_noise_is_correlated_over_the_steps() -> None:
    white = torch.randn(2000, 5, 25, generator=torch.Generator().manual_seed(0))
    for colour, least, most in ((0.0, -0.02, 0.02), (1.0, 0.5, 0.6), (2.0, 0.8, 0.9)):
        steps = _coloured(white, colour).reshape(2000, 25, 5)
        assert steps.var().item() == pytest.approx(1, abs=0.02)
        assert least < (steps[:, 1:] * steps[:, :-1]).mean().item() < most


def test_kept_elites_are_tried_again() -> None:
    seen: list[torch.Tensor] = []

    def score(candidates: torch.Tensor) -> torch.Tensor:
        seen.append(candidates)
        return -candidates.flatten(2).square().sum(-1)

    budget = Search(candidates=20, elites=5, iterations=2, kept=3, momentum=0.5)
    search(budget, score, [torch.Generator().manual_seed(0)])
    best = seen[0][0, score(seen[0])[0].topk(5).indices]
    torch.testing.assert_close(seen[1][0, 1:4], best[:3])
    torch.testing.assert_close(seen[1][0, 0], 0.5 * best.mean(0))  # half of the way from a mean of zero
