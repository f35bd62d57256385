"""Rooms and their corners import only what docs/architecture.md allows: what stands above them in its table."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "world4scorer"
PACKAGE = "world4scorer"
MOST_ROOMS = 12
MOST_FILES = 25
"""Python files in one folder."""


@dataclass(frozen=True)
class Room:
    """A row of the table."""

    name: str
    corners: tuple[str, ...]
    """Folders and single files, in order; the room's other files come after them."""
    knows: frozenset[str]
    """Rooms that it may import from."""

    def rank(self, parts: tuple[str, ...]) -> int:
        """How far down in the room a module lies, by its path below the room; the room's own package is its start."""
        if not parts:
            return -1
        return self.corners.index(parts[0]) if parts[0] in self.corners else len(self.corners)


def read_table() -> dict[str, Room]:
    rows = re.findall(
        r"^\| `(\w+)` \|([^|]*)\|[^|]*\|([^|]*)\|$", (ROOT / "docs" / "architecture.md").read_text(), re.M
    )
    names = r"`(\w+)(?:\.py)?`"
    return {
        name: Room(name, tuple(re.findall(names, mid)), frozenset(re.findall(names, end))) for name, mid, end in rows
    }


ROOMS = read_table()
ORDER = list(ROOMS)


def module_path(path: Path) -> tuple[str, ...]:
    """Room, corner, file of a source file, without the package's name."""
    parts = path.relative_to(SOURCE).with_suffix("").parts
    return parts[:-1] if parts[-1] == "__init__" else parts


MODULES = {module_path(path) for path in SOURCE.rglob("*.py")}


def imports_of(path: Path) -> Iterator[tuple[tuple[str, ...], int]]:
    """Modules of this package that a file imports anywhere in it, for type checkers too, and the lines."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}:{node.lineno}: a relative import"
            found = [f"{node.module}.{alias.name}" for alias in node.names]
        else:
            continue
        for name in found:
            head, *parts = name.split(".")
            if head != PACKAGE:
                continue
            while parts and tuple(parts) not in MODULES:
                parts.pop()  # a name in a module
            yield tuple(parts), node.lineno


def wrong_imports(path: Path) -> Iterator[str]:
    room_name, *own = module_path(path)
    room = ROOMS[room_name]
    for parts, line in imports_of(path):
        where = f"{path.relative_to(SOURCE)}:{line} imports {'.'.join(parts) or PACKAGE}"
        if not parts:
            continue  # the version
        if parts[0] != room_name:
            if parts[0] not in room.knows:
                yield where
        elif room.rank(parts[1:]) > room.rank(tuple(own)) >= 0:
            yield where


def test_every_folder_is_a_room():
    assert {path.parent.name for path in SOURCE.glob("*/__init__.py")} == set(ROOMS)
    assert len(ROOMS) <= MOST_ROOMS


def test_every_corner_is_there_and_every_folder_is_a_corner():
    for room in ROOMS.values():
        folders = {path.parent.name for path in (SOURCE / room.name).glob("*/__init__.py")}
        files = {path.stem for path in (SOURCE / room.name).glob("*.py")}
        assert folders <= set(room.corners) <= folders | files, room.name


def test_rooms_know_only_rooms_above_them():
    for room in ROOMS.values():
        assert room.knows <= set(ORDER[: ORDER.index(room.name)]), room.name


@pytest.mark.parametrize("room", ORDER)
def test_imports_point_up(room):
    assert [found for path in sorted((SOURCE / room).rglob("*.py")) for found in wrong_imports(path)] == []


@pytest.mark.parametrize("room", ORDER)
def test_rooms_know_nothing_that_they_do_not_use(room):
    used = {parts[0] for path in (SOURCE / room).rglob("*.py") for parts, _ in imports_of(path) if parts}
    assert ROOMS[room].knows <= used


def test_only_the_version_comes_from_the_top():
    """The public names are for users; here each is imported from where it is defined."""
    for path in SOURCE.glob("*/**/*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom) and node.module == PACKAGE:
                assert [alias.name for alias in node.names] == ["__version__"], path


def test_only_public_modules_stand_beside_the_rooms():
    """`compat` passes on names and does nothing itself."""
    assert {path.stem for path in SOURCE.glob("*.py")} == {"__init__", "__main__", "compat"}
    body = ast.parse((SOURCE / "compat.py").read_text()).body
    assert all(isinstance(node, ast.ImportFrom | ast.Assign) or node is body[0] for node in body)


def test_rooms_and_corners_say_what_lives_there():
    for path in SOURCE.rglob("__init__.py"):
        assert ast.get_docstring(ast.parse(path.read_text())), path


def test_no_folder_is_crowded_or_deep():
    for folder in {path.parent for path in SOURCE.rglob("*.py")}:
        assert len(folder.relative_to(SOURCE).parts) <= 2, folder
        assert len(list(folder.glob("*.py"))) <= MOST_FILES, folder


def test_what_the_checks_above_see(tmp_path, monkeypatch):
    """Plain imports, imports for type checkers, imports inside functions."""
    room = SOURCE / "engine" / "scene" / "made_up.py"
    text = "import world4scorer.city.world\nif TYPE_CHECKING:\n    from world4scorer.planner import bank\n"
    text += "def f():\n    from world4scorer.engine.outcomes.v1 import label\n"
    monkeypatch.setattr(Path, "read_text", lambda path: text)
    assert len(list(wrong_imports(room))) == 3
