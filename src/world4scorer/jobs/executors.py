"""One interface over a loop, processes and a Ray cluster.

>>> for done in choose_executor(workers=8).run(function, tasks):
...     print(done.task, done.error or done.result)

Results come as they finish. No more tasks are under way than there are workers, so memory stays bounded. A task that
fails becomes a `Done` with an error and does not disturb the others. Functions and tasks must be picklable for
processes and Ray; a function is sent to each process once and stays there, so it may keep what it has loaded.
"""

from __future__ import annotations

import multiprocessing
import os
import socket
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from importlib import import_module
from itertools import islice
from multiprocessing.connection import wait as wait_for_any
from pathlib import Path
from typing import Any, Final, Generic, Literal, NamedTuple, Protocol, TypeVar
from uuid import uuid4

from world4scorer import __version__

_Task = TypeVar("_Task")
_Result = TypeVar("_Result")

ExecutorName = Literal["processes", "serial", "ray"]

CONNECT_TIMEOUT: Final = 10.0
"""Time within which a Ray cluster must answer [s]."""
POLL_SECONDS: Final = 10.0
"""Time after which a Ray cluster that gives no results is asked whether it is still there [s]."""
RETRIES: Final = 3
"""Times that a task is tried again elsewhere whose node or process is gone."""
START_RAY: Final = "start one with `ray start --head`, or leave the address out to use processes"
KILLED: Final = "its process was killed, twice; most often memory ran out (use fewer workers), or native code crashed"
NOT_STARTED: Final = "no process could be started for it; free memory or processes, or use the serial executor"
NO_MAIN_GUARD: Final = (
    "its process ended before it began: every process runs the script from its beginning, so put what the script does "
    'below `if __name__ == "__main__":`, or use the serial executor'
)

RESTART_PAUSES: Final = (0.0, 0.05, 0.2, 1.0, 5.0)
"""Before each attempt to start a process for a task [s]. A process that starts others and was killed answers no more
before the system says that it has ended; until then it is not started again."""

_BROKEN: Final = (BrokenProcessPool, EOFError, ConnectionError)
"""What starting a task raises if a process of the pool was killed: a worker, or the one that starts workers."""


@dataclass(frozen=True)
class Done(Generic[_Task, _Result]):
    """A finished task: its result, or its error."""

    task: _Task
    result: _Result | None = None
    error: str | None = None
    """The task and its exception in one line, or what ended the process it ran in."""
    details: str = ""
    """The traceback."""
    is_user_error: bool = False
    """Whether users can cause such an error: a ValueError or OSError."""


class Executor(Protocol):
    """Runs a function over tasks."""

    workers: int

    def run(self, function: Callable[[_Task], _Result], tasks: Iterable[_Task]) -> Iterator[Done[_Task, _Result]]:
        """Yield finished tasks, in the order in which they finish."""
        ...


def choose_executor(
    name: ExecutorName = "processes", *, workers: int | None = None, ray_address: str | None = None
) -> Executor:
    """Return an executor. `workers` None means one for each core; an address of a Ray cluster chooses Ray.

    One worker on this machine is this process.
    """
    if workers is not None and workers < 1:
        raise ValueError(f"workers: {workers}; at least one is needed")
    if name == "ray" or ray_address is not None:
        return RayExecutor(ray_address or "auto", workers)
    if name == "serial" or (name == "processes" and workers == 1):
        return SerialExecutor()
    if name == "processes":
        return ProcessExecutor(workers)
    raise ValueError(f"executor: unknown name {name!r}; choose 'processes', 'serial' or 'ray'")


Workers = int | Executor | None
"""Where tasks run: so many processes of this machine, one for each core (None), or an executor."""


def as_executor(workers: Workers) -> Executor:
    """The executor that `workers` stands for."""
    return choose_executor(workers=workers) if workers is None or isinstance(workers, int) else workers


class SerialExecutor:
    """One task after the other, in this process."""

    workers = 1

    def run(self, function: Callable[[_Task], _Result], tasks: Iterable[_Task]) -> Iterator[Done[_Task, _Result]]:
        """Yield finished tasks, in order."""
        for task in tasks:
            yield _attempt(function, task)


