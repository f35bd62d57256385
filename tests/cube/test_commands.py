"""The commands from beginning to end, at the smallest size."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from world4scorer import cli
from world4scorer.cube.evaluate import Player
from world4scorer.cube.study import Study


@pytest.fixture(scope="module")
def study(finished: Study, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy whose report can be written."""
    folder = tmp_path_factory.mktemp("commands") / "study"
    shutil.copytree(finished.folder, folder)
    return folder


def test_a_finished_study_is_only_reported(study: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = {path: path.stat().st_mtime_ns for path in study.rglob("*") if path.suffix in (".npz", ".safetensors")}
    assert cli.main(["cube", "reproduce", str(study), "--preset", "smoke", "--workers", "1"]) == 0
    assert {path: path.stat().st_mtime_ns for path in before} == before
    said = capsys.readouterr().out
    assert "LeWM + outcome score with weight 0.3, strict protocol:" in said
    report = json.loads((study / "report" / "cube.json").read_text())
    assert report["command"] == "w4s cube reproduce study --preset smoke"
    assert set(report["numbers"]["players"]) == {str(player) for player in Player}
    manifest = json.loads((study / "report" / "cube_protocols.json").read_text())
    assert report["numbers"]["protocols"]["strict"]["digest"] == manifest["digests"]["strict"]
    assert (study / "report" / "cube.png").exists()


def test_a_head_says_how_well_it_orders(study: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["cube", "head", str(study)]) == 0
    said = capsys.readouterr().out
    for folder, sees in (("head", "final"), ("path-head", "path")):
        kept = json.loads((study / folder / "head.json").read_text())["epoch"]
        assert f"head that sees the {sees}: epoch {kept + 1} of 3 kept; on " in said
    assert "best candidate: ordering 100.0 %, rank correlation 1.000, the candidate it chooses ends" in said


def test_players_without_a_head(study: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["cube", "evaluate", str(study), "--players", "zero", "expert", "--workers", "1", "--out", str(tmp_path)]
    assert cli.main(words) == 0
    assert "No figure of cases" in (tmp_path / "cube.md").read_text()
    assert json.loads((tmp_path / "cube.json").read_text())["numbers"]["scores"] == {}


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("evaluate STUDY --players nobody", "lewm, ours"),
        ("evaluate STUDY --seeds 42 42", "give different numbers"),
        ("evaluate STUDY --weight -1", "not negative"),
        ("evaluate STUDY --weight 0.9", "other settings"),
        ("tune STUDY --weights 0", "positive"),
        ("head STUDY --epochs 0", "training needs an epoch"),
        ("collect STUDY --every 0", "every iteration"),
        ("collect STUDY --labelled 1", "candidates of a group"),
        ("world-model STUDY --steps 0", "training needs a step"),
        ("inverse STUDY --steps 0", "needs a width, a step"),
        ("data STUDY --preset cpu", "preset smoke"),
        ("data STUDY --preset smoke --dataset none.npz", "none.npz is missing"),
    ],
)
def test_what_is_wrong_is_said(study: Path, capsys: pytest.CaptureFixture[str], words: str, said: str) -> None:
    assert cli.main(["cube", *words.replace("STUDY", str(study)).split()]) == 1
    assert said in capsys.readouterr().err


def test_a_released_model_is_taken_as_it_is(study: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["cube", "world-model", str(study), "--released", str(tmp_path), "--steps", "5"]
    assert cli.main(words) == 2
