"""Pools evaluated as benchmarks do: the plan taken in each frame, scored by PDMS v1.1, EPDMS v2.2 and EPDMS pre-151.

v1 takes the plan of highest v1 utility, v2 that of highest v2 utility; with inertial re-ranking v2 prefers plans that
continue the last one. The rows of the paper's Table 1 come from these three.

>>> evaluation = evaluate_pools(ScoredPools.open("pools/city_val"))
>>> evaluation.save(Path("scores"), "w4s evaluate ...")

Shapes: S frames.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from world4scorer.drawing.finding import Finding, Table
from world4scorer.engine.outcomes.results import V1_COLUMNS, V2_COLUMNS
from world4scorer.engine.selection.pool_spread import DISTINCT_DISTANCE, pool_spread
from world4scorer.evaluation.pools.choices import Chosen, continued, framewise, inertial
from world4scorer.evaluation.pools.scored import ScoredPools
from world4scorer.evaluation.scores.bootstrap import Interval, LogBootstrap, plain
from world4scorer.evaluation.scores.frames import LOG, TOKEN, compare_frames, frame_table, write_frames
from world4scorer.evaluation.scores.paper import paper
from world4scorer.evaluation.scores.regret import regret_tables
from world4scorer.jobs.extras import how_to_install

if TYPE_CHECKING:
    from matplotlib.figure import Figure

log = logging.getLogger("world4scorer")

NAME: Final = "evaluation"
NONE: Final = "-"
"""What a cell without a value holds."""

TABLE_1: Final = {
    "NC2": "v2_NC",
    "DAC2": "v2_DAC",
    "TLC": "v2_TLC",
    "DDC": "v2_DDC",
    "EP1": "v1_EP",
    "EP2": "v2_EP",
    "TTC1": "v1_TTC",
    "TTC2": "v2_TTC",
    "C": "v1_C",
    "LK": "v2_LK",
    "HC": "v2_HC",
    "EC": "v2_EC",
    "PDMS": "v1_PDMS",
    "EPDMS": "v2_EPDMS",
}
"""Columns of the paper's Table 1 (1: NAVSIM v1, 2: v2), and where they come from; re-ranked, v2 only."""

SCORES: Final = (("v1_PDMS", "PDMS v1.1"), ("v2_EPDMS", "EPDMS v2.2"), ("v2_EPDMS_pre151", "EPDMS pre-151"))

SPREAD: Final = {
    "spread_end_distance": "mean distance between two end points [m]",
    "spread_nearest_end": "mean distance of an end point to its nearest neighbour [m]",
    "spread_distinct": f"plans farther than {DISTINCT_DISTANCE:g} m from every other plan, mean over poses [%]",
}
"""How far the plans of a pool lie apart: the fields of `PoolSpread`."""


@dataclass(frozen=True, eq=False)
class PoolEvaluation:
    """Scores of the plans taken, frame by frame, and what they amount to."""

    frames: pa.Table
    finding: Finding

    def save(self, folder: Path, command: str) -> None:
        """Write frames.parquet, frames.csv, evaluation.json, .md and .png."""
        self.finding.save(folder, command)
        write_frames(self.frames, folder)

    def against(self, others: pa.Table, name: str, draws: int) -> PoolEvaluation:
        """The same with a comparison to another evaluation, paired by frame."""
        table, numbers = compare_frames(self.frames, others, draws)
        table = replace(table, title=f"{table.title} with {name}")
        found = self.finding
        finding = replace(found, tables=(*found.tables, table), numbers={**found.numbers, "against": numbers})
        return PoolEvaluation(self.frames, finding)


def evaluate_pools(pools: ScoredPools, weight: float = 1.0, draws: int = 10_000) -> PoolEvaluation:
    """Take a plan in every frame, framewise and with inertial re-ranking of this weight, and score them."""
    choice = pools.plans.shape[1] > 1
    columns: dict[str, Any] = {TOKEN: pools.tokens, LOG: pools.log_names, "time_us": pools.time_us}
    columns |= _v1_columns(pools, framewise(pools.utility_v1))
    columns |= _v2_columns(pools, framewise(pools.utility_v2), "v2")
    if choice:
        columns |= _v2_columns(pools, inertial(pools, pools.utility_v2, weight), "reranked")
        columns |= {"best_PDMS": pools.pdms.max(1), "random_PDMS": pools.pdms.mean(1)}
        columns |= dict(zip(SPREAD, pool_spread(pools.plans), strict=True))
    bootstrap = LogBootstrap(pools.log_names, draws)
    means = {name: bootstrap.mean(values) for name, values in columns.items() if _is_score(name)}
    rows = {"framewise": "v2", "+ inertial re-ranking": "reranked"} if choice else {"one plan per frame": "v2"}
    tables = [_table_1(means, rows), _intervals(means, rows)]
    regret: dict[str, Any] = {}
    if choice:
        lost, regret = regret_tables(pools, bootstrap)
        tables += [*lost, _spread(means)]
    finding = Finding(
        name=NAME,
        title="Evaluation",
        question="How good are the plans that are taken, by the rules of NAVSIM v1.1 and v2.2?",
        data=pools.describe() + f" Intervals: 95 %, {draws:,} draws of logs with replacement.",
        weights=pools.weights,
        numbers={
            "frames": len(pools),
            "logs": pools.logs,
            "pairs": int(pools.paired.sum()),
            "lqr": pools.about["lqr"],
            "weight": weight if choice else None,
            "means": {name: plain(mean) for name, mean in means.items()},
            "regret": regret,
        },
        tables=tuple(tables),
        remarks=(
            "EC belongs to frames with a frame before; the others are scored without it.",
            "Rows marked as the paper's were measured on NAVSIM navtest and stand here for orientation only.",
        ),
        paper={name: paper("navsim")[name] for name in ("columns", "ours_framewise", "ours_reranked")},
        figure=_figure(means, rows),
    )
    return PoolEvaluation(frame_table(columns), finding)


