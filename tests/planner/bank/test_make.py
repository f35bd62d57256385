from __future__ import annotations

import fcntl
import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from world4scorer.datasets.store import SceneStore, write_shard
from world4scorer.engine.outcomes import label
from world4scorer.jobs.executors import ProcessExecutor, SerialExecutor
from world4scorer.planner.bank import BankConfig, BankError, CandidateBank, make_bank
from world4scorer.planner.bank.candidate_bank import PARTS
from world4scorer.planner.bank.choice import is_unsafe
from world4scorer.planner.bank.make import LOCK, check_bank

CONFIG = BankConfig(seed=5, proposals=80)


def content(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if not path.name.startswith(".")}


def test_labels_are_those_of_the_candidates(pack: CandidateBank, store: Path) -> None:
    scenes = SceneStore(store)
    assert list(pack.tokens) == scenes.tokens
    for token, row in pack.rows.items():
        valid = pack.mask[row]
        if scenes[token].human_future is None:
            assert not valid.any() and not pack.candidates[row].any()
            continue
        assert valid.sum() > 30 and (np.diff(valid.astype(int)) <= 0).all()
        expected = label(scenes[token], pack.candidates[row, valid]).table
        np.testing.assert_array_equal(pack.subscores[row, valid], expected.astype(np.float32))
        assert is_unsafe(pack.subscores[row, valid]).sum() >= 8
        assert (pack.family is not None) and (pack.family[row, valid] >= 0).all()
        assert (pack.family[row, ~valid] == -1).all()


def test_notes_tell_how_it_was_made(pack: CandidateBank) -> None:
    assert pack.notes["config"] == CONFIG.as_dict()
    assert pack.notes["source"] == {"kind": "perturbed"} and pack.notes["scenes"] == 9
    assert "/" not in json.dumps(pack.notes)


def test_processes_give_the_same_bytes(packed: Path, store: Path, tmp_path: Path) -> None:
    make_bank(store, tmp_path, CONFIG, ProcessExecutor(2))
    assert content(tmp_path) == content(packed)


def test_scenes_that_changed_make_a_bank_stale(packed: Path, store: Path, tmp_path: Path) -> None:
    bank = Path(shutil.copytree(packed, tmp_path / "bank"))
    other = Path(shutil.copytree(store, tmp_path / store.name))
    check_bank(bank, SceneStore(other))
    scenes = SceneStore(other)
    first = list(scenes.scenes(scenes.logs[0]))
    write_shard(other, scenes.logs[0], [replace(first[0], ego_state=first[0].ego_state + 1e-9), *first[1:]])
    for refused in (
        lambda: check_bank(bank, SceneStore(other)),
        lambda: make_bank(other, bank, CONFIG, SerialExecutor()),
    ):
        with pytest.raises(
            BankError, match=r"bank: made from other scenes than there are now; .* `w4s bank make` again"
        ):
            refused()
    make_bank(store, bank, CONFIG, SerialExecutor())  # as it was


class Killed(BaseException):
    """Ends a run as a signal would: nothing catches it."""


class Interrupted:
    """Does some tasks, last ones first, and dies."""

    workers = 1

    def __init__(self, tasks: int) -> None:
        self.tasks = tasks

    def run(self, function: Any, tasks: Any) -> Any:
        for task in list(tasks)[::-1][: self.tasks]:
            function(task)
        raise Killed


def test_going_on_after_an_interruption(packed: Path, store: Path, tmp_path: Path) -> None:
    with pytest.raises(Killed):
        make_bank(store, tmp_path, CONFIG, Interrupted(2))
    with pytest.raises(BankError, match="not finished"):
        CandidateBank.open(tmp_path)
    (tmp_path / PARTS / ".alpha.npz.0.tmp").write_bytes(b"half")
    with pytest.raises(BankError, match="other settings"):
        make_bank(store, tmp_path, BankConfig(seed=6), SerialExecutor())
    report = make_bank(store, tmp_path, CONFIG, SerialExecutor())
    assert (report.logs, report.kept) == (1, 2)
    assert content(tmp_path) == content(packed) and not (tmp_path / PARTS).exists()


def test_killed_while_parts_are_removed(packed: Path, store: Path, tmp_path: Path) -> None:
    with pytest.raises(Killed):
        make_bank(store, tmp_path, BankConfig(seed=6), Interrupted(2))
    (tmp_path / PARTS / "settings.json").unlink()
    make_bank(store, tmp_path, CONFIG, SerialExecutor())
    assert content(tmp_path) == content(packed)


def test_a_finished_pack_is_left_alone(packed: Path, store: Path) -> None:
    before = content(packed)
    report = make_bank(store, packed, CONFIG, SerialExecutor())
    assert report.logs == 0 and "earlier run" in str(report)
    with pytest.raises(BankError, match="holds another bank"):
        make_bank(store, packed, BankConfig(seed=6), SerialExecutor())
    assert content(packed) == before


def test_one_run_per_folder(store: Path, tmp_path: Path) -> None:
    with open(tmp_path / LOCK, "wb") as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        with pytest.raises(BankError, match="another run"):
            make_bank(store, tmp_path, CONFIG, SerialExecutor())


def test_failed_logs_are_named(store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from world4scorer.planner.bank import make

    original = make.build_scene_bank

    def fail(scene: Any, *rest: Any) -> Any:
        if scene.token.startswith("beta"):
            raise ValueError("no good")
        return original(scene, *rest)

    monkeypatch.setattr(make, "build_scene_bank", fail)
    with pytest.raises(BankError, match=r"1 of 3 logs failed[^$]*beta: ValueError: no good"):
        make_bank(store, tmp_path, CONFIG, SerialExecutor())
    monkeypatch.undo()
    assert make_bank(store, tmp_path, CONFIG, SerialExecutor()).kept == 2
