"""One line that names the file and says what to do, for what is given in the place of something else or is broken."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from world4scorer import cli
from world4scorer.datasets.navsim.submissions import read_submission, write_submission
from world4scorer.jobs import files
from world4scorer.jobs.files import atomic_write, read_bytes, read_json, read_json_lines, write_json

SUBMISSION, CHECKPOINT = "submission.pkl", "last.ckpt"


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a submission and a checkpoint, to be in."""
    torch = pytest.importorskip("torch")
    from world4scorer.jobs.tensor_files import write_checkpoint

    write_submission(tmp_path / SUBMISSION, {"a" * 16: np.zeros((8, 3))}, version="v1.1")
    write_checkpoint({"state_dict": {"weight": torch.zeros(2)}}, tmp_path / CHECKPOINT)
    (tmp_path / "store").mkdir()
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (f"pools {SUBMISSION} --store store --out out", "a submission, which has one plan per scene and no pools"),
        (f"study reranking {SUBMISSION}", f"no pools; score it: w4s evaluate {SUBMISSION} --store STORE --out OUT"),
        (f"submit {SUBMISSION} --out x.pkl", "a submission, which has one plan per scene and no pools"),
        (f"study reranking {CHECKPOINT}", f"make some: w4s pools {CHECKPOINT} --data DATA --split SPLIT --out POOLS"),
        (f"evaluate {SUBMISSION}", "a submission needs --store and --out"),
        (f"evaluate {CHECKPOINT} --store store --out out", "a planner needs --data, --split and --out"),
        (f"serve --checkpoint {SUBMISSION}", f"{SUBMISSION} is not the folder of a planner"),
        (f"serve --checkpoint {CHECKPOINT}", f"{CHECKPOINT} is not the folder of a planner"),
        (f"report {SUBMISSION}", "a folder is needed there"),
        ("bank make --store nowhere --out out", "nowhere"),
        ("targets --data store --split navtest --encoder citty --out x.arrow", "citty"),
    ],
)
def test_one_thing_in_the_place_of_another(
    here: Path, capsys: pytest.CaptureFixture[str], line: str, said: str
) -> None:
    assert cli.main(line.split()) in (1, 2)
    (answer,) = capsys.readouterr().err.splitlines()
    assert said in answer
    assert not (here / "out").exists()


@pytest.mark.parametrize(("missing", "extra"), [("libsumo", "city"), ("torch", "train")])
def test_drives_without_what_they_need(
    here: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, missing: str, extra: str
) -> None:
    monkeypatch.setattr("world4scorer.cli.exit_codes.find_spec", lambda name: None if name == missing else True)
    monkeypatch.setitem(sys.modules, missing, None)
    checkpoint = ["--checkpoint", "planner"] if missing == "torch" else ["--drivers", "constant-velocity"]
    assert cli.main(["drive", "--data", "store", *checkpoint, "--out", "out"]) == 1
    (answer,) = capsys.readouterr().err.splitlines()
    assert f"pip install 'world4scorer[{extra}]'" in answer and not (here / "out").exists()


def test_a_refused_drive_leaves_nothing_behind(city: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["drive", "--data", str(city), "--drivers", "constant-velocity", "--out", str(tmp_path / "out")]
    assert cli.main([*words, "--split", "city_mars"]) == 1
    assert "no simulation of the split 'city_mars'; there are city_train, city_val" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_a_refused_training_leaves_nothing_behind(training_set: Any, tmp_path: Path) -> None:
    from tests.support.small_training import MACHINE, SMALL
    from world4scorer.planner.training.run import train

    many = replace(SMALL, model=replace(SMALL.model, anchors=True, proposals=80))
    with pytest.raises(ValueError, match="anchors: 67 trajectories are too few for 80 manoeuvres"):
        train(many, training_set.data, tmp_path / "out", MACHINE)
    assert not (tmp_path / "out").exists()


READERS: dict[str, Callable[[Path], Any]] = {
    "config.json": read_json,
    "history.jsonl": lambda path: read_json_lines(path, "delete it"),
    "submission.pkl": read_submission,
    "bytes": read_bytes,
}


@pytest.mark.parametrize("name", READERS)
def test_a_disk_that_cannot_read_is_named(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / name
    path.write_bytes(b"{}\n")

    def broken(path: Path) -> bytes:
        raise OSError(errno.EIO, os.strerror(errno.EIO))  # as after opening: without a file

    monkeypatch.setattr(Path, "read_bytes", broken)
    with pytest.raises((ValueError, OSError), match=name):
        READERS[name](path)


@pytest.mark.parametrize("name", ["config.json", "history.jsonl"])
def test_what_is_no_text_is_named(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(b'{"a": "\xff\xfe"}\n')
    with pytest.raises(ValueError, match=name):
        READERS[name](tmp_path / name)


def test_a_full_disk_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(handle: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(files.os, "fsync", full)
    with pytest.raises(OSError, match=r"settings\.json"):
        write_json(tmp_path / "settings.json", {"a": 1})
    with pytest.raises(OSError, match="table"), atomic_write(tmp_path / "table") as stream:
        stream.write(b"a")
    assert not list(tmp_path.iterdir())
