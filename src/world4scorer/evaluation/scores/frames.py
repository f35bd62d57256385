"""The per-frame table of an evaluation: Parquet and CSV, and two of them compared frame by frame."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
from numpy.typing import NDArray

from world4scorer.drawing.finding import Table
from world4scorer.evaluation.scores.bootstrap import Interval, LogBootstrap, plain
from world4scorer.jobs.files import atomic_write

PARQUET: Final = "frames.parquet"
CSV: Final = "frames.csv"
TOKEN: Final = "token"
LOG: Final = "log_name"

COMPARED: Final = (
    "v1_PDMS",
    "v2_EC",
    "v2_EPDMS",
    "v2_EPDMS_pre151",
    "reranked_EC",
    "reranked_EPDMS",
    "reranked_EPDMS_pre151",
)
"""Columns that two evaluations are compared in."""


def frame_table(columns: Mapping[str, Any]) -> pa.Table:
    """A table of columns; NaN becomes null."""
    return pa.table({name: pa.array(values, from_pandas=True) for name, values in columns.items()})


def write_frames(table: pa.Table, folder: Path) -> None:
    """Write FOLDER/frames.parquet and frames.csv."""
    with atomic_write(folder / PARQUET) as stream:
        pyarrow.parquet.write_table(table, stream)
    text = io.BytesIO()
    pyarrow.csv.write_csv(table, text)
    with atomic_write(folder / CSV) as stream:
        stream.write(text.getvalue())


def read_frames(source: Path) -> pa.Table:
    """The table of an evaluation: its folder, or the Parquet file."""
    path = source / PARQUET if source.is_dir() else source
    if not path.is_file():
        raise ValueError(f"{path}: no such file; `w4s evaluate ... --out FOLDER` writes it")
    try:
        table = pyarrow.parquet.read_table(path)
    except pa.ArrowInvalid as error:
        raise ValueError(f"{path}: not a readable Parquet file ({error}); evaluate again") from error
    missing = [name for name in (TOKEN, LOG) if name not in table.column_names]
    if missing:
        raise ValueError(f"{path}: no column {missing[0]!r}; not the table of an evaluation")
    return table


def compare_frames(ours: pa.Table, others: pa.Table, draws: int) -> tuple[Table, dict[str, Any]]:
    """Differences ours - others over the frames that both have, paired by token, logs drawn with replacement."""
    index = {token: row for row, token in enumerate(others[TOKEN].to_pylist())}
    tokens = ours[TOKEN].to_pylist()
    mine = [row for row, token in enumerate(tokens) if token in index]
    if not mine:
        raise ValueError("the two evaluations have no frame in common; are they of the same split?")
    theirs = [index[tokens[row]] for row in mine]
    logs = np.asarray(ours[LOG].to_pylist())[mine]
    bootstrap = LogBootstrap(logs.tolist(), draws)
    rows, numbers = [], {}
    for name in COMPARED:
        if name in ours.column_names and name in others.column_names:
            first, second = _values(ours, name, mine), _values(others, name, theirs)
            found = _difference(bootstrap, first, second)
            numbers[name] = {"frames": found["frames"]} | {key: plain(found[key]) for key in _INTERVALS}
            numbers[name] |= {"better": found["better"], "worse": found["worse"]}
            rows.append(
                (
                    name.replace("_", " "),
                    *(found[key].times(100).text() for key in ("ours", "others")),
                    found["difference"].times(100).text(2, signed=True),
                    f"{100 * found['better']:.1f} / {100 * found['worse']:.1f}",
                )
            )
    title = f"Paired by frame, {len(mine):,} in common"
    return Table(title, ("", "this", "other", "difference", "better / worse [%]"), tuple(rows)), numbers


_INTERVALS: Final = ("ours", "others", "difference")


def _difference(bootstrap: LogBootstrap, ours: NDArray[Any], others: NDArray[Any]) -> dict[str, Any]:
    both = ~(np.isnan(ours) | np.isnan(others))
    first, second = (np.where(both, values, np.nan) for values in (ours, others))
    parts: dict[str, Interval] = {
        "ours": bootstrap.mean(first),
        "others": bootstrap.mean(second),
        "difference": bootstrap.mean(first - second),
    }
    change = (ours - others)[both]
    count = max(len(change), 1)
    return parts | {
        "frames": int(both.sum()),
        "better": float((change > 0).sum() / count),
        "worse": float((change < 0).sum() / count),
    }


def _values(table: pa.Table, name: str, rows: Sequence[int]) -> NDArray[np.float64]:
    kind = table[name].type
    if not (pa.types.is_floating(kind) or pa.types.is_integer(kind) or pa.types.is_null(kind)):
        raise ValueError(f"column {name!r} holds {kind}, not numbers; this is not the table of an evaluation")
    return np.asarray(table[name].cast(pa.float64()).to_numpy(), np.float64)[rows]
