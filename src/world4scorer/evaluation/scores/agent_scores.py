"""Evaluate agents side by side: one row for each, PDMS v1.1 and EPDMS v2.2 with all their sub-scores.

>>> scores = evaluate_agents(SceneStore("scenes"), ["human", "constant-velocity"])
>>> scores.save("results.csv")
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from world4scorer import __version__
from world4scorer.datasets.navsim.synthetic import SYNTHETIC_TOKEN_LENGTH
from world4scorer.datasets.store import SceneStore
from world4scorer.drawing.finding import Table, save_result
from world4scorer.engine.outcomes.batch import map_threads
from world4scorer.engine.outcomes.results import V2Outcome
from world4scorer.engine.outcomes.v1 import pdms
from world4scorer.engine.outcomes.v2 import epdms
from world4scorer.engine.rollout.plans import LqrProfile
from world4scorer.evaluation.scores.agents import AGENTS
from world4scorer.evaluation.scores.pairing import pairs_within_logs
from world4scorer.evaluation.scores.submission import V1_NAMES, V2_NAMES, compare
from world4scorer.jobs.files import write_csv

Floats = NDArray[np.float64]

COLUMNS: Final[Mapping[str, Mapping[str, str]]] = {
    "pdms-v1.1": dict(zip(V1_NAMES, ("NC", "DAC", "EP", "TTC", "C", "DDC", "PDMS"), strict=True)),
    "epdms-v2.2": {
        **dict(zip(V2_NAMES[:8], ("NC", "DAC", "DDC", "TLC", "EP", "TTC", "LK", "HC"), strict=True)),
        "two_frame_extended_comfort": "EC",
        "score": "EPDMS",
    },
}
"""Official and short names of the columns, by metric."""


@dataclass(frozen=True, eq=False)
class AgentScores:
    """Mean scores of A agents over the same frames."""

    agents: tuple[str, ...]
    frames: int
    lqr: str
    means: Mapping[str, Mapping[str, Floats]]
    """By metric and official column name, (A,) each; NaN without any value."""

    @property
    def rows(self) -> list[dict[str, Any]]:
        """A flat row for each agent: its name, the number of frames, `<metric>/<column>`."""
        return [
            {"agent": agent, "frames": self.frames}
            | {f"{metric}/{name}": _plain(v[index]) for metric, cols in self.means.items() for name, v in cols.items()}
            for index, agent in enumerate(self.agents)
        ]

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the CSV, and the same as JSON and Markdown beside it."""
        path = Path(path)
        write_csv(path, [self.rows[0], *(row.values() for row in self.rows)])
        content = {"world4scorer": __version__, "lqr": self.lqr, "agents": self.rows}
        save_result(path.with_suffix(""), content, self.table().markdown())

    def table(self) -> Table:
        """Scores in percent, under short column names."""
        short = [name for columns in COLUMNS.values() for name in columns.values()]
        rows = []
        for row in self.rows:
            agent, frames, *values = row.values()
            rows.append((agent, str(frames), *("" if value is None else f"{100 * value:.1f}" for value in values)))
        return Table("Agents", ("agent", "frames", *short), tuple(rows))


def evaluate_agents(store: SceneStore, agents: Sequence[str], *, lqr: LqrProfile = "navsim") -> AgentScores:
    """Score the plans of the named agents on all recorded frames of a store."""
    names = tuple(dict.fromkeys(agents))
    unknown = [name for name in names if name not in AGENTS]
    if unknown or not names:
        what = f"unknown agent {unknown[0]!r}" if unknown else "no agent"
        raise ValueError(f"agents: {what}; choose from {', '.join(AGENTS)}")
    tokens = store.in_time_order([token for token in store if len(token) != SYNTHETIC_TOKEN_LENGTH])
    if not tokens:
        raise ValueError("no frame to evaluate: the store is empty; fill it with `w4s prepare`")

    def judge(token: str) -> tuple[Floats, V2Outcome]:
        scene = store[token]
        plans = np.stack([AGENTS[name](scene) for name in names]).astype(np.float64)
        return pdms(scene, plans, lqr=lqr).table, epdms(scene, plans, lqr=lqr)

    pairs = pairs_within_logs(store, tokens)
    first: list[Floats] = []
    second: list[Floats] = []
    before: Floats | None = None
    for token, (table, outcome) in zip(tokens, map_threads(judge, tokens), strict=True):
        pair = pairs.get(token)
        comfort = np.full(len(names), np.nan)
        if pair is not None and before is not None:
            comfort = np.array([compare(pair, *both) for both in zip(outcome.rollouts, before, strict=True)])
        first.append(table)
        second.append(np.column_stack([outcome.table[:, :8], comfort, outcome.score_with(comfort)]))
        before = outcome.rollouts
    means = {}
    for metric, tables in (("pdms-v1.1", np.stack(first)), ("epdms-v2.2", np.stack(second))):
        means[metric] = dict(zip(COLUMNS[metric], _means(tables).T, strict=True))
    return AgentScores(names, len(tokens), lqr, means)


def _means(tables: Floats) -> Floats:
    """(A, columns) means over the frames of (frames, A, columns), of the values that are there."""
    there = ~np.isnan(tables)
    counts = there.sum(0)
    sums = np.where(there, tables, 0.0).sum(0)
    return np.where(counts > 0, sums / np.maximum(counts, 1), np.nan)


def _plain(value: np.float64) -> float | None:
    return None if np.isnan(value) else float(value)