def _v1_columns(pools: ScoredPools, chosen: Chosen) -> dict[str, NDArray[Any]]:
    table = pools.at(pools.v1, chosen)
    return {"v1_choice": chosen} | {f"v1_{name}": table[:, index] for index, name in enumerate(V1_COLUMNS)}


def _v2_columns(pools: ScoredPools, chosen: Chosen, prefix: str) -> dict[str, NDArray[Any]]:
    table = pools.at(pools.v2, chosen)
    return {
        f"{prefix}_choice": chosen,
        **{f"{prefix}_{name}": table[:, index] for index, name in enumerate(V2_COLUMNS[:8])},
        f"{prefix}_EC": continued(pools, chosen),
        f"{prefix}_EPDMS": pools.epdms(chosen),
        f"{prefix}_EPDMS_pre151": pools.epdms(chosen, "pre151"),
    }


def _is_score(name: str) -> bool:
    return "_" in name and name not in (LOG, "time_us") and not name.endswith("choice")


def _source(column: str, prefix: str) -> str | None:
    """Where a row of Table 1 takes a column from; re-ranking has none of v1."""
    name = TABLE_1[column]
    if prefix == "v2":
        return name
    return None if name.startswith("v1_") else name.replace("v2_", f"{prefix}_")


def _table_1(means: dict[str, Interval], rows: dict[str, str]) -> Table:
    lines = []
    for title, prefix in rows.items():
        sources = [_source(column, prefix) for column in TABLE_1]
        lines.append((title, *(NONE if name is None else _percent(means[name].value) for name in sources)))
    reported = paper("navsim")
    assert tuple(reported["columns"]) == tuple(TABLE_1)
    for key, title in (("ours_framewise", "framewise"), ("ours_reranked", "+ inertial re-ranking")):
        lines.append((f"paper, NAVSIM: {title}", *(NONE if v is None else f"{v:.1f}" for v in reported[key])))
    return Table("Table 1 (1: NAVSIM v1, 2: NAVSIM v2; %)", ("", *TABLE_1), tuple(lines))


def _intervals(means: dict[str, Interval], rows: dict[str, str]) -> Table:
    lines = []
    for name, title in SCORES:
        cells = (means.get(name.replace("v2_", f"{prefix}_")) for prefix in rows.values())
        first, *others = cells
        assert first is not None
        same = name.startswith("v1_")
        cell = (first, *(None if same else one for one in others))
        lines.append((title, *(NONE if one is None else one.times(100).text() for one in cell)))
    for name, title in (("best_PDMS", "PDMS, best of the pool"), ("random_PDMS", "PDMS, random pick")):
        if name in means:
            lines.append((title, means[name].times(100).text(), *(NONE for _ in list(rows)[1:])))
    return Table("Scores with 95 % intervals (%)", ("", *rows), tuple(lines))


def _spread(means: dict[str, Interval]) -> Table:
    """Metres, and a share in percent."""
    rows = ((title, means[name].times(1 if "[m]" in title else 100).text(2)) for name, title in SPREAD.items())
    return Table("Spread of the plans of a pool with 95 % intervals", ("", "mean over frames"), tuple(rows))


def _percent(value: float) -> str:
    return NONE if np.isnan(value) else f"{100 * value:.1f}"


def _figure(means: dict[str, Interval], rows: dict[str, str]) -> Figure | None:
    """The chart of the table; None, with a warning, in an installation that cannot draw."""
    try:
        from world4scorer.drawing.charts import OTHER, OURS, PAPER, chart
    except ImportError as error:
        if (remedy := how_to_install(error, "its chart")) is None:
            raise
        log.warning("the evaluation is written without its chart: %s", remedy)
        return None
    figure, axis = chart(1, size=(10.4, 3.5))
    positions = np.arange(len(TABLE_1))
    for index, (title, prefix) in enumerate(rows.items()):
        found = [(at, _source(column, prefix)) for at, column in zip(positions, TABLE_1, strict=True)]
        there = [(at, means[name].times(100)) for at, name in found if name is not None and means[name].value >= 0]
        at = np.array([x for x, _ in there]) + 0.2 * (index - (len(rows) - 1) / 2)
        values = np.array([mean for _, mean in there])
        spread = np.abs(values[:, 1:] - values[:, :1]).T
        colour = OURS if index == len(rows) - 1 else OTHER
        axis.errorbar(at, values[:, 0], spread, fmt="os"[index], ms=6, color=colour, lw=1.4, label=title)
    for key, shift, label in (("ours_framewise", -0.1, "paper, NAVSIM"), ("ours_reranked", 0.1, None)):
        beside = positions + (shift if len(rows) > 1 else 0.0)
        reported = [np.nan if value is None else value for value in paper("navsim")[key]]
        axis.scatter(beside, reported, marker="_", s=150, lw=1.8, color=PAPER, label=label, zorder=1)
    axis.set_xticks(positions, TABLE_1)
    axis.set_ylabel("%")
    axis.legend(fontsize=8, ncols=3, frameon=False, loc="upper center", bbox_to_anchor=(0.5, 1.14))
    return figure