class ProcessExecutor:
    """Processes on this machine, started afresh rather than forked, so that threads and kernels are safe."""

    def __init__(self, workers: int | None = None) -> None:
        self.workers = workers or os.cpu_count() or 1

    def run(self, function: Callable[[_Task], _Result], tasks: Iterable[_Task]) -> Iterator[Done[_Task, _Result]]:
        """Yield finished tasks, in the order in which they finish.

        The first task runs alone: it compiles kernels and fills disk caches that every process needs.

        When a process dies, every task that was under way is tried once more, each alone in a process of its own: so
        the one that brings its process down is named, and the others are not lost.
        """
        source = iter(tasks)
        while True:
            lost: list[_Task] = []
            yield from self._run_until_broken(function, source, lost)
            if not lost:
                return
            for task in lost:
                yield self._run_alone(function, task)

    def _run_until_broken(
        self, function: Callable[[_Task], _Result], source: Iterator[_Task], lost: list[_Task]
    ) -> Iterator[Done[_Task, _Result]]:
        """Yield results until no task is left or a process dies; then `lost` holds what was under way."""
        pool = self._pool(function, self.workers)
        running: dict[Future[Done[_Task, _Result]], _Task] = {}
        room = 1
        try:
            while True:
                for task in islice(source, room - len(running)):
                    try:
                        running[pool.submit(_work, task)] = task
                    except _BROKEN:
                        lost += [task, *running.values()]
                        return
                if not running:
                    return
                room = self.workers
                finished, _ = wait(running, return_when=FIRST_COMPLETED)
                for future in finished:
                    task = running.pop(future)
                    try:
                        done = future.result()
                    except BrokenProcessPool:
                        lost += [task, *running.values()]
                        return
                    except Exception as error:
                        done = _failed(task, error)  # could not be sent or received
                    yield done
        finally:
            pool.shutdown(wait=True, cancel_futures=True)

    def _run_alone(self, function: Callable[[_Task], _Result], task: _Task) -> Done[_Task, _Result]:
        for pause in RESTART_PAUSES:
            time.sleep(pause)
            try:
                with self._pool(function, 1) as pool:
                    future = pool.submit(_work, task)
                    return _result_alone(future, task)
            except _BROKEN:  # no process was started: the one that starts them is still ending
                continue
        return Done(task, error=f"{task}: {NOT_STARTED}")

    @staticmethod
    def _pool(function: Callable[[Any], Any], workers: int) -> ProcessPoolExecutor:
        start = "forkserver" if sys.platform.startswith("linux") else "spawn"
        context = multiprocessing.get_context(start)
        return ProcessPoolExecutor(workers, mp_context=context, initializer=_begin, initargs=(function,))


def _result_alone(future: Future[Done[_Task, _Result]], task: _Task) -> Done[_Task, _Result]:
    """What a task gives whose process works on nothing else."""
    try:
        return future.result()
    except BrokenProcessPool:
        return Done(task, error=f"{task}: {NO_MAIN_GUARD if _lacks_main_guard() else KILLED}")
    except Exception as error:
        return _failed(task, error)  # could not be sent or received


def _lacks_main_guard() -> bool:
    """Whether this program is a script that every process it starts would run from its beginning."""
    main = sys.modules.get("__main__")
    path = getattr(main, "__file__", None)
    if path is None or getattr(main, "__spec__", None) is not None:
        return False
    try:
        return "__main__" not in Path(path).read_text("utf-8", "replace")
    except OSError:
        return False


