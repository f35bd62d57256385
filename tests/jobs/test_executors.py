from __future__ import annotations

import pickle
import socket
import subprocess
import sys
import types
from pathlib import Path
from typing import Any

import pytest

from tests.support import worker_tasks as tasks
from world4scorer.jobs import executors
from world4scorer.jobs.executors import (
    Done,
    ProcessExecutor,
    RayExecutor,
    SerialExecutor,
    as_executor,
    choose_executor,
)


def outcomes(results: Any) -> dict[int, Done[int, int]]:
    return {done.task: done for done in results}


@pytest.mark.parametrize("executor", [SerialExecutor(), ProcessExecutor(2)])
def test_results_and_errors_by_task(executor: Any) -> None:
    found = outcomes(executor.run(tasks.square, [1, 2, -3, 4, 5]))
    assert {task: done.result for task, done in found.items()} == {1: 1, 2: 4, -3: None, 4: 16, 5: 25}
    assert found[-3].error == "-3: ValueError: -3 is negative"
    assert "in square" in found[-3].details
    assert found[1].error is None


def test_no_tasks() -> None:
    assert list(ProcessExecutor(2).run(tasks.square, [])) == []


def test_killed_worker_is_named_and_the_others_finish() -> None:
    found = outcomes(ProcessExecutor(2).run(tasks.die_on_three, range(8)))
    assert sorted(found) == list(range(8))
    assert "3: its process was killed" in (found[3].error or "")
    assert [task for task, done in found.items() if done.error] == [3]


def test_a_killed_process_that_starts_others_costs_no_task(monkeypatch: pytest.MonkeyPatch) -> None:
    """While it is ending it refuses to start another, for as long as the system takes."""
    plain, refused = ProcessExecutor._pool, []

    def pool(function: Any, workers: int) -> Any:
        made = plain(function, workers)
        if len(refused) < 4:
            refused.append(workers)
            monkeypatch.setattr(made, "submit", lambda *arguments: (_ for _ in ()).throw(ConnectionRefusedError()))
        return made

    monkeypatch.setattr(executors, "RESTART_PAUSES", (0.0,) * 5)
    monkeypatch.setattr(ProcessExecutor, "_pool", staticmethod(pool))
    found = outcomes(ProcessExecutor(2).run(tasks.square, range(4)))
    assert {task: done.result for task, done in found.items()} == {0: 0, 1: 1, 2: 4, 3: 9}
    assert len(refused) == 4
    refused.clear()
    monkeypatch.setattr(executors, "RESTART_PAUSES", (0.0,) * 2)
    (done, *_) = ProcessExecutor(2).run(tasks.square, range(2))
    assert done.error is not None and done.error.startswith("0: no process could be started")


def test_result_that_cannot_be_sent() -> None:
    (done,) = ProcessExecutor(1).run(tasks.return_what_cannot_be_sent, [1])
    assert done.error is not None and done.error.startswith("1: ")


def test_tasks_are_taken_as_they_are_needed() -> None:
    taken = []

    def source() -> Any:
        for number in range(1000):
            taken.append(number)
            yield number

    results = ProcessExecutor(2).run(tasks.square, source())
    next(results)
    assert len(taken) <= 4
    results.close()  # type: ignore[attr-defined]


def test_choice() -> None:
    assert isinstance(choose_executor("serial"), SerialExecutor)
    assert choose_executor(workers=3).workers == 3
    assert isinstance(as_executor(1), SerialExecutor) and as_executor(2).workers == 2
    with pytest.raises(ValueError, match="at least one"):
        choose_executor(workers=0)
    with pytest.raises(ValueError, match="unknown name 'threads'"):
        choose_executor("threads")  # type: ignore[arg-type]


def test_ray_that_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(ValueError, match=r"world4scorer\[cluster\]"):
        choose_executor(ray_address="auto")


def test_ray_cluster(monkeypatch: pytest.MonkeyPatch) -> None:
    """A stand-in with the few calls that are used; references are numbers."""
    held: dict[int, Any] = {}
    calls: dict[str, Any] = {}

    class Remote:
        def __init__(self, function: Any) -> None:
            self.function = function

        def remote(self, *arguments: Any) -> int:
            return put(self.function(*arguments))

    def put(value: Any) -> int:
        held[len(held)] = value
        return len(held) - 1

    def get(reference: int) -> Any:
        kept = held[reference]
        if isinstance(done := pickle.loads(kept), Done) and done.task == 7:
            raise RuntimeError("node lost")
        return kept

    stand_in = types.ModuleType("ray")
    vars(stand_in).update(
        init=lambda **options: calls.update(options),
        cluster_resources=lambda: {"CPU": 3.0},
        remote=lambda **options: Remote,
        cloudpickle=pickle,
        put=put,
        get=get,
        wait=lambda references, num_returns, timeout: (references[:1], references[1:]),
    )
    monkeypatch.setitem(sys.modules, "ray", stand_in)
    monkeypatch.setattr(executors, "_answers", lambda address: address == ("head", 10001))
    executor = choose_executor(ray_address="ray://head:10001")
    assert isinstance(executor, RayExecutor) and executor.workers == 3
    assert calls["address"] == "ray://head:10001"
    found = outcomes(executor.run(tasks.square, [1, 2, -3, 4, 7, 9]))
    assert found[9].result == 81
    assert found[-3].error == "-3: ValueError: -3 is negative"
    assert found[7].error == "7: RuntimeError: node lost"
    # Then the cluster is gone: no results, and no answer.
    vars(stand_in)["wait"] = lambda references, num_returns, timeout: ([], references)
    monkeypatch.setattr(executors, "_answers", lambda address: False)
    with pytest.raises(ValueError, match="head:10001: the Ray cluster is gone; finished work is kept"):
        list(executor.run(tasks.square, [1]))


def test_a_ray_cluster_that_does_not_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    stand_in = types.ModuleType("ray")

    def refuse(**options: Any) -> None:
        raise ConnectionError("Could not find any running Ray instance.\nPages of text")

    vars(stand_in).update(init=refuse)
    monkeypatch.setitem(sys.modules, "ray", stand_in)
    with socket.socket() as bound:  # bound, but nobody listens
        bound.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{bound.getsockname()[1]}"
        with pytest.raises(ValueError, match=f"{address}: no Ray cluster answers there within 10 s; start one"):
            choose_executor(ray_address=address)
    with pytest.raises(ValueError, match=r"^auto: .*\(Could not find any running Ray instance\.\); start one") as error:
        choose_executor("ray")
    assert "\n" not in str(error.value)


def test_a_script_without_a_main_guard_is_told_so(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        "from world4scorer.jobs.executors import ProcessExecutor\n"
        "for done in ProcessExecutor(1).run(abs, [-1]):\n    print(done.error, flush=True)\n"
    )
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, check=False)
    assert "below `if __name__" in done.stdout and "memory" not in done.stdout
