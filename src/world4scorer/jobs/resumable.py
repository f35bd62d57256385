"""Resumable work: one writer per folder, matching settings, finished tasks skipped, failures reported together.

>>> settings = Settings(out / "settings.json", {"seed": 3})
>>> with resumable(out, "making this bank", BankError, settings) as job:
...     job.run_missing(choose_executor(), work, logs, "bank", "logs", is_done=lambda log: path_of(log).is_file())

The process may be killed at any time. The same call resumes; a call with other settings, or a second one at the same
time, is refused before anything is written. A call that is refused for what it was given leaves nothing behind, so that
it can be corrected.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeVar, cast

from world4scorer.jobs.executors import Done, Executor
from world4scorer.jobs.files import hold_lock, read_json, write_json
from world4scorer.jobs.progress import ProgressBar

LOCK: Final = ".lock"
"""Name of the lock file in a folder, unless a job has one of its own."""
MEMBERS: Final = ".members"
"""Folder of the locks of those who fill a folder together."""
LEFTOVERS: Final = (".*.tmp",)
"""What `atomic_write` leaves in a folder if its process is killed."""
LISTED_FAILURES: Final = 10
"""Failed tasks listed in an error message."""
LISTED_SETTINGS: Final = 5
"""Different settings listed in an error message."""
SHOWN_CHARACTERS: Final = 40
"""Length of a value in an error message."""

_Task = TypeVar("_Task")
_Result = TypeVar("_Result")


@dataclass(frozen=True)
class Settings:
    """What identifies the work in a folder, kept there in a JSON file."""

    path: Path
    content: Mapping[str, Any]
    ignored: tuple[str, ...] = ()
    """Names that are written but may differ on resuming, such as the version."""
    indent: int = 1

    def check(self, error: type[ValueError]) -> dict[str, Any] | None:
        """What the file holds, or None without one; other settings raise an error that names the differences."""
        if not self.path.is_file():
            return None
        known = read_json(self.path, error)
        check_settings(self.path, known, self.content, error, self.ignored)
        return known

    def match(self, error: type[ValueError]) -> dict[str, Any]:
        """Write the file, or check the one that is there; returns its content."""
        known = self.check(error)
        if known is None:
            known = dict(self.content)
            write_json(self.path, known, self.indent)
        return known


def check_settings(
    path: str | os.PathLike[str],
    known: Mapping[str, Any],
    wanted: Mapping[str, Any],
    error: type[ValueError],
    ignored: Sequence[str] = (),
    remedy: str = "choose another folder",
) -> None:
    """Raise an error that names the differences between the settings kept in `path` and those asked for."""
    asked = json.loads(json.dumps(wanted))
    ours = {name: value for name, value in known.items() if name not in ignored}
    theirs = {name: value for name, value in asked.items() if name not in ignored}
    found = list(_differences(ours, theirs))
    if found:
        more = f" and {len(found) - LISTED_SETTINGS} more" if len(found) > LISTED_SETTINGS else ""
        raise error(
            f"{path}: made with other settings ({'; '.join(found[:LISTED_SETTINGS])}{more}); use the same settings to "
            f"resume, or {remedy}"
        )


def _differences(known: Any, wanted: Any, name: str = "") -> Iterator[str]:
    if isinstance(known, Mapping) and isinstance(wanted, Mapping):
        for key in dict.fromkeys((*wanted, *known)):
            yield from _differences(known.get(key), wanted.get(key), f"{name}.{key}" if name else str(key))
    elif known != wanted:
        yield f"{name}: {_shortened(known)}, now {_shortened(wanted)}"


def _shortened(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= SHOWN_CHARACTERS else f"{text[:SHOWN_CHARACTERS]}..."


@dataclass(frozen=True)
class Job:
    """Work on a folder that this process holds."""

    folder: Path
    error: type[ValueError]
    """Raised for what users can cause."""

    def run_missing(
        self,
        executor: Executor,
        function: Callable[[_Task], _Result],
        tasks: Sequence[_Task],
        title: str,
        task_name: str,
        *,
        is_done: Callable[[_Task], bool] | None = None,
        unit: str | None = None,
        size: Callable[[_Task], int] | None = None,
        show: bool = False,
    ) -> list[tuple[_Task, _Result]]:
        """Run the tasks that are not done; returns each of them with its result.

        Args:
            executor: Where they run.
            function: Does a task, and writes what makes it done.
            tasks: All of them.
            title: Title of the progress bar.
            task_name: What tasks are called, in the plural.
            is_done: Whether a task is finished already; none is unless given.
            unit: What the progress bar counts; tasks unless given.
            size: How many units a task has; 1 unless given.
            show: Whether to show the progress bar.

        Raises:
            ValueError: Tasks failed (see `run_tasks`); the others are kept.
        """
        missing = [task for task in tasks if is_done is None or not is_done(task)]
        size = size or (lambda task: 1)
        total = sum(map(size, tasks))
        with ProgressBar(title, unit or task_name, total, show) as progress:
            progress.advance(total - sum(map(size, missing)))
            finished = []
            for task, result in run_tasks(executor, function, missing, self.folder, task_name, self.error):
                finished.append((task, result))
                progress.advance(size(task))
        return finished


@contextmanager
def resumable(
    folder: str | os.PathLike[str],
    activity: str,
    error: type[ValueError] = ValueError,
    *settings: Settings,
    lock: str = LOCK,
    leftovers: Sequence[str] = (),
    wait: bool = False,
) -> Iterator[Job]:
    """Hold a folder for the length of the block, with matching settings and without leftovers of a killed process.

    Args:
        folder: The folder, made if it is not there.
        activity: What this process does, for the error of a second one: "making this bank".
        error: Raised for other settings and for a second process.
        settings: What must be the same to resume.
        lock: Path of the lock file within the folder.
        leftovers: Patterns, within the folder, of unfinished files and folders to remove, beside `LEFTOVERS`.
        wait: Wait for a second process to leave the folder, instead of raising an error.
    """
    folder = Path(folder)
    for one in settings:
        one.check(error)
    lock_error = error(f"{folder}: another run is {activity}; wait for it, or stop it first")
    claims = [one.path for one in settings]
    with withdrawn_if_refused(folder, *claims, lock=lock), hold_lock(folder / lock, None if wait else lock_error):
        if others_at_work(folder):
            raise lock_error
        for one in settings:
            one.match(error)
        sweep(folder, (*LEFTOVERS, *leftovers))
        yield Job(folder, error)
        sweep(folder, (*LEFTOVERS, *leftovers))  # of a worker that was killed, and whose task another has done


def others_at_work(folder: Path) -> bool:
    """Whether processes fill this folder together (`shared_folder`); what lost ones left of themselves is removed."""
    for lock in (folder / MEMBERS).glob("*.lock"):
        try:
            with hold_lock(lock, _HeldByAnother()):
                lock.unlink(missing_ok=True)
        except _HeldByAnother:
            return True
    return False


@contextmanager
def short_lock(folder: Path, leftovers: Sequence[str] = LEFTOVERS) -> Iterator[None]:
    """Hold a folder, which several processes fill, for as long as a file is written; waits for another to have done so.

    Unfinished files are then those of killed processes, and removed.
    """
    with hold_lock(folder / LOCK):
        sweep(folder, leftovers)
        yield


def sweep(folder: Path, leftovers: Sequence[str]) -> None:
    """Remove unfinished files and folders."""
    for leftover in [path for pattern in leftovers for path in folder.glob(pattern)]:
        if leftover.is_dir():
            shutil.rmtree(leftover)
        else:
            leftover.unlink(missing_ok=True)


@contextmanager
def withdrawn_if_refused(folder: str | os.PathLike[str], *claims: Path, lock: str = LOCK) -> Iterator[None]:
    """Take back new files that claim a folder (settings) if the block ends with an error that users can cause.

    Only where nothing else was written and no other process holds the folder: with finished work in it, they stay for
    the call that resumes.

    Args:
        folder: The folder; removed if it is new and empty.
        claims: The files.
        lock: Lock file below the folder, which does not count as work.
    """
    folder = Path(folder)
    missing = [path for path in (folder, *folder.parents) if not path.exists()]
    new = {path for path in (*claims, folder / lock) if not path.exists()}
    own = {*new, folder / lock}
    try:
        yield
    except (ValueError, OSError):
        # The lock may be another's by now, and the folder one that cannot be written to.
        with suppress(_HeldByAnother, OSError):
            if folder.is_dir() and _has_only(folder, own):
                with hold_lock(folder / lock, _HeldByAnother()):
                    _withdraw(folder, new, own, missing)
        raise


class _HeldByAnother(Exception):
    """What is in a folder belongs to another process."""


def _has_only(folder: Path, files: set[Path]) -> bool:
    return all(path in files or path.is_dir() for path in folder.rglob("*"))


def _withdraw(folder: Path, new: set[Path], own: set[Path], above: Sequence[Path]) -> None:
    """Remove new files if there is nothing but our own, then empty folders, those of `above` as well."""
    if _has_only(folder, own):
        for path in new:
            path.unlink(missing_ok=True)
        _remove_empty(folder, above)


def _remove_empty(folder: Path, above: Sequence[Path]) -> None:
    """Remove empty folders below one, and those of `above` (it and its parents, innermost first) that are empty."""
    below = sorted((path for path in folder.rglob("*") if path.is_dir()), reverse=True)
    for path in (*below, *above):
        with suppress(OSError):  # no longer empty: someone else's now
            path.rmdir()


def run_tasks(
    executor: Executor,
    function: Callable[[_Task], _Result],
    tasks: Sequence[_Task],
    folder: str | os.PathLike[str],
    task_name: str,
    error: type[ValueError],
    *,
    on_failure: Callable[[Done[_Task, _Result]], None] | None = None,
    stop_at_first: bool = False,
) -> Iterator[tuple[_Task, _Result]]:
    """Yield each task with its result, as they finish; one error at the end lists those that failed.

    Args:
        executor: Where they run.
        function: Does a task.
        tasks: All of them.
        folder: Named in the error.
        task_name: What tasks are called in the error, in the plural.
        error: Raised if users can have caused every failure; otherwise a RuntimeError with a traceback.
        on_failure: Called at once for each task that failed.
        stop_at_first: Raise as soon as a task fails: where results of the others would not be kept.
    """
    failed: list[Done[_Task, _Result]] = []
    for done in executor.run(function, tasks) if tasks else ():
        if done.error is None:
            yield done.task, cast(_Result, done.result)
            continue
        failed.append(done)
        if on_failure is not None:
            on_failure(done)
        if stop_at_first:
            break
    if failed:
        listed = "".join(f"\n  {done.error}" for done in failed[:LISTED_FAILURES])
        more = f"\n  and {len(failed) - LISTED_FAILURES} more" if len(failed) > LISTED_FAILURES else ""
        kept = "" if stop_at_first else "; the others are kept, run the command again to resume once the cause is gone"
        message = f"{folder}: {len(failed)} of {len(tasks)} {task_name} failed{kept}:{listed}{more}"
        bug = next((done for done in failed if not done.is_user_error and done.details), None)
        raise error(message) if bug is None else RuntimeError(f"{message}\n{bug.details}")