class RayExecutor:
    """A Ray cluster that is running already.

    Its nodes must have this version of the package and see the folders of the tasks under the same names. Tasks of a
    node that is lost run again on another.
    """

    def __init__(self, address: str, workers: int | None = None) -> None:
        self._ray = ray = _import_ray()
        host = _host_and_port(address)
        if host is not None and not _answers(host):
            raise ValueError(f"{address}: no Ray cluster answers there within {CONNECT_TIMEOUT:g} s; {START_RAY}")
        try:
            ray.init(address=address, ignore_reinit_error=True, log_to_driver=False)
        except (ConnectionError, RuntimeError, TimeoutError) as error:
            reason = (str(error).strip().splitlines() or [type(error).__name__])[0]
            raise ValueError(f"{address}: no Ray cluster can be used there ({reason}); {START_RAY}") from error
        # A client of a distant cluster reaches only the address that it was given.
        self._head = host or _host_and_port(ray.get_runtime_context().gcs_address)
        self.workers = workers or max(1, int(ray.cluster_resources().get("CPU", 1)))

    def run(self, function: Callable[[_Task], _Result], tasks: Iterable[_Task]) -> Iterator[Done[_Task, _Result]]:
        """Yield finished tasks, in the order in which they finish."""
        ray = self._ray
        work = ray.remote(max_retries=RETRIES)(_attempt_on_node)
        # Arrays that Ray itself sends cannot be written to; those in a pickle are as they were.
        pack, unpack = ray.cloudpickle.dumps, ray.cloudpickle.loads
        shared = _SharedFunction(uuid4().hex, os.getcwd(), __version__, ray.put(pack(function)))
        source = iter(tasks)
        running = {work.remote(shared, pack(task)): task for task in islice(source, self.workers)}
        while running:
            finished, _ = ray.wait(list(running), num_returns=1, timeout=POLL_SECONDS)
            if not finished and self._head is not None and not _answers(self._head):
                # Ray itself would wait for a minute, write pages, and end the process.
                gone = ":".join(map(str, self._head))
                raise ValueError(f"{gone}: the Ray cluster is gone; finished work is kept, run the command again")
            for reference in finished:
                task = running.pop(reference)
                try:
                    done = unpack(ray.get(reference))
                except Exception as error:
                    done = _failed(task, error)  # node or process were lost too often
                yield done
                running |= {work.remote(shared, pack(following)): following for following in islice(source, 1)}


class _SharedFunction(NamedTuple):
    """What a process of a Ray cluster needs to work on the tasks of a run."""

    key: str
    folder: str
    """Working folder, which paths of the tasks are relative to."""
    version: str
    function: Any
    """Reference to the pickled function; inside a tuple, Ray leaves it to us to get it."""


_of_cluster: tuple[str, Callable[[Any], Any]] | None = None
"""In a process of a Ray cluster: the function of its last task, by key; so it may keep what it has loaded."""


def _attempt_on_node(shared: _SharedFunction, packed: bytes) -> bytes:
    global _of_cluster
    ray = _import_ray()
    pack, unpack = ray.cloudpickle.dumps, ray.cloudpickle.loads
    if _of_cluster is None or _of_cluster[0] != shared.key:
        if shared.version != __version__:
            raise ValueError(f"world4scorer is {__version__} on the node {_node()}, {shared.version} here")
        try:
            os.chdir(shared.folder)
        except OSError as error:
            raise ValueError(f"{shared.folder}: not on the node {_node()}; nodes must share folders") from error
        _of_cluster = shared.key, unpack(ray.get(shared.function))
    return bytes(pack(_attempt(_of_cluster[1], unpack(packed))))


def _import_ray() -> Any:
    """Its types are of no use: some of its functions have none."""
    try:
        return import_module("ray")
    except ImportError:
        raise ValueError(
            "Ray is not installed; `pip install 'world4scorer[cluster]'`, or leave the address out to use processes"
        ) from None


def _node() -> str:
    return socket.gethostname()


def _host_and_port(address: str) -> tuple[str, int] | None:
    """Of "HOST:PORT" or "ray://HOST:PORT"; None for names such as "auto"."""
    host, separator, port = address.removeprefix("ray://").rpartition(":")
    return (host.strip("[]"), int(port)) if separator and port.isdigit() else None


def _answers(address: tuple[str, int]) -> bool:
    """Whether anything listens at an address."""
    try:
        socket.create_connection(address, CONNECT_TIMEOUT).close()
    except OSError:
        return False
    return True


def _attempt(function: Callable[[_Task], _Result], task: _Task) -> Done[_Task, _Result]:
    try:
        return Done(task, function(task))
    except Exception as error:
        return _failed(task, error)


def _failed(task: _Task, error: Exception) -> Done[_Task, Any]:
    return Done(
        task,
        error=f"{task}: {type(error).__name__}: {error}",
        details=traceback.format_exc(),
        is_user_error=isinstance(error, ValueError | OSError),
    )


_function: Callable[[Any], Any] | None = None
"""In a worker process: what it was started to do."""


def _begin(function: Callable[[Any], Any]) -> None:
    global _function
    _function = function
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    """Leave when the process that gives the tasks is gone: a worker would wait for the next one for ever."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        wait_for_any([parent.sentinel])
        os._exit(1)


def _work(task: Any) -> Done[Any, Any]:
    if _function is None:
        raise RuntimeError("worker process was not set up")
    return _attempt(_function, task)
