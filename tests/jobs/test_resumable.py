from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
from filelock import FileLock

from tests.support.processes import WITH_TESTS
from world4scorer.jobs.executors import ProcessExecutor, SerialExecutor
from world4scorer.jobs.files import hold_lock, read_json, write_json
from world4scorer.jobs.resumable import LISTED_FAILURES, Settings, resumable, run_tasks, withdrawn_if_refused


class WorkError(ValueError):
    pass


def halve(number: int) -> int:
    if number % 2:
        raise ValueError(f"{number} is odd")
    return number // 2


def settings(folder: Path, **content: object) -> Settings:
    return Settings(folder / "settings.json", {"seed": 3, "sizes": {"width": 8}, **content}, ignored=("version",))


def files(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


WORK = """
import sys, time
from pathlib import Path
from world4scorer.jobs.executors import SerialExecutor
from world4scorer.jobs.files import atomic_write
from world4scorer.jobs.resumable import Settings, resumable

folder = Path(sys.argv[1])

def write(number):
    with atomic_write(folder / f"{number}.txt") as stream:
        stream.write(b"half")
        stream.flush()
        time.sleep(float(sys.argv[2]))
        stream.write(b"whole")

with resumable(folder, "counting", ValueError, Settings(folder / "settings.json", {"seed": 3})) as job:
    done = job.run_missing(
        SerialExecutor(), write, range(6), "count", "numbers", is_done=lambda n: (folder / f"{n}.txt").is_file()
    )
print(len(done))
"""


def started(folder: Path, seconds: float) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", WORK, str(folder), str(seconds)]
    return subprocess.Popen(command, env=WITH_TESTS, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def wait_until(reached: object) -> None:
    deadline = time.monotonic() + 60
    while not reached() and time.monotonic() < deadline:  # type: ignore[operator]
        time.sleep(0.01)
    assert reached()  # type: ignore[operator]


@contextmanager
def held_elsewhere(folder: Path) -> Iterator[subprocess.Popen[str]]:
    process = started(folder, 60)
    try:
        wait_until(lambda: list(folder.glob(".0.txt.*.tmp")))
        yield process
    finally:
        process.kill()
        process.communicate()


@pytest.mark.skipif(sys.platform == "win32", reason="needs SIGKILL")
def test_killed_in_the_middle_and_resumed(tmp_path: Path) -> None:
    process = started(tmp_path, 0.3)
    wait_until(lambda: (tmp_path / "1.txt").exists() and list(tmp_path.glob(".2.txt.*.tmp")))
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert list(tmp_path.glob(".*.tmp"))
    before = {path: path.stat().st_mtime_ns for path in tmp_path.glob("*.txt")}
    assert 2 <= len(before) < 6
    again = started(tmp_path, 0)
    output, errors = again.communicate(timeout=60)
    assert again.returncode == 0, errors
    assert int(output) == 6 - len(before)
    assert {path.read_bytes() for path in tmp_path.glob("*.txt")} == {b"halfwhole"}
    assert all(path.stat().st_mtime_ns == changed for path, changed in before.items())
    assert sorted(files(tmp_path)) == sorted([".lock", "settings.json", *(f"{number}.txt" for number in range(6))])


def test_a_second_process_is_refused_and_changes_nothing(tmp_path: Path) -> None:
    with held_elsewhere(tmp_path):
        before = files(tmp_path)
        with (
            pytest.raises(WorkError, match=f"^{tmp_path}: another run is counting; wait for it, or stop it first$"),
            resumable(tmp_path, "counting", WorkError, Settings(tmp_path / "settings.json", {"seed": 3})),
        ):
            raise AssertionError("entered")
        assert files(tmp_path) == before
    with resumable(tmp_path, "counting", WorkError):  # the lock has gone with the process
        assert not list(tmp_path.glob(".*.tmp"))


def test_the_lock_goes_with_the_block(tmp_path: Path) -> None:
    path = tmp_path / "deep" / ".lock"
    with pytest.raises(KeyError), hold_lock(path, WorkError("held")):
        with pytest.raises(WorkError, match="held"), hold_lock(path, WorkError("held")):
            raise AssertionError("entered")
        raise KeyError
    with hold_lock(path, WorkError("held")):
        pass


def test_child_processes_do_not_keep_the_lock(tmp_path: Path) -> None:
    with hold_lock(tmp_path / ".lock", WorkError("held")):
        child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"], close_fds=False)
    try:
        with hold_lock(tmp_path / ".lock", WorkError("held")):
            pass
    finally:
        child.kill()
        child.wait()


def test_other_settings_are_named(tmp_path: Path) -> None:
    with resumable(tmp_path, "working", WorkError, settings(tmp_path, version="1")):
        pass
    assert read_json(tmp_path / "settings.json") == {"seed": 3, "sizes": {"width": 8}, "version": "1"}
    with resumable(tmp_path, "working", WorkError, settings(tmp_path, version="2")):
        pass
    assert settings(tmp_path).match(WorkError)["version"] == "1"  # kept as it was written
    different = (
        r"settings\.json: made with other settings \(seed: 3, now 4; sizes\.height: null, now \[1\]; sizes\.width: 8, "
    )
    with (
        pytest.raises(WorkError, match=different),
        resumable(tmp_path, "working", WorkError, settings(tmp_path, seed=4, sizes={"height": [1]})),
    ):
        raise AssertionError("entered")
    with pytest.raises(WorkError, match=r"\(rate: null, now 0\.1\)"):
        settings(tmp_path, rate=0.1).match(WorkError)
    write_json(tmp_path / "settings.json", {**settings(tmp_path).content, "newer": True})
    with pytest.raises(WorkError, match=r"\(newer: true, now null\)"):
        settings(tmp_path).match(WorkError)


def test_long_differences_are_shortened(tmp_path: Path) -> None:
    Settings(tmp_path / "a.json", {str(number): "x" * 100 for number in range(9)}).match(WorkError)
    with pytest.raises(WorkError) as caught:
        Settings(tmp_path / "a.json", {str(number): number for number in range(9)}).match(WorkError)
    assert "and 4 more" in str(caught.value) and len(str(caught.value)) < 600 + len(str(tmp_path))


@pytest.mark.parametrize("content", ["", "[1]", "{"])
def test_damaged_settings_are_named(tmp_path: Path, content: str) -> None:
    (tmp_path / "settings.json").write_text(content)
    with pytest.raises(WorkError, match=r"settings\.json: .*delete its folder, or choose another"):
        settings(tmp_path).match(WorkError)


def test_a_refused_start_leaves_nothing_behind(tmp_path: Path) -> None:
    write_json(tmp_path / "b.json", {"seed": 1})
    first, second = Settings(tmp_path / "a.json", {}), Settings(tmp_path / "b.json", {"seed": 2})
    with pytest.raises(WorkError, match="seed: 1, now 2"), resumable(tmp_path, "working", WorkError, first, second):
        raise AssertionError("entered")
    assert [path.name for path in tmp_path.iterdir()] == ["b.json"]


def test_leftovers_are_removed(tmp_path: Path) -> None:
    for name in (".a.npz.0123.tmp", "parts/.b.tmp", "parts/.c.tmp/image.jpg", "parts/d.tmp", "e.npz"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    with resumable(tmp_path, "working", lock="parts/.lock", leftovers=("parts/.*.tmp",)):
        assert sorted(files(tmp_path)) == ["e.npz", "parts/.lock", "parts/d.tmp"]
    with resumable(tmp_path, "working"):
        assert sorted(files(tmp_path)) == [".lock", "e.npz", "parts/.lock", "parts/d.tmp"]


def test_failures_are_reported_together_and_the_others_kept(tmp_path: Path) -> None:
    kept: list[int] = []

    def write(number: int) -> None:
        kept.append(halve(number))

    with (
        resumable(tmp_path, "working", WorkError) as job,
        pytest.raises(WorkError, match=r"(?s)2 of 4 numbers failed; the others are kept, run the.*1 is odd") as caught,
    ):
        job.run_missing(SerialExecutor(), write, [1, 2, 3, 4], "numbers", "numbers")
    assert kept == [1, 2] and "3 is odd" in str(caught.value) and str(caught.value).startswith(f"{tmp_path}: ")


def test_many_failures_are_counted(tmp_path: Path) -> None:
    count = LISTED_FAILURES + 3
    with pytest.raises(WorkError, match=r"and 3 more$"):
        list(run_tasks(SerialExecutor(), halve, range(1, 2 * count, 2), tmp_path, "numbers", WorkError))


def test_bugs_keep_their_traceback(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match=r"(?s)1 of 2 numbers failed.*Traceback.*ZeroDivisionError"):
        list(run_tasks(SerialExecutor(), lambda number: 6 // number, [2, 0], tmp_path, "numbers", WorkError))


def test_stop_at_the_first_failure(tmp_path: Path) -> None:
    seen: list[int] = []
    with pytest.raises(WorkError, match=r"1 of 3 numbers failed:\n  3: ValueError: 3 is odd$"):
        seen.extend(
            result
            for _, result in run_tasks(
                SerialExecutor(), halve, [2, 3, 4], tmp_path, "numbers", WorkError, stop_at_first=True
            )
        )
    assert seen == [1]


def test_failures_are_passed_on_at_once(tmp_path: Path) -> None:
    failed: list[int] = []
    tasks = run_tasks(
        SerialExecutor(),
        halve,
        [3, 4],
        tmp_path,
        "numbers",
        WorkError,
        on_failure=lambda done: failed.append(done.task),
    )
    assert next(tasks) == (4, 2) and failed == [3]


def test_finished_tasks_are_skipped_and_counted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with resumable(tmp_path, "working") as job:
        done = job.run_missing(
            ProcessExecutor(2),
            halve,
            [2, 4, 5],
            "numbers",
            "numbers",
            is_done=lambda number: number == 5,
            unit="units",
            size=lambda number: number,
            show=True,
        )
        assert job.run_missing(SerialExecutor(), halve, [], "numbers", "numbers") == []
    assert sorted(done) == [(2, 1), (4, 2)]
    assert "11/11" in capsys.readouterr().err


def test_a_folder_without_permission_is_an_os_error(tmp_path: Path) -> None:
    if os.geteuid() == 0:
        pytest.skip("root may write everywhere")
    tmp_path.chmod(0o500)
    with pytest.raises(PermissionError), resumable(tmp_path, "working"):
        raise AssertionError("entered")


def test_a_refused_call_leaves_nothing_behind(tmp_path: Path) -> None:
    out = tmp_path / "new" / "folder"
    with pytest.raises(WorkError), resumable(out, "working", WorkError, settings(out)):
        raise WorkError("no such split")
    assert list(tmp_path.iterdir()) == []
    with resumable(out, "working", WorkError, settings(out, seed=4)):
        (out / "finished.txt").write_text("work")
    with pytest.raises(WorkError), resumable(out, "working", WorkError, settings(out, seed=4)):
        raise WorkError("something else")
    assert (out / "settings.json").is_file() and (out / "finished.txt").is_file()


def test_settings_stay_with_work_that_is_finished(tmp_path: Path) -> None:
    with pytest.raises(WorkError), resumable(tmp_path / "out", "working", WorkError, settings(tmp_path / "out")):
        (tmp_path / "out" / "one.txt").write_text("work")
        raise WorkError("the second failed")
    assert (tmp_path / "out" / "settings.json").is_file()


def test_files_of_others_are_not_taken_back(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    claim = tmp_path / "config.json"
    with pytest.raises(ValueError, match="refused"), withdrawn_if_refused(tmp_path, claim):
        claim.write_text("{}")
        raise ValueError("refused")
    assert (tmp_path / "notes.txt").is_file()


def test_a_refused_process_takes_nothing_back_from_the_one_at_work(tmp_path: Path) -> None:
    """It looked before the other one began."""
    folder = tmp_path / "out"
    with ExitStack() as other:
        with pytest.raises(WorkError), withdrawn_if_refused(folder, folder / "settings.json"):
            other.enter_context(resumable(folder, "counting", WorkError, settings(folder)))
            (folder / "parts").mkdir()
            with resumable(folder, "counting", WorkError, settings(folder)):
                raise AssertionError("two at once")
        assert (folder / "settings.json").is_file() and (folder / "parts").is_dir()


def test_a_refused_call_leaves_no_lock_in_a_folder_of_others(tmp_path: Path) -> None:
    with pytest.raises(WorkError), withdrawn_if_refused(tmp_path, tmp_path / "settings.json"):
        raise WorkError("refused before anything was locked")
    assert not any(tmp_path.iterdir())
    (tmp_path / "notes.txt").touch()
    with pytest.raises(WorkError), withdrawn_if_refused(tmp_path, tmp_path / "settings.json"):
        raise WorkError("refused before anything was locked")
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]


def test_a_folder_that_is_removed_while_it_is_locked_is_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, plain, removed = tmp_path / "out", FileLock.acquire, []

    def acquire(lock: FileLock, **options: bool) -> object:
        if not removed:
            removed.append(True)
            folder.rmdir()
        return plain(lock, **options)

    monkeypatch.setattr(FileLock, "acquire", acquire)
    with hold_lock(folder / ".lock", WorkError("held")):
        assert folder.is_dir() and removed


def test_what_a_killed_worker_left_is_removed_at_the_end(tmp_path):
    with resumable(tmp_path, "counting", ValueError, leftovers=("parts/.*.tmp",)):
        (tmp_path / "parts").mkdir()
        (tmp_path / "parts" / ".13.json.6d73b271.tmp").write_bytes(b"half")
        (tmp_path / "parts" / "13.json").write_bytes(b"{}")
    assert [path.name for path in (tmp_path / "parts").iterdir()] == ["13.json"]
