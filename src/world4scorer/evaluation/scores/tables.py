"""Tables for the terminal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray
from rich import box
from rich.console import Console
from rich.table import Table

from world4scorer.engine.outcomes import V1_COLUMNS, V2_COLUMNS
from world4scorer.evaluation.scores.agent_scores import COLUMNS, AgentScores
from world4scorer.evaluation.scores.exchange_files import Fields, FileResult
from world4scorer.evaluation.scores.rerank_files import RerankedLog, pass_rate

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


def print_means(scored: Sequence[FileResult[Fields]]) -> None:
    """Print, metric by metric, the mean of every column over all frames and plans of each file."""
    console = _console()
    done = [(file.source.stem, file.result) for file in scored if file.result is not None]
    for title, field, final, columns in TABLES:
        rows = []
        for stem, fields in done:
            if field in fields:
                values = fields[field].reshape(-1, len(columns)).copy()
                if final is not None:
                    values[:, -1] = fields[final].reshape(-1)
                rows.append((stem, values))
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


def print_reranked(results: Sequence[FileResult[RerankedLog]], weight: float) -> None:
    """Print what re-ranking changed: choices, extended comfort of consecutive choices, EPDMS."""
    done = [(file.source.stem, file.result) for file in results if file.result is not None]
    if not done:
        return
    table = Table(
        title=f"inertial re-ranking, weight {weight:g}: framewise -> re-ranked",
        title_justify="left",
        box=box.SIMPLE_HEAD,
    )
    for name in ("file", "frames", "changed", "EC", "EPDMS"):
        table.add_column(name, justify="left" if name == "file" else "right")
    groups = [(stem, [log]) for stem, log in done] if len(done) <= MOST_ROWS else []
    for name, logs in [*groups, (f"{len(done)} files", [log for _, log in done])]:
        before, after = [log.framewise for log in logs], [log.inertial for log in logs]
        changed = sum(int((b.chosen != a.chosen).sum()) for b, a in zip(before, after, strict=True))
        scores = [np.concatenate([choices.score for choices in part]) for part in (before, after)]
        table.add_row(
            name,
            str(len(scores[0])),
            str(changed),
            f"{pass_rate(before):.3f} -> {pass_rate(after):.3f}",
            f"{scores[0].mean():.4f} -> {scores[1].mean():.4f}",
        )
    _console().print(table)


def print_agents(scores: AgentScores) -> None:
    """Print, metric by metric, a row of means for each agent."""
    console = _console()
    for metric, columns in scores.means.items():
        title = f"{metric}, LQR {scores.lqr}: means over {scores.frames:,} frames"
        table = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD)
        table.add_column("agent")
        for name in columns:
            table.add_column(COLUMNS[metric][name], justify="right")
        for place, agent in enumerate(scores.agents):
            table.add_row(agent, *(_mean(values[place]) for values in columns.values()))
        console.print(table)


def _mean(value: np.float64) -> str:
    return "-" if np.isnan(value) else f"{value:.4f}"
