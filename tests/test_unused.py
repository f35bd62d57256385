"""Nothing in the package is there for tests alone: every function, class and constant is used by it, or documented."""

from __future__ import annotations

import ast
import re
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "world4scorer"
CALLED_BY_OTHERS = {"get_entry_point"}
"""CARLA's leaderboard asks the agent's file for it."""


EXPORTS = re.compile(r"^from \S+ import (?:\([^)]*\)|.*)$|^__all__ = \[[^]]*\]", re.MULTILINE)
"""That a package exports a name is no use of it."""


def words(paths: list[Path]) -> Counter[str]:
    texts = (EXPORTS.sub("", path.read_text()) if path.name == "__init__.py" else path.read_text() for path in paths)
    return Counter(word for text in texts for word in re.findall(r"\w+", text))


def definitions(path: Path) -> list[str]:
    """Names that a module defines at its top."""
    names = []
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            names.append(node.name)
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            names += [name.id for target in targets for name in ast.walk(target) if isinstance(name, ast.Name)]
    return [name for name in names if not name.startswith("__")]


def test_nothing_is_for_tests_alone():
    modules = list(SOURCE.rglob("*.py"))
    used = words(modules)
    documented = words([ROOT / "README.md", *(ROOT / "docs").rglob("*.md"), *(ROOT / "benchmarks").glob("*.py")])
    alone = [
        f"{path.relative_to(SOURCE)}: {name}"
        for path in sorted(modules)
        for name in definitions(path)
        if used[name] == 1 and not documented[name] and name not in CALLED_BY_OTHERS
    ]
    assert alone == []
