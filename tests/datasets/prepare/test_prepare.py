from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections import namedtuple
from pathlib import Path

import pytest

from tests.support.processes import WITH_TESTS
from tests.support.worker_tasks import MadeUpSource
from world4scorer.datasets.prepare.fill_store import PrepareError, prepare
from world4scorer.datasets.store import SceneStore, StoreError
from world4scorer.jobs.executors import ProcessExecutor, SerialExecutor


def test_prepares_every_log_and_says_what_it_did(tmp_path: Path) -> None:
    report = prepare(
        MadeUpSource(), tmp_path, ProcessExecutor(2), provenance={"source": "made up"}, show_progress=False
    )
    assert (report.logs, report.kept, report.scenes) == (4, 0, 8)
    assert report.skipped == {"no route": 12}
    assert report.peak_memory > 1_000_000
    assert "8 scenes of 4 logs" in str(report) and "left out: 12 (no route)" in str(report)
    store = SceneStore(tmp_path)
    assert store.bytes == report.bytes and len(store) == 8
    assert store.provenance("log0")["source"] == "made up"
    assert store.provenance("log0")["options"] == {"option": "a"}


def test_finished_logs_are_kept(tmp_path: Path) -> None:
    prepare(MadeUpSource(logs=2), tmp_path / "store", SerialExecutor(), show_progress=False)
    journal = tmp_path / "journal"
    source = MadeUpSource(logs=4, journal=str(journal))
    report = prepare(source, tmp_path / "store", SerialExecutor(), show_progress=False)
    assert (report.logs, report.kept) == (2, 2)
    assert journal.read_text().split() == ["log2", "log3"]
    again = prepare(source, tmp_path / "store", SerialExecutor(), show_progress=False)
    assert (again.logs, again.kept, again.scenes) == (0, 4, 0)


def test_other_options_are_refused(tmp_path: Path) -> None:
    prepare(MadeUpSource(), tmp_path, SerialExecutor(), show_progress=False)
    with pytest.raises(StoreError, match=r'log0\.arrow: made with other settings \(option: "a", now "b"\)'):
        prepare(MadeUpSource(option="b"), tmp_path, SerialExecutor(), show_progress=False)


def test_failed_log_is_named_and_the_others_go_on(tmp_path: Path) -> None:
    with pytest.raises(PrepareError, match="log1: ValueError: the map has no lanes") as caught:
        prepare(MadeUpSource(broken="log1"), tmp_path, SerialExecutor(), show_progress=False)
    assert "1 of 4 logs failed" in str(caught.value)
    assert SceneStore(tmp_path).logs == ["log0", "log2", "log3"]
    assert prepare(MadeUpSource(), tmp_path, SerialExecutor(), show_progress=False).logs == 1


def test_nothing_prepared_is_an_error_with_reasons(tmp_path: Path) -> None:
    with pytest.raises(PrepareError, match=r"no scene was prepared from 4 logs \(12 left out: no route\)"):
        prepare(MadeUpSource(empty=True), tmp_path, SerialExecutor(), show_progress=False)
    with pytest.raises(PrepareError, match="check the split"):
        prepare(MadeUpSource(logs=0), tmp_path, SerialExecutor(), show_progress=False)


def test_full_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage(10**12, 0, 200_000_000))
    prepare(MadeUpSource(), tmp_path / "a", SerialExecutor(), show_progress=False)
    with pytest.raises(StoreError, match=r"200\.0 MB free on this disk, about 15\.1 GB needed"):
        prepare(MadeUpSource(), tmp_path / "b", SerialExecutor(), expected_scenes=100_000, show_progress=False)


def test_two_runs_at_once_are_refused(tmp_path: Path) -> None:
    class Nested(MadeUpSource):
        def log_names(self) -> list[str]:
            return ["log0"]

        def scenes(self, log_name: str):
            prepare(MadeUpSource(), tmp_path, SerialExecutor(), show_progress=False)

    with pytest.raises(PrepareError, match="another run is preparing this store"):
        prepare(Nested(), tmp_path, SerialExecutor(), show_progress=False)


SCRIPT = """
from tests.support.worker_tasks import MadeUpSource
from world4scorer.jobs.executors import ProcessExecutor
from world4scorer.datasets.prepare.fill_store import prepare
if __name__ == "__main__":
    print(prepare(MadeUpSource(logs=10, slow=0.1), {store!r}, ProcessExecutor(2), show_progress=False))
"""


@pytest.mark.skipif(sys.platform == "win32", reason="needs SIGKILL")
def test_killed_at_any_time_and_run_again(tmp_path: Path) -> None:
    store = tmp_path / "store"
    script = tmp_path / "script.py"
    script.write_text(SCRIPT.format(store=str(store)))
    process = subprocess.Popen([sys.executable, str(script)], start_new_session=True, env=WITH_TESTS)
    deadline = time.monotonic() + 60
    while len(list(store.glob("*.arrow"))) < 3 and time.monotonic() < deadline:
        time.sleep(0.02)
    process.send_signal(signal.SIGKILL)
    process.wait()
    before = {path.name: path.stat().st_mtime_ns for path in store.glob("*.arrow")}
    assert 3 <= len(before) < 10
    SceneStore(store).verify()
    (store / ".log9.arrow.0123abcd.tmp").write_bytes(b"half")
    again = subprocess.run([sys.executable, str(script)], env=WITH_TESTS, capture_output=True, text=True, timeout=60)
    assert again.returncode == 0, again.stderr
    finished = SceneStore(store)
    finished.verify()
    assert len(finished) == 20
    assert all((store / name).stat().st_mtime_ns == changed for name, changed in before.items())
    assert not list(store.glob("*.tmp")) and not list(store.glob(".*.tmp"))
    assert not _alive(process.pid)


def _alive(session: int) -> list[int]:
    """Processes of the killed run's session that are still there after a moment."""
    for _ in range(100):
        found = []
        for entry in Path("/proc").glob("[0-9]*"):
            try:
                status = (entry / "stat").read_text().rsplit(")", 1)[1].split()
            except OSError:
                continue
            if int(status[3]) == session and status[0] != "Z" and int(entry.name) != os.getpid():
                found.append(int(entry.name))
        if not found:
            return []
        time.sleep(0.1)
    return found
