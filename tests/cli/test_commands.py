"""The commands as a user runs them."""

from __future__ import annotations

import shutil
import subprocess
import sys

import numpy as np
import pytest

from world4scorer import cli
from world4scorer.engine.outcomes import get_threads, set_threads


@pytest.fixture(autouse=True)
def same_threads():
    before = get_threads()
    yield
    set_threads(before)


def read(path):
    with np.load(path, allow_pickle=False) as archive:
        return {name: archive[name] for name in archive.files}


@pytest.mark.parametrize("threads", ["1", "2"])
def test_score(tmp_path, compact_folder, capsys, threads):
    out = tmp_path / "out"
    assert cli.main(["score", str(compact_folder), "--out", str(out), "--threads", threads]) == 0
    assert {path.name for path in out.iterdir()} == {path.name for path in compact_folder.glob("*.npz")}
    golden, scored = read(compact_folder / "pub_log4_cross.npz"), read(out / "pub_log4_cross.npz")
    for name in [
        "v1_train",
        "v1_eval",
        "v2_raw",
        "v2_filtered",
        "v2_human",
        "ec_const",
        "epdms_const_filtered",
        "rerank_sel",
    ]:
        np.testing.assert_allclose(scored[name], golden[name], atol=1e-9, err_msg=name)
    printed = capsys.readouterr().out
    for text in ("labels-v1", "pdms-v1.1", "epdms-v2.2", "epdms-pre151", "12 files", "pub_s34_lot"):
        assert text in printed


@pytest.mark.parametrize(
    ("metric", "present", "absent"),
    [
        ("labels-v1", {"v1_train", "sim_states", "progress_raw"}, {"v1_eval", "v2_raw"}),
        ("pdms-v1.1", {"v1_eval", "sim_states"}, {"v1_train", "v2_raw"}),
        (
            "epdms-v2.2",
            {"v2_raw", "v2_filtered", "v2_human", "rerank_sel", "epdms_const_filtered"},
            {"v1_train", "v2_pre151"},
        ),
        ("epdms-pre151", {"v2_raw", "v2_pre151", "epdms_const_pre151"}, {"v2_filtered", "rerank_sel"}),
    ],
)
def test_score_one_metric(tmp_path, compact_folder, metric, present, absent):
    source = compact_folder / "pub_log3_scurve.npz"
    assert cli.main(["score", str(source), "--metric", metric, "--out", str(tmp_path)]) == 0
    fields = set(read(tmp_path / source.name))
    assert present <= fields and not absent & fields


def test_a_bad_file_is_named_and_the_others_are_done(tmp_path, compact_folder, capsys):
    folder = tmp_path / "in"
    folder.mkdir()
    shutil.copy(compact_folder / "pub_s34_lot.npz", folder / "good.npz")
    (folder / "bad.npz").write_bytes(b"nothing")
    assert cli.main(["score", str(folder), "--out", str(tmp_path / "out")]) == 1
    printed = capsys.readouterr()
    assert "bad.npz: not a readable exchange file" in printed.err and "1 of 2 files" in printed.err
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["good.npz"]


def test_mistakes(tmp_path, compact_folder, capsys):
    source = compact_folder / "pub_s34_lot.npz"
    assert cli.main(["score", "--out", str(tmp_path)]) == 2
    assert cli.main(["score", str(tmp_path / "none"), "--out", str(tmp_path)]) == 1
    assert cli.main(["score", str(tmp_path), "--out", str(tmp_path)]) == 1
    assert cli.main(["score", str(source), "--out", str(compact_folder)]) == 1
    assert cli.main(["rerank", str(source), "--out", str(compact_folder)]) == 1
    other = tmp_path / "other"
    other.mkdir()
    shutil.copy(source, other)
    assert cli.main(["score", str(source), str(other), "--out", str(tmp_path / "out")]) == 1
    assert cli.main(["score", str(source), "--out", str(tmp_path / "out"), "--threads", "0"]) == 1
    said = capsys.readouterr().err
    for text in (
        "no exchange files given",
        "no such file or folder",
        "holds no .npz file",
        "overwrite its own input",
        "written to the same result",
        "at least one is needed",
    ):
        assert text in said
    assert cli.main(["score", str(source), "--metric", "pdms"]) == 2


def test_rerank(tmp_path, compact_folder, capsys):
    source = compact_folder / "pub_log4_cross.npz"
    assert cli.main(["rerank", str(source), "--out", str(tmp_path)]) == 0
    golden, chosen = read(source), read(tmp_path / source.name)
    np.testing.assert_array_equal(chosen["rerank_sel"], golden["rerank_sel"][3])
    np.testing.assert_array_equal(chosen["framewise_sel"], golden["rerank_sel"][0])
    np.testing.assert_allclose(chosen["rerank_epdms_filtered"], golden["rerank_epdms_filtered"][3], atol=1e-9)
    assert "inertial re-ranking, weight 1" in capsys.readouterr().out


def test_rerank_without_utilities(tmp_path, compact_folder, capsys):
    fields = read(compact_folder / "pub_log4_cross.npz")
    del fields["utilities"]
    np.savez(tmp_path / "x.npz", **fields)
    assert cli.main(["rerank", str(tmp_path / "x.npz"), "--out", str(tmp_path / "out")]) == 1
    assert "x.npz: utilities of" in capsys.readouterr().err


def test_doctor(capsys):
    assert cli.main(["doctor"]) == 0
    printed = capsys.readouterr().out
    assert "BAD" not in printed and "sim_states" in printed and "kernel cache" in printed


def test_doctor_notices_wrong_numbers(monkeypatch, capsys):
    from world4scorer.evaluation.scores import exchange_files

    right = exchange_files.score_frames

    def wrong(frames, metric):
        fields = right(frames, metric)
        fields["sim_states"] = fields["sim_states"] + 1e-6
        return fields

    monkeypatch.setattr(exchange_files, "score_frames", wrong)
    assert cli.main(["doctor"]) == 1
    assert "BAD  sim_states" in capsys.readouterr().out


def test_module_runs_as_a_program():
    done = subprocess.run([sys.executable, "-m", "world4scorer", "--help"], capture_output=True, text=True, check=True)
    assert "score" in done.stdout and "doctor" in done.stdout
