"""Habits of the source that no linter checks."""

from __future__ import annotations

import ast
from pathlib import Path

SOURCE = Path(__file__).parents[1] / "src" / "world4scorer"
MAY_PRINT = ("jobs/progress.py", "driving/serving/world4scorer_agent.py")
"""The progress bar, and the one file that is copied into CARLA's leaderboard."""


def prints(path: Path) -> list[int]:
    """Lines that call `print`, a console's `print`, `traceback.print_exc` or a standard stream's `write`."""
    lines = []
    for node in ast.walk(ast.parse(path.read_text())):
        if not isinstance(node, ast.Call):
            continue
        called = ast.unparse(node.func)
        if called.split(".")[-1] in ("print", "print_exc") or called in ("sys.stdout.write", "sys.stderr.write"):
            lines.append(node.lineno)
    return lines


def test_only_the_command_line_prints() -> None:
    """Library code logs; examples in docstrings are no calls."""
    found = []
    for path in sorted(SOURCE.rglob("*.py")):
        name = path.relative_to(SOURCE).as_posix()
        if not name.startswith("cli/") and name not in MAY_PRINT:
            found += [f"{name}:{line}" for line in prints(path)]
    assert found == []


def test_only_the_command_line_reads_command_lines() -> None:
    """Options of the library are plain dataclasses; `studies/shared/train_variant.py` is started as a process."""
    users = [path for path in SOURCE.rglob("*.py") if "import tyro" in path.read_text()]
    outside = {path.relative_to(SOURCE).as_posix() for path in users} - {"studies/shared/train_variant.py"}
    assert {name.split("/")[0] for name in outside} == {"cli"}
