"""The result of an evaluation or a study, and its files: numbers (.json), tables (.md), figure (.png), other pictures.

>>> path = finding.save(run.studies, "w4s study reranking city")
>>> Finding.load(path.with_suffix(".json")).numbers["changed"]
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from world4scorer import __version__
from world4scorer.jobs.files import atomic_write, read_json, write_json

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DPI: Final = 130

Picture: TypeAlias = "Figure | Path"
"""A figure, or the PNG it was saved as."""


@dataclass(frozen=True)
class Table:
    """Cells as text."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    """The first cell of each row names it."""

    def __post_init__(self) -> None:
        for row in self.rows:
            assert len(row) == len(self.columns), f"{self.title}: {row} does not fit {self.columns}"

    def markdown(self) -> str:
        """The table in Markdown, without its title."""
        lines = [f"| {' | '.join(self.columns)} |", "|---|" + "--:|" * (len(self.columns) - 1)]
        lines += [f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in row)} |" for row in self.rows]
        return "\n".join(lines) + "\n"


@dataclass(frozen=True, eq=False)
class Finding:
    """The answer to one question about one data set."""

    name: str
    """Name of the study as in `w4s study NAME`; also the stem of its files."""
    title: str
    question: str
    """The question, in a sentence."""
    data: str
    """The data it was measured on, in a sentence."""
    weights: str
    """Digest of the planner whose pools were measured; empty for several planners or none."""
    numbers: Mapping[str, Any]
    """All measured values as plain types; shares and scores between 0 and 1."""
    tables: tuple[Table, ...]
    remarks: tuple[str, ...] = ()
    """Conclusions, and what cannot be compared with the paper."""
    paper: Mapping[str, Any] = field(default_factory=dict)
    """Values that the paper reports, on NAVSIM."""
    figure: Picture | None = None
    pictures: Mapping[str, Picture] = field(default_factory=dict)
    """Further pictures; each is written as NAME_KEY.png."""
    command: str = ""
    """Command line that made a loaded finding."""
    version: str = __version__
    """Version of World4Scorer that made it."""

    def save(self, folder: Path, command: str) -> Path:
        """Write FOLDER/NAME.json, .md and .png; returns the path without suffix."""
        path = folder / self.name
        pictures = {folder / f"{self.name}_{key}.png": picture for key, picture in self.pictures.items()}
        if self.figure is not None:
            pictures = {path.with_suffix(".png"): self.figure, **pictures}
        content = {
            "study": self.name,
            "title": self.title,
            "question": self.question,
            "data": self.data,
            "weights": self.weights,
            "command": command,
            "world4scorer": self.version,
            "numbers": self.numbers,
            "paper": self.paper,
            "tables": [vars(table) for table in self.tables],
            "remarks": self.remarks,
            "pictures": [picture.name for picture in pictures],
        }
        save_result(path, content, self.markdown(command), pictures)
        return path

    @classmethod
    def load(cls, path: Path) -> Finding:
        """Read a JSON file that `save` wrote; its pictures are the files beside it."""
        content = read_json(path, remedy="make it again, or delete it")
        saved_as = _get(path, content, "study", str, path.stem)
        names = _texts(path, "pictures", _get(path, content, "pictures", list, []))
        pictures = {name.removesuffix(".png"): _picture(path, name) for name in names}
        return cls(
            name=path.stem,
            **{name: _get(path, content, name, str) for name in ("title", "question", "data", "command")},
            weights=_get(path, content, "weights", str, ""),
            numbers=_get(path, content, "numbers", dict),
            tables=tuple(_table(path, raw) for raw in _get(path, content, "tables", list)),
            remarks=_texts(path, "remarks", _get(path, content, "remarks", list, [])),
            paper=_get(path, content, "paper", dict, {}),
            figure=pictures.pop(saved_as, None),
            pictures={stem.removeprefix(f"{saved_as}_"): picture for stem, picture in pictures.items()},
            version=_get(path, content, "world4scorer", str, ""),
        )

    def markdown(self, command: str) -> str:
        """The finding as a page."""
        parts = [f"# {self.title}\n", f"{self.question}\n", f"{self.data} Made by `{command}`.\n"]
        for table in self.tables:
            parts += [f"## {table.title}\n", table.markdown()]
        if self.figure is not None:
            parts.append(f"![{self.title}]({self.name}.png)\n")
        parts += [f"![{self.title}: {key}]({self.name}_{key}.png)\n" for key in self.pictures]
        if self.remarks:
            # A list right below a table would become a row of it, hence at the end.
            parts.append(
                "".join(f"- {remark}\n" for remark in self.remarks) if self.remarks[1:] else f"{self.remarks[0]}\n"
            )
        return "\n".join(parts)


def save_result(
    path: Path,
    content: Mapping[str, Any],
    markdown: str,
    pictures: Mapping[Path, Picture] | None = None,
    allow_nan: bool = False,
) -> None:
    """Write PATH.json, PATH.md and pictures by their paths, each atomically."""
    write_json(path.with_name(f"{path.name}.json"), content, allow_nan=allow_nan)
    _write(path.with_name(f"{path.name}.md"), markdown.encode())
    for target, picture in (pictures or {}).items():
        if not isinstance(picture, Path):
            from world4scorer.drawing.birdseye import save

            save(picture, target, DPI)
        elif picture != target:
            _write(target, picture.read_bytes())


def _write(path: Path, content: bytes) -> None:
    with atomic_write(path) as stream:
        stream.write(content)


def _get(path: Path, content: Mapping[str, Any], name: str, kind: type, default: Any = None) -> Any:
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
    title = _get(path, raw, "title", str)
    columns = _texts(path, "columns", raw.get("columns"))
    rows = tuple(_texts(path, "rows", row) for row in _get(path, raw, "rows", list))
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
