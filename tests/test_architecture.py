"""Packages import only what stands above them in the table of docs/architecture.md."""

from __future__ import annotations

import ast
import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "world4scorer"
PAGE = (ROOT / "docs" / "architecture.md").read_text()
ROWS = [re.findall(r"`([\w./]+)`", row) for row in re.findall(r"^\| ((?:`[\w./]+`(?:, )?)+) \|", PAGE, re.MULTILINE)]
FOLDERS = [name for row in ROWS for name in row]
READS_WORDS = ("verbs.py", "command.py", "options.py")
"""Modules of other folders that belong to the commands."""


def imported(path: Path) -> set[str]:
    """First parts of the names below `world4scorer` that a file imports, but for type checkers."""
    names = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("world4scorer."):
            names.add(node.module.split(".")[1])
    return names


def test_every_package_is_in_the_table():
    there = {path.name for path in SOURCE.iterdir() if (path / "__init__.py").is_file()}
    assert there <= set(FOLDERS)


def test_imports_point_up():
    place = {name.removesuffix(".py"): number for number, row in enumerate(ROWS) for name in row}
    last = place["commands"]
    wrong = []
    for path in sorted(SOURCE.rglob("*.py")):
        folder = path.relative_to(SOURCE).parts[0].removesuffix(".py")
        own = last if path.name in READS_WORDS else place.get(folder, last)
        wrong += [f"{folder}/{path.name} imports {name}" for name in imported(path) if place.get(name, -1) > own]
    assert wrong == []
