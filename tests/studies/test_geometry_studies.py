"""The studies of targets and states, through the command, on a run of the tiny city."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from tests.support.run_folder import write_run
from world4scorer.cli.run import main
from world4scorer.datasets.store import SceneStore
from world4scorer.evaluation.pools.planner_source import PlannerSource
from world4scorer.jobs.run_folder import RunFolder
from world4scorer.planner.bank import CandidateBank
from world4scorer.planner.planner import Planner
from world4scorer.planner.pretrained.image_encoder import load_encoder
from world4scorer.planner.targets.future_targets import read_file, write_file
from world4scorer.planner.targets.make_targets import make_targets
from world4scorer.planner.training.run import TrainData
from world4scorer.planner.training.run_files import read_run
from world4scorer.studies.shared import view_features
from world4scorer.studies.shared.bank_states import Drawing, draw_scenes, states_of, untrained
from world4scorer.studies.target_geometry.views import open_views


@pytest.fixture(scope="module")
def run(training_set, tmp_path_factory) -> Path:
    """A run whose planner has weights drawn by seed."""
    folder = write_run(tmp_path_factory.mktemp("geometry") / "run", training_set, training_set.data)
    torch.manual_seed(1)
    Planner(training_set.config.model).save_pretrained(RunFolder(folder).planner)
    return folder


def study(name: str, run: Path, out: Path, *words: str) -> dict:
    assert main(["study", name, str(run), "--out", str(out), "--draws", "50", *words]) == 0
    assert (out / f"{name}.png").stat().st_size > 5000
    return json.loads((out / f"{name}.json").read_text())


def test_target_geometry(run, training_set, tmp_path):
    found = study("target-geometry", run, tmp_path)["numbers"]
    views = open_views(run)
    assert found["frames"] == len(views) and found["logs"] == len(set(views.log_names))
    dot = (views.current * views.future).sum(1)
    cosine = dot / np.linalg.norm(views.current, axis=1) / np.linalg.norm(views.future, axis=1)
    assert found["raw"]["cosine"]["true"]["value"] == pytest.approx(cosine.mean())
    assert found["raw"]["percentiles"]["true"]["5"] == pytest.approx(np.percentile(cosine, 5, method="inverted_cdf"))
    values = np.linalg.svd(views.future - views.future.mean(0))[1]
    shares = values / values.sum()
    rank = found["effective_rank"]["future"]["centred"]["singular_values"]["value"]
    assert rank == pytest.approx(np.exp(-(shares * np.log(shares)).sum()), rel=1e-3)
    # The run's own targets are the future; only the current views were made.
    digest = load_encoder("city").digest()[:8]
    assert [path.name for path in (run / "features").iterdir()] == [f"city_train-train-current-{digest}.arrow"]


def test_kept_features_are_taken_only_if_all_scenes_are_there(training_set, tmp_path, monkeypatch):
    data = training_set.data
    run = write_run(tmp_path / "run", training_set, replace(data, targets=None))
    asked: list[Path] = []

    def make(*given: Path, **_: object) -> None:
        asked.append(given[3])
        shutil.copy(data.targets, given[3])

    monkeypatch.setattr(view_features, "make_targets", make)
    (run / "features").mkdir()
    old = run / "features" / "city_train-future.arrow"
    new = f"city_train-train-future-{load_encoder('city').digest()[:8]}.arrow"

    def look() -> list[str]:
        asked.clear()
        found = view_features.view_features(run, read_run(run)[1], "city", "patches", "future", "train")
        assert all(token in found for token in SceneStore(data.store).tokens)
        return [path.name for path in asked]

    tokens, features, valid, notes = read_file(data.targets)
    write_file(old, tokens[1:], features[1:], valid[1:], notes)
    assert look() == [new] and look() == []
    (run / "features" / new).unlink()
    shutil.copy(data.targets, old)
    assert look() == []


def test_features_beside_the_targets_are_taken_and_their_mean_left_on(training_set, tmp_path):
    data = training_set.data
    plain = open_views(write_run(tmp_path / "plain", training_set, data))
    for frame in ("current", "future"):
        out = tmp_path / "targets" / f"city_train-{frame}.arrow"
        make_targets(data.data, data.split, "city", out, frame=frame, centre=True, store=data.store)
    moved = replace(data, targets=out)
    centred = open_views(write_run(tmp_path / "centred", training_set, moved))
    np.testing.assert_array_equal(centred.current, plain.current)
    np.testing.assert_array_equal(centred.future, plain.future)
    assert not (tmp_path / "centred" / "features").exists()


def test_state_geometry(run, tmp_path):
    words = ["--logs", "2", "--scenes-per-log", "3", "--plans", "12", "--seed", "4"]
    content = study("state-geometry", run, tmp_path, *words)
    assert content["command"] == " ".join(["w4s study state-geometry run", *words, "--draws 50"])
    assert content["pictures"] == ["state-geometry.png", "state-geometry_agreement.png"]
    found = content["numbers"]
    store = SceneStore(read_run(run)[1].store)
    logs = [store.log_of(token) for token in found["tokens"]]
    assert sorted(logs.count(log) for log in set(logs)) == [3, 3]
    assert sum(found["plans_by_outcome"].values()) == 6 * 12
    for name, one in found["agreement"].items():
        assert one["value"] == pytest.approx(np.mean(found["by_scene"][name]), abs=1e-6)
    assert set(found["spread"]) == {"states", "untrained", "random_predictor"}


def test_states_are_those_of_one_call_per_scene(run):
    config, data = read_run(run)
    source = PlannerSource(RunFolder(run).planner, data.data, data.split, data.store)
    samples, bank = source.samples(), CandidateBank.open(data.bank)
    scenes = draw_scenes(samples, bank, Drawing(2, 2, 7, 0))
    together = states_of(source.load(), scenes)
    alone = [
        states_of(source.load(), replace(scenes, samples=scenes.samples.at([i]), plans=scenes.plans[i : i + 1]))
        for i in range(4)
    ]
    np.testing.assert_allclose(together, np.concatenate(alone), atol=1e-5)
    for token, plans, labels in zip(scenes.samples.tokens, scenes.plans, scenes.labels, strict=True):
        row = bank.rows[token]
        for plan, label in zip(plans, labels, strict=True):
            place = np.flatnonzero((bank.candidates[row] == plan).all((1, 2)) & bank.mask[row])
            assert any((bank.subscores[row, p].astype(np.float32) == label).all() for p in place)
    start = untrained(config, samples)
    np.testing.assert_array_equal(states_of(start, scenes), states_of(untrained(config, samples), scenes))
    assert np.abs(states_of(start, scenes) - together).max() > 0.1


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("--logs 500", "logs of the training split have 8 scenes with 64 bank plans; 500 are asked for"),
        ("--logs 1 --scenes-per-log 1 --plans 5", "plans: 5; more than 5 are needed"),
        ("--scenes-per-log 0", "scenes_per_log: 0; at least 1"),
    ],
)
def test_what_cannot_be_drawn_is_said(run, capsys, words, said):
    assert main(["study", "state-geometry", str(run), *words.split()]) == 1
    error = capsys.readouterr().err
    assert said in error and "Traceback" not in error


def test_targets_of_an_unknown_encoder(run, training_set, tmp_path, capsys):
    data: TrainData = training_set.data
    released = tmp_path / "released.pt"
    torch.save({token: torch.ones(3) for token in SceneStore(data.store).tokens}, released)
    other = write_run(tmp_path / "other", training_set, replace(data, targets=released))
    assert main(["study", "target-geometry", str(other)]) == 1
    assert "name it with --encoder" in capsys.readouterr().err
