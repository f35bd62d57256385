from __future__ import annotations

import numpy as np
import pytest
import torch

from tests.support.scenes import make_log
from world4scorer.datasets.store import SceneStore, UnknownTokenError, write_shard
from world4scorer.engine.outcomes import label
from world4scorer.planner.training.labels import LabelError, LabelThreads, SceneLabeller


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    folder = tmp_path_factory.mktemp("labels")
    write_shard(folder, "log", make_log("log", 4, seed=2), {})
    return SceneStore(folder)


def some_plans(scenes: int, plans: int) -> torch.Tensor:
    generator = torch.Generator().manual_seed(1)
    speed = 10 * torch.rand(scenes, plans, 1, generator=generator)
    turn = 0.1 * torch.randn(scenes, plans, 1, generator=generator)
    time = 0.5 * torch.arange(1, 9)
    return torch.stack([speed * time, turn * time**2, turn * time / 2], -1)


@pytest.mark.parametrize("threads", [1, 3])
def test_labels_are_those_of_the_outcome_engine_in_order(store, threads):
    plans = some_plans(4, 12).requires_grad_()
    maker = LabelThreads(SceneLabeller(store), threads)
    labels = maker.submit(store.tokens, plans).result()
    assert labels.dtype == torch.float32 and labels.shape == (4, 12, 7)
    for token, given, found in zip(store.tokens, plans.detach().double().numpy(), labels.numpy(), strict=True):
        np.testing.assert_array_equal(found, label(store[token], given).table.astype(np.float32))
    assert maker.times.scenes == 4 and maker.times.worked > 0
    maker.times.clear()
    assert maker.times.scenes == 0


def test_bad_plans_labels_and_tokens_are_named(store, monkeypatch):
    plans = some_plans(1, 3)
    plans[0, 1, 2, 0] = torch.nan
    with pytest.raises(LabelError, match=f"{store.tokens[0]!r}.*not finite"):
        LabelThreads(SceneLabeller(store)).submit(store.tokens[:1], plans).result()
    with pytest.raises(UnknownTokenError, match="'nowhere'"):
        LabelThreads(SceneLabeller(store)).submit(["nowhere"], some_plans(1, 3)).result()

    class Broken:
        table = np.full((3, 7), np.nan)

    monkeypatch.setattr("world4scorer.planner.training.labels.label", lambda *_, **__: Broken)
    with pytest.raises(LabelError, match=f"{store.tokens[0]!r}: a label is not finite"):
        LabelThreads(SceneLabeller(store)).submit(store.tokens[:1], some_plans(1, 3)).result()
