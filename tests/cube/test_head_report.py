from __future__ import annotations

import numpy as np
import pytest
import torch

from world4scorer.cube.collect import Groups
from world4scorer.cube.errors import CubeError
from world4scorer.cube.train_head import (
    BEST,
    LATENT_COST,
    VALIDATION,
    HeadConfig,
    quality,
    read_head_report,
    save_head,
    train_head,
)


def groups_of(count, candidates=6, latent=4):
    rng = np.random.default_rng(0)
    return Groups(
        candidates=rng.normal(size=(count, candidates, 5, 25)).astype(np.float32),
        path=rng.normal(size=(count, candidates, 5, latent)).astype(np.float32),
        goal=rng.normal(size=(count, latent)).astype(np.float32),
        cost=rng.random((count, candidates)).astype(np.float32),
        utility=-rng.random((count, candidates)),
        episode=np.arange(count) // 2,
        held=np.zeros(count, np.bool_),
        iteration=np.zeros(count, np.int64),
    )


def test_quality_of_each_group():
    utility = torch.tensor([[-0.3, -0.2, -0.1], [-0.03, -0.5, -0.4]], dtype=torch.float64)
    scores = torch.tensor([[1.0, 2.0, 3.0], [0.0, 1.0, 2.0]], dtype=torch.float64)
    found = quality(scores, utility)
    # The second group: of three pairs only that of the last two is in order.
    assert found.ordering == pytest.approx([1, 1 / 3])
    assert found.rank_correlation == pytest.approx([1, -0.5])
    assert found.chosen_metres == pytest.approx([0.1, 0.4])
    assert found.mean()["chosen_success"] == 0
    assert found.mean()["ordering"] == pytest.approx(2 / 3)


def test_report_comes_back(tmp_path):
    config = HeadConfig(epochs=1)
    trained = train_head(groups_of(20), config, progress=False)
    save_head(trained, config, tmp_path, {"groups": "a", "model": "b"})
    report = read_head_report(tmp_path)
    found = report["validation"]
    assert found.episode.tolist() == trained.validation.episode.tolist()
    assert len(np.unique(found.episode)) == 2
    np.testing.assert_array_equal(found.scores[LATENT_COST].ordering, trained.validation.scores[LATENT_COST].ordering)
    assert found.scores[BEST].ordering == pytest.approx(np.ones(4))
    assert report["quality"][BEST]["rank_correlation"] == pytest.approx(1)


def test_missing_groups_are_named(tmp_path):
    config = HeadConfig(epochs=1)
    save_head(train_head(groups_of(20), config, progress=False), config, tmp_path, {})
    (tmp_path / VALIDATION).unlink()
    with pytest.raises(CubeError, match=r"validation\.npz is missing.*w4s cube head"):
        read_head_report(tmp_path)
