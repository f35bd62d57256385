"""The executor on a real Ray cluster of two nodes, both on this machine, one of which is lost."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.support import worker_tasks as tasks
from tests.support.ray_cluster import RayCluster, ray_cluster
from tests.support.worker_tasks import MadeUpSource
from world4scorer.datasets.prepare.fill_store import prepare
from world4scorer.jobs.executors import RayExecutor, SerialExecutor, choose_executor


@pytest.fixture(scope="module")
def cluster() -> Iterator[RayCluster]:
    with ray_cluster() as made:
        yield made


def test_results_and_errors_by_task(cluster: RayCluster) -> None:
    executor = choose_executor(ray_address=cluster.address)
    assert isinstance(executor, RayExecutor) and executor.workers == 2
    found = {done.task: done for done in executor.run(tasks.square, [1, 2, -3, 4, 5])}
    assert {task: done.result for task, done in found.items()} == {1: 1, 2: 4, -3: None, 4: 16, 5: 25}
    assert found[-3].error == "-3: ValueError: -3 is negative" and "in square" in found[-3].details


def test_a_process_keeps_the_function_and_its_working_folder(
    cluster: RayCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    executor = choose_executor(ray_address=cluster.address)
    done = list(executor.run(tasks.CountedCalls(np.zeros(3)), [0.3] * 8))
    assert all(one.error is None for one in done), done
    calls = [one.result for one in done if one.result is not None]
    assert {folder for _, _, folder in calls} == {str(tmp_path)}
    by_process: dict[int, list[int]] = {}
    for process, count, _ in calls:
        by_process.setdefault(process, []).append(count)
    assert len(by_process) == 2
    assert all(sorted(counts) == list(range(1, len(counts) + 1)) for counts in by_process.values())


def test_the_loss_of_a_node_costs_no_log_and_changes_no_byte(cluster: RayCluster, tmp_path: Path) -> None:
    journal = tmp_path / "journal"
    prepare(MadeUpSource(6), tmp_path / "serial", SerialExecutor(), show_progress=False)
    errors: list[BaseException] = []

    def fill() -> None:
        try:
            source = MadeUpSource(6, slow=0.5, journal=str(journal))
            prepare(source, tmp_path / "cluster", choose_executor(ray_address=cluster.address), show_progress=False)
        except BaseException as error:
            errors.append(error)

    work = threading.Thread(target=fill)
    work.start()
    wait_for(lambda: journal.is_file() and len(journal.read_text().split()) >= 2)
    cluster.lose_a_node()
    work.join(120)
    assert not work.is_alive() and not errors
    begun = journal.read_text().split()
    assert set(begun) == {f"log{number}" for number in range(6)} and len(begun) > 6  # one was begun twice
    assert content(tmp_path / "cluster") == content(tmp_path / "serial")


def wait_for(condition: Any, seconds: float = 60.0) -> None:
    until = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < until, "did not happen"
        time.sleep(0.05)


def content(store: Path) -> dict[str, bytes]:
    """All files but the index, which has the times of the others."""
    return {path.name: path.read_bytes() for path in store.iterdir() if path.name != "index"}
