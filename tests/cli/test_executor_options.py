"""Commands with parallel work: the same options for all, and the same bytes on a Ray cluster of two nodes."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.support.ray_cluster import RayCluster, ray_cluster
from world4scorer.cli import run as cli
from world4scorer.cli.completion.options import all_commands
from world4scorer.jobs.executor_options import ExecutorOptions
from world4scorer.jobs.executors import SerialExecutor

PARALLEL = (
    *("city make", "city dense", "check-data", "split", "prepare", "bank make", "bank import", "targets", "pools"),
    *("evaluate", "study counterfactual", "drive", "aggregate", "b2d prepare", "b2d city-clips"),
    *("cube data", "cube collect", "cube tune", "cube evaluate", "cube reproduce"),
)
FLAGS = {"--executor", "--workers", "--ray-address"}
UNLIKE = ("index", ".lock", "stages.json")
"""Files with times of other files or of the work in them, and locks."""
TIMES = re.compile(rb'"duration_system": [^,]*,|"checksum": "xxh3-of-this-file:[0-9a-f]*"')
"""What results of drives say of the machine's own time, and checksums of files with it."""


def test_parallel_commands_have_the_same_options() -> None:
    commands = {command.name: set(command.flags) for command in all_commands()}
    assert {name: FLAGS & commands[name] for name in PARALLEL} == dict.fromkeys(PARALLEL, FLAGS)


def test_the_choice() -> None:
    assert isinstance(ExecutorOptions().choose("serial"), SerialExecutor)
    assert isinstance(ExecutorOptions(workers=1).choose(), SerialExecutor)
    assert ExecutorOptions(workers=3).choose("serial").workers == 3
    assert not ExecutorOptions().given and ExecutorOptions(workers=1).given
    with pytest.raises(ValueError, match="--device cuda: tasks on a Ray cluster are given no GPU"):
        ExecutorOptions("ray").choose("serial", "cuda")


@pytest.fixture(scope="module")
def cluster() -> Iterator[RayCluster]:
    with ray_cluster() as made:
        yield made


Compare = Callable[..., Path]


@pytest.fixture
def same(cluster: RayCluster, tmp_path: Path) -> Compare:
    """Runs a command in this process and on the cluster, and compares what it writes to OUT; returns that."""

    def run(command: str, *, out: str = "--out", file: str = "", source: Path | None = None) -> Path:
        written = []
        for name, where in (("serial", ["--executor", "serial"]), ("cluster", ["--ray-address", cluster.address])):
            folder = tmp_path / name / "out"
            if source is not None:
                shutil.copytree(source, folder)
            words = [word.replace("OUT", str(folder)) for word in command.split()]
            assert cli.main([*words, *([out, str(folder / file)] if out else []), *where]) == 0
            paths = [path for path in folder.rglob("*") if path.is_file() and path.name not in UNLIKE]
            written.append({str(path.relative_to(folder)): TIMES.sub(b"", path.read_bytes()) for path in paths})
        serial, on_cluster = written
        assert serial and sorted(serial) == sorted(on_cluster)
        assert [name for name in serial if serial[name] != on_cluster[name]] == []
        return folder

    return run


@pytest.fixture(scope="module")
def store(city: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("stores") / "city_val"
    assert (
        cli.main(["prepare", "--data", str(city), "--split", "city_val", "--store", str(folder), "--workers", "1"]) == 0
    )
    return folder


def test_prepare(same: Compare, city: Path) -> None:
    same(f"prepare --data {city} --split city_val", out="--store")


def test_bank(same: Compare, store: Path) -> None:
    same(f"bank make --store {store} --proposals 80")


def test_targets(same: Compare, city: Path, store: Path) -> None:
    pytest.importorskip("torch")
    same(f"targets --data {city} --split city_val --store {store}", file="future.arrow")


def test_pools_and_evaluate(same: Compare, city: Path, store: Path, tmp_path: Path) -> None:
    pytest.importorskip("torch")
    pools = same(f"pools city --data {city} --split city_val --store {store}").rename(tmp_path / "pools")
    shutil.rmtree(tmp_path / "serial")
    same("evaluate OUT --draws 10", out="", source=pools)


@pytest.mark.slow
def test_drive(same: Compare, city: Path) -> None:
    pytest.importorskip("torch")
    same(f"drive --data {city} --split city_train --routes 2 --drivers constant-velocity")


@pytest.mark.slow
def test_city(same: Compare, sumo: None) -> None:
    same("city make --preset tiny")


@pytest.mark.slow
def test_cube(same: Compare, tmp_path: Path) -> None:
    for package in ("torch", "mujoco", "ogbench"):
        pytest.importorskip(package)
    episodes = same("cube data OUT --preset smoke", out="").rename(tmp_path / "study")
    assert cli.main(["cube", "world-model", str(episodes)]) == 0
    shutil.rmtree(tmp_path / "serial")
    same("cube collect OUT", out="", source=episodes)
