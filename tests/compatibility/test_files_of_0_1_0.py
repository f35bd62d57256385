"""Files that version 0.1.0 wrote, before modules moved to where they are now, are read as ever."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
import torch

from tests.support.small_training import MACHINE, SMALL, TrainingSet
from world4scorer import Planner, SceneStore, label
from world4scorer.drawing.finding import Finding
from world4scorer.evaluation.pools import PoolFolder
from world4scorer.evaluation.pools.open import open_pools
from world4scorer.jobs.executors import SerialExecutor
from world4scorer.jobs.tensor_files import read_tensors
from world4scorer.planner.bank import BankConfig, CandidateBank, make_bank
from world4scorer.planner.targets.future_targets import FutureTargets
from world4scorer.planner.training.run import train
from world4scorer.planner.training.run_files import read_history, read_run
from world4scorer.studies.reranking.study import reranking

WRITTEN = Path(__file__).parent / "written_by_0.1.0"


@pytest.fixture
def written(tmp_path: Path) -> Path:
    """A copy: reading may write indices and outcomes beside what is there."""
    return Path(shutil.copytree(WRITTEN, tmp_path / "written"))


def test_store(written: Path) -> None:
    store = SceneStore(written / "store")
    store.verify()
    assert len(store) == 9 and store.logs == ["alpha", "beta", "gamma"]
    assert store[store.tokens[0]].centerline.shape[1] == 3


def test_pools_and_their_outcomes(written: Path) -> None:
    kept = {path.name: path.read_bytes() for path in (written / "pools" / "outcomes").iterdir()}
    pools = open_pools(written / "pools", written / "store")
    expected = json.loads((written / "expected.json").read_text())
    assert pools.v1[..., -1].mean() == pytest.approx(expected["v1_mean"], abs=1e-12)
    assert pools.v2[..., -1].mean() == pytest.approx(expected["v2_mean"], abs=1e-12)
    assert kept == {path.name: path.read_bytes() for path in (written / "pools" / "outcomes").iterdir()}
    assert PoolFolder(written / "pools").about["planner"] == "drawn"


def test_a_study_of_them_finds_what_it_found(written: Path) -> None:
    kept = Finding.load(written / "studies" / "reranking.json")
    found = reranking(open_pools(written / "pools", written / "store"), 1.0, 200)
    assert kept.name == "reranking" and kept.command == "w4s study reranking pools --draws 200"
    assert (
        json.loads(json.dumps(found.numbers))
        == json.loads((written / "studies" / "reranking.json").read_text())["numbers"]
    )


def test_bank(written: Path) -> None:
    pack, store = CandidateBank.open(written / "bank"), SceneStore(written / "store")
    pack.verify()
    token, row = next(iter(pack.rows.items()))
    valid = pack.mask[row]
    expected = label(store[token], pack.candidates[row, valid]).table
    np.testing.assert_array_equal(pack.subscores[row, valid], expected.astype(np.float32))
    report = make_bank(written / "store", written / "bank", BankConfig(seed=5, proposals=80), SerialExecutor())
    assert report.logs == 0 and report.kept == 3


def test_future_targets(written: Path) -> None:
    targets = FutureTargets.open(written / "future.arrow")
    features, valid = targets.features(targets.tokens[:3])
    assert features.shape == (3, targets.width) and valid.any()


def test_planner_and_run(written: Path) -> None:
    config, data = read_run(written / "run")
    assert config == SMALL and data.val_split == "city_val"
    assert [line["epoch"] for line in read_history(written / "run")] == [1, 2]
    planner = Planner.from_pretrained(written / "run" / "planner")
    assert planner.config == SMALL.model


def test_a_training_resumes_from_its_checkpoint(written: Path, training_set: TrainingSet) -> None:
    """Its last step was made: what is left is to write the planner."""
    run = written / "run"
    before = read_tensors(run / "planner" / "model.safetensors")
    shutil.rmtree(run / "planner")
    (run / "data.json").unlink()  # the data lie elsewhere now
    train(SMALL, training_set.data, run, MACHINE)
    after = read_tensors(run / "planner" / "model.safetensors")
    assert before.keys() == after.keys()
    assert all(torch.equal(tensor, after[name]) for name, tensor in before.items())
