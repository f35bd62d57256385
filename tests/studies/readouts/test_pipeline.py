"""The picture of all stages from a query to an image."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from tests.support.stored_pools import store_pools
from world4scorer.datasets.store import SceneStore
from world4scorer.evaluation.pools.scored import ScoredPools
from world4scorer.planner.pretraining.patch_grid import PatchGrid
from world4scorer.studies.readouts.pipeline import COLUMNS, QueryStages, patch_colours, pipeline_picture, stage_names

GRID = PatchGrid(rows=3, columns=4, height=12, width=16)


@pytest.fixture
def stages() -> QueryStages:
    torch.manual_seed(0)
    return QueryStages(
        states=torch.randn(3, 10),
        features=torch.randn(4, 8),
        now_grid=torch.randn(12, 6),
        grids=torch.randn(4, 12, 6),
        now_image=torch.rand(3, 12, 16),
        images=torch.rand(4, 3, 12, 16),
    )


def test_every_stage_of_every_query_is_shown(stages: QueryStages, tmp_path: Path) -> None:
    pools = ScoredPools.open(store_pools(tmp_path))
    sheet = pipeline_picture(stages, GRID, pools, SceneStore(tmp_path / "store"), 0, np.array([0, 1, 2]))
    shown = [np.asarray(axes.images[0].get_array()) for axes in sheet.figure.axes if axes.images]
    strips = [array for array in shown if array.ndim == 2]
    assert len(strips) == len(stages.states) + len(stages.features)  # what was observed has no state
    for number, row in enumerate(strips[::2][:3]):
        np.testing.assert_allclose(row.ravel()[:10], stages.states[number], rtol=1e-6)
    np.testing.assert_allclose(strips[-1].ravel()[:8], stages.features[-1], rtol=1e-6)
    assert sum(array.shape == (3, 4, 3) for array in shown) == 1 + len(COLUMNS)  # grids, the current one too
    assert sum(array.shape == (12, 16, 3) for array in shown) == 1 + len(COLUMNS)
    said = [text.get_text() for text in sheet.figure.texts]
    assert set(stage_names(stages)) <= set(said) and "straight (selected)" in said
    assert "state z\n10 numbers" in said and any(text.startswith("readout network\n12 patches") for text in said)


def test_equal_patches_have_equal_colours() -> None:
    rng = np.random.default_rng(0)
    first = rng.normal(size=(12, 6))
    colours = patch_colours(np.stack([first, first[::-1]]), GRID)
    assert colours.shape == (2, 3, 4, 3) and colours.min() >= 0 and colours.max() <= 1
    np.testing.assert_allclose(colours[0].reshape(12, 3), colours[1].reshape(12, 3)[::-1], atol=1e-9)
    assert np.ptp(colours[0].reshape(12, 3), axis=0).min() > 0.3
