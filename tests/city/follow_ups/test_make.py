"""A two-stage split of a city: written in the official schema, prepared, evaluated, and the same when made again."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from world4scorer import cli
from world4scorer.city.follow_ups.make import NAME, make_two_stage
from world4scorer.city.world.config import CityConfig
from world4scorer.datasets.navsim.filters import Split, read_split
from world4scorer.datasets.navsim.submissions import read_submission, write_submission
from world4scorer.datasets.navsim.synthetic import read_synthetic_scene
from world4scorer.datasets.prepare.fill_store import prepare
from world4scorer.datasets.prepare.source import NavsimSource, find_synthetic
from world4scorer.datasets.prepare.synthetic_samples import synthetic_samples
from world4scorer.datasets.store import SceneStore
from world4scorer.engine.scene.geometry import to_ego_axes
from world4scorer.evaluation.scores.agents import constant_velocity
from world4scorer.evaluation.two_stage.evaluate import evaluate_two_stage
from world4scorer.evaluation.two_stage.groups import first_stage_tokens, read_groups, second_stage_tokens
from world4scorer.evaluation.two_stage.submission import read_two_stage_submission
from world4scorer.jobs.data_folder import DataFolder
from world4scorer.jobs.executors import SerialExecutor


@pytest.fixture(scope="module")
def root(city: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return Path(shutil.copytree(city, tmp_path_factory.mktemp("two_stage") / "city"))


@pytest.fixture(scope="module")
def split(root: Path, tiny: CityConfig) -> Split:
    return make_two_stage(tiny, root)


def test_scenes_are_in_the_official_schema(root: Path, split: Split) -> None:
    data = DataFolder(root)
    assert read_split(data.splits / f"{NAME}.yaml") == split and split.two_stage
    for now, previous, pairs in split.two_stage:
        assert len(now) == len(previous) == 16 and len(pairs) > 1
        for token, before in pairs:
            later, earlier = (read_synthetic_scene(data.synthetic_scenes(NAME) / f"{t}.pkl") for t in (token, before))
            assert (later.token, later.original_token, earlier.original_token) == (token, now, previous)
            assert later.frames[3].time_us - earlier.frames[3].time_us == 500_000
            assert len(later.frames) == 12 and len(token) == 17
    first, second = (
        read_synthetic_scene(data.synthetic_scenes(NAME) / f"{pair[0]}.pkl").frames[3]
        for pair in split.two_stage[0][2][:2]
    )
    assert 0 < abs(to_ego_axes(second.ego_pose[:2], first.ego_pose)).max() < 5
    samples = synthetic_samples(data.synthetic_scenes(NAME), data.synthetic_sensors(NAME), split.second_stage_tokens)
    assert all((samples.sensors / image).is_file() for images in samples.images for image in images)


@pytest.fixture(scope="module")
def store(root: Path, split: Split) -> SceneStore:
    folder = DataFolder(root).store(NAME)
    prepare(NavsimSource(root, split, synthetic=find_synthetic(root, split)), folder, SerialExecutor())
    return SceneStore(folder)


def test_an_agent_goes_through_both_stages(store: SceneStore, split: Split) -> None:
    groups = read_groups(split)
    first = {token: constant_velocity(store[token]) for token in first_stage_tokens(groups)}
    second = {token: constant_velocity(store[token]) for token in second_stage_tokens(groups)}
    result = evaluate_two_stage(store, first, second, groups)
    assert result.valid and 0 <= result.combined <= 1


def test_a_planner_goes_through_both_stages(
    root: Path, store: SceneStore, split: Split, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("torch")
    out = tmp_path / "scores.csv"
    arguments = ["evaluate", "city", "--data", str(root), "--split", NAME]
    assert cli.main([*arguments, "--out", str(out)]) == 0
    score = json.loads(out.with_suffix(".json").read_text())["combined"]
    assert f"combined {score:.4f}" in capsys.readouterr().out
    written = tmp_path / "scores_submission.pkl"
    submission = read_two_stage_submission(written, read_groups(split))
    assert set(submission.second_stage) == set(split.second_stage_tokens)
    again = tmp_path / "again.csv"
    assert cli.main(["evaluate", str(written), *arguments[2:], "--out", str(again)]) == 0
    assert again.read_text() == out.read_text()


def test_a_planner_is_submitted_for_both_stages(
    root: Path, store: SceneStore, split: Split, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("torch")
    out, where = tmp_path / "s.pkl", ["--data", str(root), "--split", NAME]
    assert cli.main(["submit", "city", *where, "--out", str(out), "--team-name", "us"]) == 0
    expected = json.loads(out.with_suffix(".json").read_text())["expected"]
    assert cli.main(["submit", "--check", str(out), *where, "--store", str(store.folder)]) == 0
    printed = capsys.readouterr().out
    assert all(f"expected {name}: {score:.4f}" in printed for name, score in expected.items()) and len(expected) == 3
    submission, groups = read_submission(out), read_groups(split)
    free = tmp_path / "free.pkl"
    assert cli.main(["submit", "city", *where, "--out", str(free), "--selection", "framewise"]) == 0
    framewise = read_submission(free)
    for group in groups:
        for _, previous in group.pairs:
            stage = "plans" if len(previous) == 16 else "second_stage"
            assert (getattr(submission, stage)[previous] == getattr(framewise, stage)[previous]).all()
    comfort = [
        evaluate_two_stage(store, one.plans, one.second_stage, groups).means(2)["two_frame_extended_comfort"]
        for one in (submission, framewise)
    ]
    assert comfort[0] >= comfort[1]

    del submission.second_stage[groups[0].follow_ups[0][0]]
    write_submission(out, submission.plans, version="v2.2", second_stage=submission.second_stage)
    assert cli.main(["submit", "--check", str(out), *where]) == 1
    printed = capsys.readouterr()
    assert "second stage: 1 of" in printed.out and "DO NOT upload" in printed.err
    write_submission(out, submission.plans, version="v1.1")
    assert cli.main(["submit", "--check", str(out), *where]) == 1
    assert "needs form v2.2" in capsys.readouterr().out
    assert cli.main(["submit", "city", *where, "--out", str(out), "--form", "v1.1"]) == 2


def test_made_again_it_is_the_same(root: Path, split: Split, tiny: CityConfig) -> None:
    folder = DataFolder(root).synthetic_scenes(NAME)
    kept = {path.name: path.read_bytes() for path in folder.iterdir()}
    gone = min(kept)
    (folder / gone).unlink()
    assert make_two_stage(tiny, root) == split
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == kept
