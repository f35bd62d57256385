"""What an evaluation or a study found, and its files: numbers (.json), tables (.md), figure (.png), other pictures."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from matplotlib.figure import Figure

from world4scorer import __version__
from world4scorer.drawing.birdseye import save
from world4scorer.jobs.files import atomic_write

DPI: Final = 130
STUDIES: Final = "studies"
"""Folder of findings of studies, beside what they are about."""
EVALUATION: Final = "evaluation"
"""Folder of an evaluation, likewise."""


@dataclass(frozen=True)
class Table:
    """Cells as they are read."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    """The first cell of each names it."""

    def __post_init__(self) -> None:
        for row in self.rows:
            assert len(row) == len(self.columns), f"{self.title}: {row} does not fit {self.columns}"

    def markdown(self) -> str:
        """The table as text."""
        lines = [f"| {' | '.join(self.columns)} |", "|---|" + "--:|" * (len(self.columns) - 1)]
        lines += [f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in row)} |" for row in self.rows]
        return "\n".join(lines) + "\n"


@dataclass(frozen=True, eq=False)
class Finding:
    """The answer to one question about one data set."""

    name: str
    """Of the study, as commands know it; names its files."""
    title: str
    question: str
    """What was asked, in a sentence."""
    data: str
    """What it was asked of."""
    weights: str
    """Digest of the planner whose pools were looked at; empty where several or none were."""
    numbers: Mapping[str, Any]
    """Everything that was measured, as plain values; shares and scores between 0 and 1."""
    tables: tuple[Table, ...]
    remarks: tuple[str, ...] = ()
    """What the numbers say, and what in them cannot be compared with the paper's."""
    paper: Mapping[str, Any] = field(default_factory=dict)
    """What the paper reports, on NAVSIM."""
    figure: Figure | None = None
    pictures: Mapping[str, Figure] = field(default_factory=dict)
    """Further pictures; each is written as NAME_KEY.png."""

    def save(self, folder: Path, command: str) -> Path:
        """Write FOLDER/NAME.json, .md and .png; returns the path without suffix."""
        path = folder / self.name
        pictures = {folder / f"{self.name}_{key}.png": figure for key, figure in self.pictures.items()}
        if self.figure is not None:
            pictures = {path.with_suffix(".png"): self.figure, **pictures}
        content = {
            "study": self.name,
            "title": self.title,
            "question": self.question,
            "data": self.data,
            "weights": self.weights,
            "command": command,
            "world4scorer": __version__,
            "numbers": self.numbers,
            "paper": self.paper,
            "tables": [vars(table) for table in self.tables],
            "remarks": self.remarks,
            "pictures": [picture.name for picture in pictures],
        }
        _write(path.with_suffix(".json"), json.dumps(content, indent=1, allow_nan=False) + "\n")
        _write(path.with_suffix(".md"), self.markdown(command))
        for picture, figure in pictures.items():
            save(figure, picture, DPI)
        return path

    def markdown(self, command: str) -> str:
        """The finding as a page."""
        parts = [f"# {self.title}\n", f"{self.question}\n", f"{self.data} Made by `{command}`.\n"]
        for table in self.tables:
            parts += [f"## {table.title}\n", table.markdown()]
        if self.figure is not None:
            parts.append(f"![{self.title}]({self.name}.png)\n")
        parts += [f"![{self.title}: {key}]({self.name}_{key}.png)\n" for key in self.pictures]
        if self.remarks:
            # Apart from what stands above: a list right below a table would become a row of it.
            parts.append(
                "".join(f"- {remark}\n" for remark in self.remarks) if self.remarks[1:] else f"{self.remarks[0]}\n"
            )
        return "\n".join(parts)


def _write(path: Path, text: str) -> None:
    with atomic_write(path) as stream:
        stream.write(text.encode())
