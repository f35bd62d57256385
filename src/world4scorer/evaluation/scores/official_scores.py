"""Our scores beside a CSV of the official scripts, token by token.

>>> comparison = compare_with_official(table, Path("official.csv"))
>>> comparison.table().markdown()
"""

from __future__ import annotations

import csv
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from world4scorer.drawing.finding import Table
from world4scorer.evaluation.scores.score_table import ScoreTable

TOKEN: Final = "token"
AVERAGES: Final = "average"
"""Rows whose token begins so hold means."""
SCORE: Final = "score"
ROUNDING: Final = 1e-6
"""Differences up to this come from the order of floating-point operations."""


@dataclass(frozen=True)
class ColumnDifference:
    """One column of both tables."""

    name: str
    compared: int
    """Tokens with a value in both."""
    equal: int
    """Of these, how many are the same number."""
    rounding: int
    """How many differ, by at most `ROUNDING`."""
    largest: float
    """Largest difference."""
    token: str
    """Where it is; empty if there is none."""
    only_ours: int
    """Tokens with a value here alone, such as an extended comfort whose pair the other did not find."""
    only_official: int

    @property
    def differing(self) -> int:
        """How many differ by more than rounding."""
        return self.compared - self.equal - self.rounding


@dataclass(frozen=True)
class OfficialComparison:
    """Both tables, compared."""

    path: Path
    columns: tuple[ColumnDifference, ...]
    only_ours: tuple[str, ...]
    """Tokens that the official table lacks."""
    only_official: tuple[str, ...]

    @property
    def agrees(self) -> bool:
        """Whether both have the same tokens, the same missing values, and numbers that differ by rounding at most."""
        same = all(not (one.differing or one.only_ours or one.only_official) for one in self.columns)
        return same and not self.only_ours and not self.only_official

    def table(self) -> Table:
        """A row for each column."""
        head = ("column", "compared", "equal", "rounding", "differ", "largest", "at token", "only here", "only there")
        rows = tuple(
            (
                one.name,
                f"{one.compared:,}",
                f"{one.equal:,}",
                f"{one.rounding:,}",
                f"{one.differing:,}",
                f"{one.largest:.2g}" if one.compared else "",
                one.token,
                f"{one.only_ours:,}",
                f"{one.only_official:,}",
            )
            for one in self.columns
        )
        return Table(f"Against {self.path.name}, token by token", head, rows)


def read_official(path: Path) -> dict[str, dict[str, str]]:
    """Rows of an official CSV by token, without those of means."""
    with open(path, newline="", encoding="utf-8") as stream:
        reader = csv.DictReader(stream)
        if TOKEN not in (reader.fieldnames or ()):
            raise ValueError(f"{path}: no column {TOKEN!r}; give a CSV of the official evaluation scripts")
        return {row[TOKEN]: row for row in reader if not row[TOKEN].startswith(AVERAGES)}


def compare_with_official(table: ScoreTable, path: Path) -> OfficialComparison:
    """Compare a table of ours with an official one; columns of either alone are left out."""
    rows = read_official(path)
    ours = {token: index for index, token in enumerate(table.tokens) if table.valid[index]}
    shared = [token for token in table.tokens if token in ours and token in rows]
    if not shared:
        raise ValueError(f"{path}: has none of the {len(ours):,} tokens that were scored here; of the same split?")
    known = next(iter(rows.values()))
    columns = []
    for name, values in table.columns.items():
        if values.ndim == 1 and name in known:
            mine = values[[ours[token] for token in shared]]
            columns.append(_column(path, name, mine, shared, rows))
    if SCORE not in {one.name for one in columns}:
        raise ValueError(f"{path}: no column {SCORE!r}; is it of another metric than {table.metric}?")
    others = tuple(token for token in rows if token not in ours)
    return OfficialComparison(path, tuple(columns), tuple(token for token in ours if token not in rows), others)


def _column(
    path: Path, name: str, ours: NDArray[np.float64], tokens: list[str], rows: Mapping[str, Mapping[str, str]]
) -> ColumnDifference:
    official = np.array([_number(path, token, name, rows[token][name]) for token in tokens])
    mine, theirs = ~np.isnan(ours), ~np.isnan(official)
    both = mine & theirs
    gap = np.where(both, np.abs(np.where(both, ours, 0.0) - np.where(both, official, 0.0)), 0.0)
    at = int(gap.argmax())
    return ColumnDifference(
        name,
        int(both.sum()),
        int((both & (gap == 0)).sum()),
        int((both & (gap > 0) & (gap <= ROUNDING)).sum()),
        float(gap[at]),
        tokens[at] if gap[at] > 0 else "",
        int((mine & ~theirs).sum()),
        int((theirs & ~mine).sum()),
    )


def _number(path: Path, token: str, name: str, text: str) -> float:
    """A cell; empty ones are missing values."""
    words = {"": np.nan, "True": 1.0, "False": 0.0}
    try:
        return words[text] if text in words else float(text)
    except ValueError as error:
        raise ValueError(f"{path}: token {token}, column {name}: {text!r} is no number") from error
