"""Bytes from outside: a value or a ValueError, whatever they are."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.faults.attack import in_child
from tests.faults.engine_pairs import engine_pairs
from tests.faults.hostile import hostile_files
from tests.faults.readers import CORPORA, READERS, fuzzed_reader, problem_of


@pytest.mark.parametrize("name", [name for name, reader in READERS.items() if not reader.slow])
def test_changed_inputs(name: str, tmp_path: Path) -> None:
    assert fuzzed_reader(name, 0, tmp_path, cases=100).failures == ()


@pytest.mark.parametrize("name", READERS)
def test_what_is_changed_is_sound(name: str, tmp_path: Path) -> None:
    for content in READERS[name].seeds():
        (tmp_path / "input").write_bytes(content)
        if name != "synthetic":  # has no small file of its own
            READERS[name].read(content if READERS[name].of_bytes else tmp_path / "input")


@pytest.mark.parametrize("path", sorted(CORPORA.glob("*/*")), ids=lambda path: f"{path.parent.name}/{path.name}")
def test_what_once_failed(path: Path, tmp_path: Path) -> None:
    ended = in_child(lambda: problem_of(path.parent.name, path.read_bytes(), tmp_path / "input"), limit_memory=True)
    assert ended.value == "", ended


def test_hostile_files(tmp_path: Path) -> None:
    assert hostile_files(3, tmp_path).failures == ()


@pytest.mark.faults
def test_all_hostile_files(tmp_path: Path) -> None:
    assert hostile_files(0, tmp_path).failures == ()


@pytest.mark.faults
def test_the_engine(tmp_path: Path) -> None:
    assert engine_pairs(0, tmp_path).failures == ()
