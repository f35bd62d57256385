"""Findings read again from their files: what `Finding.save` wrote, and the pictures beside it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

from world4scorer.drawing.finding import Table

ORDER: Final = (
    "auxiliary-target",
    "label-pairing",
    "parts",
    "reranking",
    "interventions",
    "disagreement",
    "target-geometry",
    "state-geometry",
    "stability",
    "readouts",
    "counterfactual",
    "taxonomy",
    "consecutive",
    "lambda",
    "history",
    "coverage",
)
"""Studies as the paper has them."""


class KeptFinding(NamedTuple):
    """An evaluation or a study, as its files tell it."""

    path: Path
    title: str
    question: str
    data: str
    command: str
    version: str
    """Of World4Scorer, when it was made."""
    numbers: Mapping[str, Any]
    paper: Mapping[str, Any]
    """What the paper reports, on NAVSIM."""
    tables: tuple[Table, ...]
    remarks: tuple[str, ...]
    weights: str
    """Digest of the planner it is about; empty where there is not one."""
    pictures: tuple[Path, ...]

    @property
    def name(self) -> str:
        """Of the study."""
        return self.path.stem


def read_findings(folder: Path) -> tuple[KeptFinding, ...]:
    """All findings of a folder, in the paper's order; others after those, by name."""

    def place(path: Path) -> tuple[int, str]:
        return (ORDER.index(path.stem) if path.stem in ORDER else len(ORDER)), path.stem

    return tuple(read_finding(path) for path in sorted(folder.glob("*.json"), key=place))


def read_finding(path: Path) -> KeptFinding:
    """One finding; a ValueError names the file that cannot be used."""
    try:
        content = json.loads(path.read_bytes())
    except ValueError as error:
        raise _damaged(path, str(error)) from error
    if not isinstance(content, dict):
        raise _damaged(path, "an object is expected")
    pictures = _texts(path, "pictures", _of(path, content, "pictures", list, []))
    words = {name: _of(path, content, name, str) for name in ("title", "question", "data", "command")}
    return KeptFinding(
        path=path,
        **words,
        version=_of(path, content, "world4scorer", str, ""),
        numbers=_of(path, content, "numbers", dict),
        paper=_of(path, content, "paper", dict, {}),
        tables=tuple(_table(path, raw) for raw in _of(path, content, "tables", list)),
        remarks=_texts(path, "remarks", _of(path, content, "remarks", list, [])),
        weights=_of(path, content, "weights", str, ""),
        pictures=tuple(_picture(path, name) for name in pictures),
    )


def _of(path: Path, content: Mapping[str, Any], name: str, kind: type, default: Any = None) -> Any:
    value = content.get(name, default)
    if not isinstance(value, kind):
        raise _damaged(path, f"{name!r} is {'missing' if value is None else f'no {kind.__name__}'}")
    return value


def _texts(path: Path, name: str, values: Any) -> tuple[str, ...]:
    if not isinstance(values, list) or not all(isinstance(value, str) for value in values):
        raise _damaged(path, f"{name!r} must be a list of texts")
    return tuple(values)


def _table(path: Path, raw: Any) -> Table:
    if not isinstance(raw, dict):
        raise _damaged(path, "'tables' must be a list of objects")
    title = _of(path, raw, "title", str)
    columns = _texts(path, "columns", raw.get("columns"))
    rows = tuple(_texts(path, "rows", row) for row in _of(path, raw, "rows", list))
    for row in rows:
        if not row or len(row) != len(columns):
            raise _damaged(path, f"table {title!r}: a row of {len(row)} cells for {len(columns)} columns")
    return Table(title, columns, rows)


def _picture(path: Path, name: str) -> Path:
    picture = path.parent / name
    if picture.parent != path.parent or not picture.is_file():
        raise _damaged(path, f"its picture {name!r} is not beside it")
    return picture


def _damaged(path: Path, why: str) -> ValueError:
    return ValueError(f"{path}: damaged, or not what a study writes ({why}); make it again, or delete it")
