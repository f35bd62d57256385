from __future__ import annotations

from pathlib import Path

import pytest

from tests.faults.damage import KINDS, damaged_kind
from world4scorer.jobs import checksums


@pytest.mark.parametrize("name", [name for name, kind in KINDS.items() if kind.work != "network"])
def test_damaged_files_are_never_used(name: str, tmp_path: Path) -> None:
    assert damaged_kind(name, 0, tmp_path, cases=40).failures == ()


@pytest.mark.faults
@pytest.mark.parametrize("name", KINDS)
def test_damaged_files_are_never_used_however_often(name: str, tmp_path: Path) -> None:
    assert damaged_kind(name, 1, tmp_path, cases=5000).failures == ()


@pytest.mark.parametrize("name", ["scene store, shard", "bank, candidates", "pools", "settings"])
def test_damage_would_be_noticed(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the comparison of checksums, the same cases fail."""
    monkeypatch.setattr(checksums, "is_intact", lambda source: True)
    assert any("something else" in failure for failure in damaged_kind(name, 0, tmp_path, cases=200).failures)
