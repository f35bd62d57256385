"""One folder that several machines fill at once: a task is done by the one that claims it first.

>>> with shared_folder(store, "preparing this store", StoreError) as crew:
...     work = crew.claimed(prepare_log, is_done)
...     missing = crew.wait_for_others(missing, is_done)  # those that nobody has done or is doing

Claims are locks of the operating system: those of a machine or process that is lost are free again. The file system
must pass locks on between machines, as NFS 4, CephFS and Lustre (mounted with flock) do.
"""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Generic, TypeVar
from uuid import uuid4

from filelock import FileLock, Timeout

from world4scorer.jobs.files import hold_lock
from world4scorer.jobs.resumable import LEFTOVERS, LOCK, MEMBERS, others_at_work, sweep

CLAIMS: Final = ".claims"
"""Folder of the locks of tasks, within a shared folder."""
POLL_SECONDS: Final = 0.5
"""Between two looks at what others do [s]."""
GATE_SECONDS: Final = 60.0
"""Longest wait for others that begin or end [s]."""

_Result = TypeVar("_Result")


class _Taken(Exception):
    """Another process works on this."""


@dataclass(frozen=True)
class Claimed(Generic[_Result]):
    """Does a task unless another process has done it or is doing it; then returns None. Picklable if its parts are."""

    function: Callable[[str], _Result]
    is_done: Callable[[str], bool]
    claims: Path

    def __call__(self, task: str) -> _Result | None:
        """Claim the task and do it."""
        try:
            with hold_lock(self.claims / f"{task}.lock", _Taken()):
                return None if self.is_done(task) else self.function(task)
        except _Taken:
            return None


@dataclass(frozen=True)
class Crew:
    """The processes that fill a folder together, as one of them sees it."""

    folder: Path
    lock_error: ValueError

    def claimed(self, function: Callable[[str], _Result], is_done: Callable[[str], bool]) -> Claimed[_Result]:
        """A function that leaves alone what others do."""
        return Claimed(function, is_done, self.folder / CLAIMS)

    def wait_for_others(self, tasks: Iterable[str], is_done: Callable[[str], bool]) -> list[str]:
        """Wait until others have done these tasks; returns those that are neither done nor under way any more."""
        left = [task for task in tasks if not is_done(task)]
        while left:
            free = [task for task in left if self._is_free(task)]
            if free:
                return [task for task in free if not is_done(task)]
            time.sleep(POLL_SECONDS)
            left = [task for task in left if not is_done(task)]
        return []

    def _is_free(self, task: str) -> bool:
        try:
            with hold_lock(self.folder / CLAIMS / f"{task}.lock", _Taken()):
                return True
        except _Taken:
            return False

    @contextmanager
    def alone(self) -> Iterator[None]:
        """For steps that one process at a time does; waits for others to leave theirs."""
        lock = FileLock(self.folder / LOCK, thread_local=False)
        try:
            lock.acquire(timeout=GATE_SECONDS)
        except Timeout:
            raise self.lock_error from None
        try:
            yield
        finally:
            lock.release()


@contextmanager
def shared_folder(
    folder: str | os.PathLike[str], activity: str, error: type[ValueError], leftovers: Sequence[str] = ()
) -> Iterator[Crew]:
    """As `resumable`, together with other processes that call this; one that called `resumable` keeps all others out.

    The first removes what a killed process left, the last the locks.
    """
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    crew = Crew(
        folder, error(f"{folder}: another run is {activity} alone; wait for it, or start all of them as shared")
    )
    with ExitStack() as membership:
        with crew.alone():
            if not others_at_work(folder):
                sweep(folder, (*LEFTOVERS, *leftovers))
            own = folder / MEMBERS / f"{uuid4().hex}.lock"
            membership.enter_context(hold_lock(own, crew.lock_error))
        yield crew
        with crew.alone():
            membership.close()
            own.unlink(missing_ok=True)
            if not others_at_work(folder):
                sweep(folder, (*LEFTOVERS, *leftovers))
                for locks in (CLAIMS, MEMBERS):
                    shutil.rmtree(folder / locks, ignore_errors=True)
