"""Locks, temporary files and task loops are written once, in `jobs`."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[2] / "src" / "world4scorer"


def users(pattern: str) -> set[str]:
    """Files outside `jobs` in which a pattern occurs."""
    found = {path.relative_to(SOURCE) for path in SOURCE.rglob("*.py") if re.search(pattern, path.read_text())}
    return {path.as_posix() for path in found if path.parts[0] != "jobs"}


@pytest.mark.parametrize(
    ("pattern", "allowed"),
    [
        (r"filelock|flock|fcntl|msvcrt|only_one|O_EXCL", set()),
        # A server holds the path of its socket, which is no folder of resumable work.
        (r"hold_lock", {"driving/serving/address.py"}),
        # A check of data reports unreadable logs as findings, and writes nothing.
        (r"\.run\((?!\[|\*)\w+\(?.*(tasks|names|missing|todo|wanted)", {"datasets/prepare/check_data.py"}),
        (r"executor(\(\))?\)?\.run\(", {"datasets/prepare/check_data.py"}),
        (r"\.is_user_error|\.details\b", set()),
        (r"glob\([^)]*\.tmp", set()),
    ],
)
def test_only_jobs(pattern: str, allowed: set[str]) -> None:
    assert users(pattern) == allowed


def test_lock_files_are_named_only_where_they_differ_from_the_default() -> None:
    named = users(r"\.lock\"")
    assert named == {"city/world/make.py", "planner/bank/make.py", "driving/serving/address.py"}
