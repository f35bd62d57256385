"""One row of scores for each token, in the official column names, and the files that keep them."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from world4scorer import __version__
from world4scorer.jobs.files import atomic_write, write_csv

Floats = NDArray[np.float64]

AVERAGE_ROW: Final = {"pdms-v1.1": "average", "epdms-v2.2": "average_all_frames", "epdms-pre151": "average_all_frames"}
"""The token of the last row, by metric."""


@dataclass(frozen=True, eq=False)
class ScoreTable:
    """Scores of N tokens."""

    metric: str
    lqr: str
    tokens: Sequence[str]
    valid: NDArray[np.bool_]
    """(N,) False for tokens without a plan; their scores are NaN."""
    columns: Mapping[str, Floats]
    """(N,) each, or (N, k) for a vector; NaN where a value is missing. The last column is the final score."""
    notes: Mapping[str, Any] = field(default_factory=dict)
    """What else a reader should know, as plain values."""

    @property
    def score(self) -> float:
        """The set's score: the mean of the frames' final scores."""
        return self.averages["score"]

    @property
    def averages(self) -> dict[str, float]:
        """Mean of each column over the values that are there."""
        means = {}
        for name, values in self.columns.items():
            if values.ndim == 1:
                there = values[~np.isnan(values)]
                means[name] = float(there.mean()) if len(there) else float("nan")
        return means

    def row(self, token: str) -> dict[str, Any]:
        """Return the scores of one token by column name."""
        index = list(self.tokens).index(token)
        return {name: values[index].tolist() for name, values in self.columns.items()}

    def write_csv(self, path: str | os.PathLike[str]) -> None:
        """Write `token, valid, <columns>`, the last row holding the averages; missing values are left empty."""
        rows: list[list[Any]] = [["token", "valid", *self.columns]]
        for index, token in enumerate(self.tokens):
            cells = (_cell(values[index]) for values in self.columns.values())
            rows.append([token, bool(self.valid[index]), *cells])
        means = self.averages
        averages = (_cell(means.get(name)) for name in self.columns)
        write_csv(path, [*rows, [AVERAGE_ROW[self.metric], bool(self.valid.all()), *averages]])

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the CSV, and beside it a JSON file that says how the numbers came about."""
        self.write_csv(path)
        with atomic_write(Path(path).with_suffix(".json")) as stream:
            stream.write(json.dumps(self.summary(), indent=2, allow_nan=False).encode() + b"\n")

    def summary(self) -> dict[str, Any]:
        """Return metric, profile, counts and averages; an average of nothing is None."""
        return {
            "metric": self.metric,
            "lqr": self.lqr,
            "world4scorer": __version__,
            "tokens": len(self.tokens),
            "valid": int(self.valid.sum()),
            "averages": {name: None if np.isnan(value) else value for name, value in self.averages.items()},
            **self.notes,
        }


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if np.ndim(value):
        return json.dumps([float(entry) for entry in value]) if not np.isnan(value).any() else ""
    return "" if np.isnan(value) else repr(float(value))
