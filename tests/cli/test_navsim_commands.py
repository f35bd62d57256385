"""From a dataset on disk to official scores, as a user runs it."""

from __future__ import annotations

import csv
import json
import pickle
import shutil

import numpy as np
import pytest

from tests.support.navsim_golden import NavsimGolden, synthetic_frame, unpack_compact
from world4scorer import cli
from world4scorer.datasets.navsim.filters import SceneFilter, Split, write_split
from world4scorer.datasets.navsim.logs import read_log
from world4scorer.datasets.navsim.submissions import write_submission
from world4scorer.datasets.store import SceneStore
from world4scorer.drawing.finding import Finding


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


def test_evaluate_into_a_folder_has_all_official_scores(golden, store, tmp_path, capsys):
    """One command, all three versions; v2 and pre-151 with extended comfort of consecutive plans."""
    plans, name = trajectories(golden, 3)
    write_submission(tmp_path / "s.pkl", plans, version="v2.2")
    out = tmp_path / "scores"
    assert cli.main(["evaluate", str(tmp_path / "s.pkl"), "--store", str(store), "--out", str(out)]) == 0
    assert "90 frames" in capsys.readouterr().out
    scored = rows(out / "frames.csv")
    for version, column, read in (
        ("v1", "v1_PDMS", lambda row: row["v1"]["score"]),
        ("v2", "v2_EPDMS_pre151", lambda row: row["unfiltered"]["epdms"]),
        ("v2", "v2_EPDMS", lambda row: row["filtered"]["epdms"]),
    ):
        official = {row["token"]: read(row) for row in golden.scores(version) if row["agent"] == name}
        assert len(official) == len(scored) == 90
        for token, score in official.items():
            assert float(scored[token][column]) == pytest.approx(score, abs=1e-9)
    means = json.loads((out / "evaluation.json").read_text())["numbers"]["means"]
    assert means["v2_EPDMS"]["value"] == pytest.approx(np.mean(list(official.values())), abs=1e-9)
    assert "reranked_EPDMS" not in means


def test_evaluate_names_missing_tokens(golden, store, tmp_path, capsys):
    plans, _ = trajectories(golden, 0)
    for token in list(plans)[:5]:
        del plans[token]
    write_submission(tmp_path / "s.pkl", plans, version="v1.1")
    arguments = ["evaluate", str(tmp_path / "s.pkl"), "--store", str(store), "--out", str(tmp_path / "x.csv")]
    assert cli.main(arguments) == 1
    assert "5 of 90 tokens have no plan" in capsys.readouterr().err
    assert not (tmp_path / "x.csv").exists()
    assert cli.main([*arguments[:-1], str(tmp_path / "s.pkl")]) == 1
    assert "a name that ends in .csv" in capsys.readouterr().err
    assert cli.main([*arguments, "--partial"]) == 2
    assert "give --split as well" in capsys.readouterr().err
    assert cli.main([*arguments, "--allow-missing"]) == 0
    assert "85 of 90 tokens" in capsys.readouterr().out


def test_which_names_the_rule_behind_a_score(golden, store, tmp_path, capsys):
    """The official means are among the scores, and one of them is found by what would be printed of it."""
    plans, name = trajectories(golden, 3)
    write_submission(tmp_path / "s.pkl", plans, version="v2.2")
    rows = [row for row in golden.scores("v2") if row["agent"] == name]
    official = {
        None: np.mean([row["v1"]["score"] for row in golden.scores("v1") if row["agent"] == name]),
        "v2.2": np.mean([row["filtered"]["epdms"] for row in rows]),
        "pre-151": np.mean([row["unfiltered"]["epdms"] for row in rows]),
    }
    command = ["which", str(tmp_path / "s.pkl"), "--store", str(store), "--out", str(tmp_path / "out")]
    assert cli.main([*command, "--score", f"{100 * official['v2.2']:.2f}"]) == 0
    verdict = next(line for line in capsys.readouterr().out.splitlines() if line.startswith("- "))
    assert "human filter v2.2, replay traffic, with EC, LQR navsim (official script)" in verdict
    finding = Finding.load(tmp_path / "out" / "which.json")
    assert finding.command.startswith("w4s which s.pkl --score")
    assert len(finding.numbers["scores"]) == 2 + 2 * 3 * 2 * 2
    found = {row["human_filter"]: row["score"] for row in finding.numbers["scores"] if row["official"]}
    assert found == pytest.approx(official, abs=1e-9)
    assert cli.main([*command, "--score", "good"]) == 1
    assert "give a score as printed" in capsys.readouterr().err
    assert cli.main([*command, "--split", str(golden.split_file)]) == 2
    assert "not a two-stage split" in capsys.readouterr().err


