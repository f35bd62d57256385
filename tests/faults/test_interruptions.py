"""A small sample of what `python benchmarks/faults.py` does for hours."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from unittest.mock import patch

import pytest

from tests.faults.attack import in_child
from tests.faults.injection import Fault, Injection, injected
from tests.faults.interruptions import (
    ALL_WORK,
    clocks,
    commands,
    disk_faults,
    every_step,
    expected,
    inputs,
    kills,
    two_processes,
)
from tests.faults.work import WORK
from tests.faults.worker_kills import worker_kills
from world4scorer.jobs.resumable import LOCK, resumable


@pytest.mark.parametrize(
    ("name", "fault"), [("settings", Fault.TORN), ("settings", Fault.ENOSPC), ("demo", Fault.TORN)]
)
def test_every_step_of_writing(name: str, fault: Fault, tmp_path: Path) -> None:
    found = every_step(name, fault, tmp_path / "out")
    assert found.cases > 20 and found.failures == ()


@pytest.mark.parametrize("attack", [kills, disk_faults, clocks, two_processes])
def test_a_sample(attack, tmp_path: Path) -> None:
    found = attack(1, tmp_path)
    assert found.cases and found.failures == ()


@pytest.mark.faults
@pytest.mark.parametrize("fault", Fault)
@pytest.mark.parametrize("name", WORK)
def test_every_step_of_all_work(name: str, fault: Fault, tmp_path: Path) -> None:
    assert every_step(name, fault, tmp_path / "out").failures == ()


def test_a_checkpoint_on_a_full_disk_is_named(tmp_path: Path) -> None:
    """PyTorch makes a RuntimeError of it, without the file."""
    torch = pytest.importorskip("torch")
    from world4scorer.jobs.tensor_files import write_checkpoint

    for step in (2, 3):
        with injected(Injection(tmp_path, Fault.ENOSPC, step)), pytest.raises(OSError, match=r"last\.ckpt"):
            write_checkpoint({"weight": torch.zeros(100_000)}, tmp_path / "last.ckpt")
    assert not list(tmp_path.iterdir())


def test_weights_on_a_full_disk_are_named(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    from world4scorer.jobs.tensor_files import write_tensors

    with injected(Injection(tmp_path, Fault.ENOSPC, 2)), pytest.raises(OSError, match=r"model\.safetensors"):
        write_tensors({"weight": torch.zeros(10)}, tmp_path / "model.safetensors")
    assert not list(tmp_path.iterdir())


def test_weights_that_were_not_finished_are_swept(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    from world4scorer.jobs.tensor_files import write_tensors

    def killed_before_the_file_gets_its_name() -> None:
        with patch.object(os, "replace", lambda *paths: os.kill(os.getpid(), signal.SIGKILL)):
            write_tensors({"weight": torch.zeros(10)}, tmp_path / "model.safetensors")

    assert in_child(killed_before_the_file_gets_its_name).killed
    assert list(tmp_path.iterdir())
    with resumable(tmp_path, "training there"):
        pass
    assert [path.name for path in tmp_path.iterdir()] == [LOCK]


@pytest.mark.faults
def test_slow_commands(sumo: None, tmp_path: Path) -> None:
    from tests.faults.command_work import COMMANDS

    failures = [failure for seed in range(len(COMMANDS)) for failure in commands(seed, tmp_path / str(seed)).failures]
    assert failures == []


def test_what_is_lost_would_be_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Work that writes its files in place is not resumed to the same bytes."""

    def in_place(inputs: Path, out: Path) -> None:
        out.mkdir(exist_ok=True)
        for name in ("a", "b"):
            if not (out / name).is_file():
                (out / name).write_bytes(bytes(5000))

    monkeypatch.setitem(ALL_WORK, "in place", in_place)
    found = every_step("in place", Fault.TORN, tmp_path / "out")
    assert any('"other": ["a"]' in failure for failure in found.failures)


def test_children_that_hang_or_crash_are_told() -> None:
    import time

    assert in_child(lambda: time.sleep(5), timeout=0.1).died.startswith("hang")
    assert in_child(lambda: os._exit(3)).died == "exit code 3"
    assert in_child(os.abort).died == "SIGABRT"
    assert in_child(lambda: {}["x"]).error.startswith("unexpected")
    assert in_child(lambda: [1]).value == [1]
    assert inputs().is_dir() and expected("settings")[0]


def test_processes_that_are_killed(tmp_path: Path) -> None:
    assert worker_kills(1, tmp_path, cases=3).failures == ()
