"""Findings are read again as they were written."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from world4scorer import __version__
from world4scorer.drawing.charts import chart
from world4scorer.drawing.finding import Finding, Table
from world4scorer.jobs.files import read_json


@pytest.fixture
def finding() -> Finding:
    return Finding(
        name="reranking",
        title="Re-ranking",
        question="What changes?",
        data="Ten frames.",
        weights="abc",
        numbers={"changed": 3},
        tables=(Table("Scores", ("", "PDMS"), (("a | b", "81.2"),)),),
        remarks=("Little.",),
        paper={"changed": 4},
        figure=chart(size=(2.0, 1.5))[0],
        pictures={"second": chart(size=(2.0, 1.5))[0]},
    )


def test_round_trip(finding: Finding, tmp_path: Path) -> None:
    path = finding.save(tmp_path, "w4s study reranking city")
    loaded = Finding.load(path.with_suffix(".json"))
    same = ("name", "title", "question", "data", "weights", "numbers", "tables", "remarks", "paper", "version")
    assert all(getattr(loaded, name) == getattr(finding, name) for name in same)
    assert (loaded.command, loaded.version) == ("w4s study reranking city", __version__)
    assert loaded.figure == tmp_path / "reranking.png"
    assert loaded.pictures == {"second": tmp_path / "reranking_second.png"}


def test_a_loaded_finding_is_saved_elsewhere_with_its_pictures(finding: Finding, tmp_path: Path) -> None:
    command = "w4s study reranking city"
    loaded = Finding.load(finding.save(tmp_path / "a", command).with_suffix(".json"))
    loaded.save(tmp_path / "a", command)  # onto itself
    loaded.save(tmp_path / "b", command)
    for name in ("reranking.json", "reranking.md", "reranking.png", "reranking_second.png"):
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()


def test_a_renamed_file_keeps_its_pictures(finding: Finding, tmp_path: Path) -> None:
    path = finding.save(tmp_path, "w4s study reranking city").with_suffix(".json")
    loaded = Finding.load(path.rename(tmp_path / "before.json"))
    assert loaded.name == "before"
    assert (loaded.figure, list(loaded.pictures)) == (tmp_path / "reranking.png", ["second"])


def test_files_without_pictures_and_digest(finding: Finding, tmp_path: Path) -> None:
    path = finding.save(tmp_path, "w4s study reranking city").with_suffix(".json")
    content = read_json(path)
    for name in ("pictures", "weights", "remarks", "paper", "world4scorer"):
        del content[name]
    path.write_text(json.dumps(content))
    loaded = Finding.load(path)
    assert (loaded.figure, loaded.pictures, loaded.weights, loaded.version) == (None, {}, "", "")
