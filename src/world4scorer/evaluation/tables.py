"""Tables for the terminal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray
from rich import box
from rich.console import Console
from rich.table import Table

from world4scorer.evaluation.exchange_files import Scored
from world4scorer.evaluation.rerank_files import RerankedFile, pass_rate
from world4scorer.outcomes import V1_COLUMNS, V2_COLUMNS

MOST_ROWS: Final = 60
"""More files than this are summed up in the last row only."""

WIDTH: Final = 132

TABLES: Final = (
    ("labels-v1", "v1_train", None, V1_COLUMNS),
    ("pdms-v1.1", "v1_eval", None, V1_COLUMNS),
    ("epdms-v2.2", "v2_filtered", "v2_epdms_noec_filtered", (*V2_COLUMNS[:8], "product", "EPDMS")),
    ("epdms-pre151", "v2_pre151", "v2_epdms_noec_pre151", (*V2_COLUMNS[:8], "product", "EPDMS")),
)
"""Title, field with the table, field that replaces its last column, column names."""


def print_means(scored: Sequence[Scored]) -> None:
    """Print, metric by metric, the mean of every column over all frames and plans of each file."""
    console = _console()
    done = [result for result in scored if result.fields is not None]
    for title, field, final, columns in TABLES:
        rows = []
        for result in done:
            assert result.fields is not None
            if field in result.fields:
                values = result.fields[field].reshape(-1, len(columns)).copy()
                if final is not None:
                    values[:, -1] = result.fields[final].reshape(-1)
                rows.append((result.source.stem, values))
        if not rows:
            continue
        table = Table(title=f"{title}: means over plans and frames", title_justify="left", box=box.SIMPLE_HEAD)
        table.add_column("file")
        table.add_column("plans", justify="right")
        for name in columns:
            table.add_column(name, justify="right")
        for stem, values in rows if len(rows) <= MOST_ROWS else []:
            table.add_row(stem, str(len(values)), *_means(values))
        everything = np.concatenate([values for _, values in rows])
        table.add_section()
        table.add_row(f"{len(rows)} files", str(len(everything)), *_means(everything), style="bold")
        console.print(table)


def _console() -> Console:
    """A console that never squeezes the tables: where the output is no terminal it is as wide as they are."""
    console = Console()
    return console if console.is_terminal else Console(width=WIDTH)


def _means(values: NDArray[np.float64]) -> list[str]:
    return [f"{mean:.4f}" for mean in values.mean(axis=0)]


def print_reranked(results: Sequence[RerankedFile], weight: float) -> None:
    """Print what re-ranking changed: choices, extended comfort of consecutive choices, EPDMS."""
    done = [result for result in results if result.framewise is not None and result.inertial is not None]
    table = Table(
        title=f"inertial re-ranking, weight {weight:g}: framewise -> re-ranked",
        title_justify="left",
        box=box.SIMPLE_HEAD,
    )
    for name in ("file", "frames", "changed", "EC", "EPDMS"):
        table.add_column(name, justify="left" if name == "file" else "right")
    groups = [(result.source.stem, [result]) for result in done] if len(done) <= MOST_ROWS else []
    for name, group in [*groups, (f"{len(done)} files", done)]:
        before = [result.framewise for result in group if result.framewise is not None]
        after = [result.inertial for result in group if result.inertial is not None]
        if not before:
            continue
        changed = sum(int((b.chosen != a.chosen).sum()) for b, a in zip(before, after, strict=True))
        scores = [np.concatenate([result.score for result in part]) for part in (before, after)]
        table.add_row(
            name,
            str(len(scores[0])),
            str(changed),
            f"{pass_rate(before):.3f} -> {pass_rate(after):.3f}",
            f"{scores[0].mean():.4f} -> {scores[1].mean():.4f}",
        )
    _console().print(table)
