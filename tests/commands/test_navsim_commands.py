"""From a dataset on disk to official scores, as a user runs it."""

from __future__ import annotations

import csv
import json
import shutil

import numpy as np
import pytest

from navsim_golden import NavsimGolden, unpack_compact
from world4scorer import cli
from world4scorer.navsim.submissions import write_submission
from world4scorer.store import SceneStore


@pytest.fixture(scope="module")
def golden(tmp_path_factory) -> NavsimGolden:
    return unpack_compact(tmp_path_factory.mktemp("navsim"))


@pytest.fixture(scope="module")
def store(golden, tmp_path_factory):
    folder = tmp_path_factory.mktemp("store") / "scenes"
    arguments = ["prepare", "--data", str(golden.dataset), "--split", "synth_mini", "--store", str(folder)]
    assert cli.main([*arguments, "--executor", "serial"]) == 0
    return folder


def rows(path):
    with open(path, newline="") as stream:
        return {row["token"]: row for row in csv.DictReader(stream)}


def trajectories(golden, agent):
    """Plans by token, and name, of one of the golden agents."""
    stored = golden.trajectories
    return dict(zip(map(str, stored["tokens"]), stored["poses"][:, agent], strict=True)), str(stored["names"][agent])


def test_prepare_keeps_what_is_done(golden, store, capsys):
    arguments = ["prepare", "--data", str(golden.dataset), "--split", "synth_mini", "--store", str(store)]
    assert cli.main([*arguments, "--workers", "1"]) == 0
    assert "0 scenes of 0 logs prepared" in capsys.readouterr().out
    assert len(SceneStore(store)) == 90


@pytest.mark.parametrize("agent", [0, 3, 7])
@pytest.mark.parametrize(
    ("metric", "read"),
    [("pdms-v1.1", lambda row: row["v1"]["score"]), ("epdms-v2.2", lambda row: row["filtered"]["epdms"])],
)
def test_evaluate_gives_the_official_scores(golden, store, tmp_path, agent, metric, read):
    plans, name = trajectories(golden, agent)
    write_submission(tmp_path / "s.pkl", plans, version="v1.1" if metric == "pdms-v1.1" else "v2.2")
    out = tmp_path / "scores.csv"
    arguments = ["evaluate", str(tmp_path / "s.pkl"), "--store", str(store), "--metric", metric, "--out", str(out)]
    assert cli.main(arguments) == 0
    expected = {
        row["token"]: read(row)
        for row in golden.scores("v1" if metric == "pdms-v1.1" else "v2")
        if row["agent"] == name
    }
    scored = rows(out)
    assert len(expected) == 90
    for token, score in expected.items():
        assert float(scored[token]["score"]) == pytest.approx(score, abs=1e-9)
    summary = json.loads(out.with_suffix(".json").read_text())
    assert summary["metric"] == metric and summary["tokens"] == 90
    assert summary["averages"]["score"] == pytest.approx(np.mean(list(expected.values())), abs=1e-9)


def test_evaluate_names_missing_tokens(golden, store, tmp_path, capsys):
    plans, _ = trajectories(golden, 0)
    for token in list(plans)[:5]:
        del plans[token]
    write_submission(tmp_path / "s.pkl", plans, version="v1.1")
    arguments = ["evaluate", str(tmp_path / "s.pkl"), "--store", str(store), "--out", str(tmp_path / "x.csv")]
    assert cli.main(arguments) == 1
    assert "5 of 90 tokens have no plan" in capsys.readouterr().err
    assert not (tmp_path / "x.csv").exists()
    assert cli.main([*arguments, "--allow-missing"]) == 0
    assert "85 of 90 tokens" in capsys.readouterr().out


def test_show(store, tmp_path, capsys):
    token = SceneStore(store).tokens[30]
    assert cli.main(["show", token, "--store", str(store), "--out", str(tmp_path / "x.png")]) == 0
    assert (tmp_path / "x.png").stat().st_size > 10_000
    assert "human, epdms-v2.2" in capsys.readouterr().out
    assert cli.main(["show", "none", "--store", str(store), "--out", str(tmp_path / "y.png")]) == 1
    assert "no scene 'none'" in capsys.readouterr().err


def test_check_data_of_a_whole_dataset(golden, capsys):
    arguments = ["check-data", "--data", str(golden.dataset), "--split", "synth_mini", "--workers", "1"]
    assert cli.main([*arguments, "--no-images"]) == 0
    assert "4 of 4 logs, 90 of 90 moments" in capsys.readouterr().out


def test_check_data_names_what_is_missing(golden, tmp_path, capsys):
    root = tmp_path / "data"
    shutil.copytree(golden.dataset, root)
    logs = sorted((root / "navsim_logs" / "test").glob("*.pkl"))
    logs[0].unlink()
    logs[1].write_bytes(b"cut off")
    (root / "maps" / "us-nv-las-vegas-strip" / "9.15.1915" / "map.gpkg").unlink()
    shutil.rmtree(root / "sensor_blobs")
    arguments = ["check-data", "--data", str(root), "--split", "synth_mini", "--workers", "1"]
    assert cli.main(arguments) == 1
    printed = capsys.readouterr().out
    for text in (
        f"1 logs missing: {logs[0].stem}",
        f"1 unreadable logs: {logs[1].stem}",
        "map.gpkg is missing",
        "moments not found",
        "LACK train (images now)",
        "LACK future targets",
    ):
        assert text in printed
    assert cli.main(["prepare", *arguments[1:5], "--store", str(tmp_path / "s"), "--executor", "serial"]) == 1
    said = capsys.readouterr().err
    assert "1 logs of synth_mini are not on disk" in said and "logs failed" in said


def test_unknown_split_says_where_it_looked(golden, capsys):
    assert cli.main(["check-data", "--data", str(golden.dataset), "--split", "navtrain"]) == 1
    assert "no navtrain.yaml in" in capsys.readouterr().err


def test_a_folder_of_logs_is_a_split(golden, capsys):
    arguments = ["check-data", "--data", str(golden.dataset), "--split", "test", "--no-images", "--workers", "1"]
    assert cli.main(arguments) == 0
    assert "split test: 4 of 4 logs" in capsys.readouterr().out
