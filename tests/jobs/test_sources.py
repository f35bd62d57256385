"""A derived file is current as long as its source has the same content, wherever and whenever that was copied."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from world4scorer.jobs.sources import check_source, has_changed, stamp


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "log.pkl"
    path.write_bytes(b"content")
    os.utime(path, ns=(10**18, 10**18))
    return path


def test_the_same_file_and_copies_of_it(source: Path, tmp_path: Path) -> None:
    known = stamp(source)
    assert not has_changed(source, known)
    copied = Path(shutil.copy(source, tmp_path / "copy.pkl"))  # with a time of its own
    assert not has_changed(copied, known)
    assert not has_changed(source, {}) and not has_changed(source, None)  # files of 0.1.0 do not say


@pytest.mark.parametrize("content", [b"CONTENT", b"content and more", b""])
def test_other_content(source: Path, content: bytes) -> None:
    known = stamp(source)
    source.write_bytes(content)
    assert has_changed(source, known)


def test_digests_that_differ_are_named() -> None:
    check_source("bank", "scenes", "a", "a", ValueError, "make it again")
    check_source("bank", "scenes", None, "a", ValueError, "make it again")
    with pytest.raises(ValueError, match="bank: made from other scenes than there are now; make it again"):
        check_source("bank", "scenes", "a", "b", ValueError, "make it again")
