from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from tests.support.small_training import MACHINE
from world4scorer.cli.run import main
from world4scorer.datasets.store import SceneStore
from world4scorer.engine.outcomes import pdms
from world4scorer.evaluation.pools.pool_files import digest_of_planner
from world4scorer.evaluation.scores.comparison import compare
from world4scorer.planner.bank.plan_files import read_plans
from world4scorer.planner.training.run import train
from world4scorer.planner.training.run_files import read_run


@pytest.fixture(scope="module")
def run(training_set, tmp_path_factory):
    out = tmp_path_factory.mktemp("comparison") / "run"
    train(training_set.config, training_set.data, out, MACHINE)
    return out


def test_the_table_of_a_run(training_set, run, tmp_path):
    pools = tmp_path / "pools.npz"
    assert main(["compare", str(run), "--out", str(tmp_path / "table"), "--pools", str(pools)]) == 0
    assert read_plans(pools).keys() == set(SceneStore(training_set.data.store).tokens)
    content = json.loads((tmp_path / "table.json").read_text())
    rows = {row["name"]: row for row in content["rows"]}
    store = SceneStore(training_set.data.val_store)
    driven = [pdms(scene, scene.human_future[None]).score[0] for scene in store.scenes()]
    assert rows["expert"]["pdms"] == pytest.approx(np.mean(driven), abs=1e-6)
    best = max(content["history"], key=lambda line: line["val/score"])
    assert content["checkpoint"] == "best" and content["weights"] == digest_of_planner(run / "planner_best")
    assert rows["selected"]["pdms"] == pytest.approx(best["val/score"], abs=1e-5)
    assert rows["random pick"]["pdms"] == pytest.approx(best["val/random"], abs=1e-5)
    assert rows["best of the pool"]["pdms"] >= max(rows["selected"]["pdms"], rows["selected without images"]["pdms"])
    for row in rows.values():
        assert row["low"] <= row["pdms"] <= row["high"]
    assert all(name in (tmp_path / "table.md").read_text() for name in rows)
    assert (tmp_path / "table.png").stat().st_size > 5000
    assert content["scenes"] == len(store) and content["blind_scenes"] == 67


def test_the_scorer_without_images_is_trained(run):
    first = compare(run, blind_scenes=40, blind_epochs=1)
    again = compare(run, blind_scenes=40, blind_epochs=1)
    other = compare(run, blind_scenes=40, blind_epochs=3)
    name = "selected without images"
    assert first.ordering[name] == again.ordering[name] != other.ordering[name]


def test_what_is_no_run(tmp_path, run, capsys):
    assert main(["compare", str(tmp_path), "--out", str(tmp_path / "x")]) == 1
    assert "not the folder of a training run" in capsys.readouterr().err
    config, data = read_run(run)
    assert replace(config) == config and data.split == "city_train"
