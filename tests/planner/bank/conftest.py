from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tests.support.scenes import make_log
from world4scorer.datasets.store import write_shard
from world4scorer.jobs.executors import SerialExecutor
from world4scorer.planner.bank import BankConfig, CandidateBank, make_bank

SMALL = BankConfig(seed=5, proposals=80)


@pytest.fixture(scope="session")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three logs of three scenes; nobody knows what was driven in the last scene of each."""
    folder = tmp_path_factory.mktemp("store")
    for number, name in enumerate(["alpha", "beta", "gamma"]):
        *scenes, last = make_log(name, 3, seed=number)
        write_shard(folder, name, [*scenes, replace(last, human_future=None)], {"options": {}})
    return folder


@pytest.fixture(scope="session")
def packed(store: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("bank") / "pack"
    make_bank(store, folder, SMALL, SerialExecutor())
    return folder


@pytest.fixture
def pack(packed: Path) -> CandidateBank:
    return CandidateBank.open(packed)
