"""Tables of scores as text, for terminals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from world4scorer.engine.outcomes import V1_COLUMNS, V2_COLUMNS
from world4scorer.evaluation.scores.agent_scores import COLUMNS, AgentScores
from world4scorer.evaluation.scores.exchange_files import Fields, FileResult, RerankedLog, pass_rate

TableText = tuple[str, Sequence[str], Sequence[Sequence[str]]]
"""Title, head and rows."""
MOST_ROWS: Final = 60
"""With more files than this, only the row over all files is shown."""
TABLES: Final = (
    ("labels-v1", "v1_train", None, V1_COLUMNS),
    ("pdms-v1.1", "v1_eval", None, V1_COLUMNS),
    ("epdms-v2.2", "v2_filtered", "v2_epdms_noec_filtered", (*V2_COLUMNS[:8], "product", "EPDMS")),
    ("epdms-pre151", "v2_pre151", "v2_epdms_noec_pre151", (*V2_COLUMNS[:8], "product", "EPDMS")),
)
"""Title, field with the table, field that replaces its last column, column names."""


def mean_tables(scored: Sequence[FileResult[Fields]]) -> list[TableText]:
    """For each metric, means of every column over all frames and plans of each file; the last row is over all files."""
    done = [(file.source.stem, file.result) for file in scored if file.result is not None]
    tables: list[TableText] = []
    for title, field, final, columns in TABLES:
        found = []
        for stem, fields in done:
            if field in fields:
                values = fields[field].reshape(-1, len(columns)).copy()
                if final is not None:
                    values[:, -1] = fields[final].reshape(-1)
                found.append((stem, values))
        if not found:
            continue
        shown = found if len(found) <= MOST_ROWS else []
        shown = [*shown, (f"{len(found)} files", np.concatenate([values for _, values in found]))]
        rows = [(stem, str(len(values)), *_means(values)) for stem, values in shown]
        tables.append((f"{title}: means over plans and frames", ("file", "plans", *columns), rows))
    return tables


def _means(values: NDArray[np.float64]) -> list[str]:
    return [f"{mean:.4f}" for mean in values.mean(axis=0)]


def reranked_tables(results: Sequence[FileResult[RerankedLog]], weight: float) -> list[TableText]:
    """What re-ranking changed: choices, extended comfort of consecutive choices, EPDMS; none without results."""
    done = [(file.source.stem, file.result) for file in results if file.result is not None]
    if not done:
        return []
    groups = [(stem, [log]) for stem, log in done] if len(done) <= MOST_ROWS else []
    rows = []
    for name, logs in [*groups, (f"{len(done)} files", [log for _, log in done])]:
        before, after = [log.framewise for log in logs], [log.inertial for log in logs]
        changed = sum(int((b.chosen != a.chosen).sum()) for b, a in zip(before, after, strict=True))
        scores = [np.concatenate([choices.score for choices in part]) for part in (before, after)]
        comfort = f"{pass_rate(before):.3f} -> {pass_rate(after):.3f}"
        rows.append(
            (name, str(len(scores[0])), str(changed), comfort, f"{scores[0].mean():.4f} -> {scores[1].mean():.4f}")
        )
    title = f"inertial re-ranking, weight {weight:g}: framewise -> re-ranked"
    return [(title, ("file", "frames", "changed", "EC", "EPDMS"), rows)]


def agent_tables(scores: AgentScores) -> list[TableText]:
    """For each metric, a row of means for each agent."""
    return [
        (
            f"{metric}, LQR {scores.lqr}: means over {scores.frames:,} frames",
            ("agent", *(COLUMNS[metric][name] for name in columns)),
            [
                (agent, *("-" if np.isnan(values[index]) else f"{values[index]:.4f}" for values in columns.values()))
                for index, agent in enumerate(scores.agents)
            ],
        )
        for metric, columns in scores.means.items()
    ]