def test_evaluate_compares_agents(golden, store, tmp_path, capsys):
    out = tmp_path / "results.csv"
    arguments = ["evaluate", "--store", str(store), "--out", str(out)]
    assert cli.main([*arguments, "--agents", "human", "constant-velocity", "stationary"]) == 0
    assert "means over 90 frames" in capsys.readouterr().out
    with open(out, newline="") as stream:
        found = {row["agent"]: row for row in csv.DictReader(stream)}
    assert list(found) == ["human", "constant-velocity", "stationary"]
    for agent, name in (("human", "human"), ("constant-velocity", "constant_velocity")):
        for version, column, read in (
            ("v1", "pdms-v1.1/score", lambda row: row["v1"]["score"]),
            ("v2", "epdms-v2.2/score", lambda row: row["filtered"]["epdms"]),
        ):
            official = [read(row) for row in golden.scores(version) if row["agent"] == name]
            assert float(found[agent][column]) == pytest.approx(np.mean(official), abs=1e-9) and len(official) == 90
    summary = json.loads(out.with_suffix(".json").read_text())
    assert [row["frames"] for row in summary["agents"]] == [90] * 3
    assert out.with_suffix(".md").read_text().count("\n") == 5


def test_evaluate_takes_a_submission_or_agents(store, tmp_path, capsys):
    arguments = ["--store", str(store), "--out", str(tmp_path / "x.csv")]
    for wrong in ([], ["s.pkl", "--agents", "human"]):
        assert cli.main(["evaluate", *wrong, *arguments]) == 2
        assert "or --agents" in capsys.readouterr().err
    assert cli.main(["evaluate", "--agents", "human", "--metric", "pdms-v1.1", *arguments]) == 2
    assert "belong to submissions" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


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


def synthetic_scene(frames):
    """A second-stage pickle made of the recorded frames themselves, under tokens of their own."""

    now = frames[3]
    return {
        "scene_metadata": {
            "log_name": now.log_name,
            "scene_token": now.scene_token,
            "map_name": now.map_location,
            "initial_token": f"{now.token}s",
            "num_history_frames": 4,
            "num_future_frames": 8,
            "corresponding_original_scene": now.token,
            "corresponding_original_initial_token": now.token,
        },
        "frames": [synthetic_frame(frame) | {"token": f"{frame.token}s"} for frame in frames],
        "extended_traffic_light_data": None,
        "extended_detections_tracks": None,
    }


def test_both_stages(golden, tmp_path, capsys):
    log = read_log(sorted((golden.dataset / "navsim_logs" / "test").glob("*.pkl"))[0])
    folder = tmp_path / "synthetic_scene_pickles"
    folder.mkdir()
    for start in (6, 7):
        frames = log.frames[start : start + 12]
        (folder / f"{frames[3].token}s.pkl").write_bytes(pickle.dumps(synthetic_scene(frames)))
    before, now = log.frames[9].token, log.frames[10].token
    chosen = SceneFilter(num_future_frames=8, frame_interval=1, log_names=(log.name,), tokens=(before, now))
    groups = ((now, before, ((f"{now}s", f"{before}s"),)),)
    split = write_split(tmp_path / "config", Split("two_stage", "test", chosen, groups))
    store, out = tmp_path / "store", tmp_path / "scores.csv"
    arguments = ["prepare", "--data", str(golden.dataset), "--split", str(split), "--store", str(store)]
    assert cli.main([*arguments, "--synthetic", str(folder), "--executor", "serial"]) == 0
    assert set(SceneStore(store)) == {before, now, f"{before}s", f"{now}s"}

    plans, _ = trajectories(golden, 0)
    first = {token: plans[token] for token in (before, now)}
    write_submission(
        tmp_path / "s.pkl", first, version="v2.2", second_stage={f"{token}s": plan for token, plan in first.items()}
    )
    arguments = ["evaluate", str(tmp_path / "s.pkl"), "--store", str(store), "--split", str(split), "--out", str(out)]
    assert cli.main([*arguments, "--explain-score"]) == 0
    found = rows(out)
    one, two = found[now], found[f"{now}s"]
    name = "two_frame_extended_comfort_stage_one"
    assert one[name] == found[before][name] == found["extended_pdm_score_stage_one"][name] != ""
    for name in ("drivable_area_compliance", "driving_direction_compliance", "two_frame_extended_comfort"):
        assert two[f"{name}_stage_two"] == one[f"{name}_stage_one"]
    assert two[f"{name}_stage_one"] == one[f"{name}_stage_two"] == ""
    scores = {token: float(row["score"]) for token, row in found.items()}
    combined = (scores[now] * scores[f"{now}s"] + scores[before] * scores[f"{before}s"]) / 2
    assert scores["extended_pdm_score_combined"] == pytest.approx(combined)
    printed = capsys.readouterr().out
    assert f"combined {combined:.4f} of 1 groups" in printed and "most costly frame" in printed
    assert (tmp_path / "scores_groups.csv").is_file() and (tmp_path / "scores_group.png").is_file()
    assert json.loads(out.with_suffix(".json").read_text())["traffic"] == "reactive"

    write_submission(tmp_path / "s.pkl", first, version="v2.2", second_stage={f"{now}s": first[now]})
    assert cli.main(arguments) == 1
    assert f"1 of 2 tokens have no plan ({before}s)" in capsys.readouterr().err
    assert cli.main([*arguments, "--partial"]) == 1
    assert "no group is complete" in capsys.readouterr().err
    assert cli.main([*arguments[:4], "--out", str(out)]) == 0
    assert "2 of 2 tokens" in capsys.readouterr().out  # one stage leaves synthetic frames aside
