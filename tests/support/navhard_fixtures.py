"""Fixtures around the golden two-stage dataset: laid out, prepared, its store open."""

from __future__ import annotations

import pytest

from tests.support.navhard_golden import NavhardGolden, compact_navhard, full_navhard
from tests.support.navsim_golden import NavsimGolden
from world4scorer.datasets.navsim.filters import read_split
from world4scorer.datasets.prepare.fill_store import prepare
from world4scorer.datasets.prepare.source import NavsimSource, find_synthetic
from world4scorer.datasets.store import SceneStore
from world4scorer.jobs.executors import SerialExecutor


@pytest.fixture(scope="session", params=["compact", pytest.param("full", marks=pytest.mark.slow)])
def navhard(
    request: pytest.FixtureRequest, compact: NavsimGolden, tmp_path_factory: pytest.TempPathFactory
) -> NavhardGolden:
    root = tmp_path_factory.mktemp("navhard") / "data"
    found = compact_navhard(compact.dataset, root) if request.param == "compact" else full_navhard(root)
    if found is None:
        pytest.skip("the full golden set is not here (W4S_GOLDEN)")
    split = read_split(found.split("cv"))
    source = NavsimSource(found.root, split, synthetic=find_synthetic(found.root, split))
    prepare(source, found.store, SerialExecutor(), show_progress=False)
    return found


@pytest.fixture(scope="session")
def navhard_store(navhard: NavhardGolden) -> SceneStore:
    return SceneStore(navhard.store)
