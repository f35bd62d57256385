"""A store that processes with homes of their own, as on machines of their own, fill together."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.support.processes import WITH_TESTS
from tests.support.worker_tasks import MadeUpSource
from world4scorer.datasets.prepare.fill_store import prepare
from world4scorer.datasets.store import SceneStore, StoreError
from world4scorer.jobs import shared_folder as module
from world4scorer.jobs.executors import SerialExecutor

LOGS = 8
SCRIPT = """
from tests.support.worker_tasks import MadeUpSource
from world4scorer.datasets.prepare.fill_store import prepare
from world4scorer.jobs.executors import SerialExecutor

report = prepare(
    MadeUpSource({logs}, slow={slow}, journal="{journal}"),
    "{store}",
    SerialExecutor(),
    shared=True,
    show_progress=False,
)
print(report.logs, report.kept)
"""


def start(folder: Path, name: str, slow: float = 0.3) -> subprocess.Popen[str]:
    """A process that fills the store of a folder, and writes down which logs it begins."""
    home = folder / name
    home.mkdir()
    script = SCRIPT.format(logs=LOGS, slow=slow, journal=home / "journal", store=folder / "store")
    words = [sys.executable, "-c", script]
    return subprocess.Popen(words, env={**WITH_TESTS, "HOME": str(home)}, stdout=subprocess.PIPE, text=True)


def begun(folder: Path, name: str) -> list[str]:
    journal = folder / name / "journal"
    return journal.read_text().split() if journal.is_file() else []


def wait_until_begun(folder: Path, name: str) -> None:
    until = time.monotonic() + 60
    while not begun(folder, name):
        assert time.monotonic() < until, f"{name} began nothing"
        time.sleep(0.02)


def files(store: Path) -> dict[str, bytes]:
    """All but the index, which has the times of the others."""
    return {path.name: path.read_bytes() for path in store.iterdir() if path.name != "index"}


@pytest.fixture
def alone(tmp_path: Path) -> dict[str, bytes]:
    prepare(MadeUpSource(LOGS), tmp_path / "alone", SerialExecutor(), show_progress=False)
    return files(tmp_path / "alone")


def test_each_log_is_prepared_by_one_of_them(tmp_path: Path, alone: dict[str, bytes]) -> None:
    both = [start(tmp_path, name) for name in ("first", "second")]
    answers = [process.communicate(timeout=120)[0] for process in both]
    assert [process.returncode for process in both] == [0, 0]
    made = [int(answer.split()[0]) for answer in answers]
    assert sum(made) == LOGS and min(made) > 0
    assert [sum(map(int, answer.split())) for answer in answers] == [LOGS, LOGS]
    assert sorted(begun(tmp_path, "first") + begun(tmp_path, "second")) == [f"log{number}" for number in range(LOGS)]
    assert files(tmp_path / "store") == alone
    assert len(SceneStore(tmp_path / "store")) == 2 * LOGS


def test_a_lost_one_costs_no_log(tmp_path: Path, alone: dict[str, bytes]) -> None:
    lost = start(tmp_path, "lost", slow=600.0)
    wait_until_begun(tmp_path, "lost")
    other = start(tmp_path, "other", slow=0.0)
    wait_until_begun(tmp_path, "other")
    lost.kill()
    lost.communicate(timeout=60)
    assert other.communicate(timeout=120)[0].split() == [str(LOGS), "0"] and other.returncode == 0
    assert begun(tmp_path, "lost") == ["log0"] and begun(tmp_path, "other")[-1] == "log0"
    assert files(tmp_path / "store") == alone


def test_sharing_and_not_sharing_exclude_each_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = tmp_path / "store"
    other = start(tmp_path, "other", slow=600.0)
    try:
        wait_until_begun(tmp_path, "other")
        with pytest.raises(StoreError, match="another run is preparing this store"):
            prepare(MadeUpSource(LOGS), store, SerialExecutor(), show_progress=False)
    finally:
        other.kill()
        other.communicate(timeout=60)
    monkeypatch.setattr(module, "GATE_SECONDS", 0.1)
    with (
        module.hold_lock(store / ".lock", RuntimeError()),
        pytest.raises(StoreError, match="start all of them as shar"),
    ):
        prepare(MadeUpSource(LOGS), store, SerialExecutor(), shared=True, show_progress=False)
    assert prepare(MadeUpSource(LOGS), store, SerialExecutor(), show_progress=False).logs == LOGS
