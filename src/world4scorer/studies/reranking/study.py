"""Inertial re-ranking on and off, with the same planner and the same pools (Table 2c).

Framewise selection takes the plan of highest v2 utility in every frame; re-ranking prefers plans that continue the one
taken before. EC and EPDMS are those of the sequence that is taken.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from matplotlib.figure import Figure

from world4scorer.drawing.charts import BAD, GOOD, OURS, PAPER, chart, set_title
from world4scorer.drawing.finding import Finding, Table
from world4scorer.engine.outcomes.results import V2_COLUMNS
from world4scorer.evaluation.pools.choices import Chosen, continued, framewise, inertial
from world4scorer.evaluation.pools.scored import ScoredPools
from world4scorer.evaluation.scores.bootstrap import Interval, LogBootstrap, cell, plain, verdict
from world4scorer.evaluation.scores.paper import paper

SCORES: Final = ("EC", "EP", "EPDMS")


def reranking(pools: ScoredPools, weight: float = 1.0, draws: int = 10_000) -> Finding:
    """Compare framewise and re-ranked selection, paired by frame."""
    bootstrap = LogBootstrap(pools.log_names, draws)
    off, on = framewise(pools.utility_v2), inertial(pools, pools.utility_v2, weight)
    before, after = _scores(pools, off), _scores(pools, on)
    found = {name: _compared(bootstrap, before[name], after[name]) for name in SCORES}
    reported = paper("reranking")
    changed = float((off != on).mean())
    rows = tuple(
        (
            name,
            *(cell(found[name][part]) for part in ("off", "on")),
            cell(found[name]["change"], digits=2, signed=True),
            f"{reported[name][0]} to {reported[name][1]}",
        )
        for name in SCORES
    )
    return Finding(
        name="reranking",
        title="Inertial re-ranking",
        question="What does it change to prefer plans that continue the last one, with planner and pools fixed?",
        data=pools.describe(),
        weights=pools.weights,
        numbers={
            "weight": weight,
            "changed_choices": changed,
            **{name: {part: plain(one) for part, one in parts.items()} for name, parts in found.items()},
        },
        tables=(Table("Framewise and re-ranked", ("", "off", "on", "change", "paper, NAVSIM"), rows),),
        remarks=(_remark(found, changed),),
        paper=reported,
        figure=_figure(pools, before, after, found, reported),
    )


def _scores(pools: ScoredPools, chosen: Chosen) -> dict[str, Any]:
    progress = pools.at(pools.v2, chosen)[:, V2_COLUMNS.index("EP")]
    return {"EC": continued(pools, chosen), "EP": progress, "EPDMS": pools.epdms(chosen)}


def _compared(bootstrap: LogBootstrap, off: Any, on: Any) -> dict[str, Interval]:
    return {"off": bootstrap.mean(off), "on": bootstrap.mean(on), "change": bootstrap.mean(on - off)}


def _remark(found: dict[str, dict[str, Interval]], changed: float) -> str:
    comfort, score = found["EC"]["change"], found["EPDMS"]["change"]
    return (
        f"Re-ranking changes {100 * changed:.0f} % of the choices. It moves extended comfort by "
        f"{cell(comfort, signed=True)} points and {verdict(score)} EPDMS ({cell(score, digits=2, signed=True)})."
    )


def _figure(
    pools: ScoredPools, before: dict[str, Any], after: dict[str, Any], found: dict[str, Any], reported: Any
) -> Figure:
    figure, (left, right) = chart(2, size=(9.6, 3.6), width_ratios=(1.0, 1.25))
    positions = np.arange(len(SCORES))
    for shift, part, colour in ((-0.2, "off", PAPER), (0.2, "on", OURS)):
        values = [found[name][part].times(100) for name in SCORES]
        spread = [[v.value - v.low for v in values], [v.high - v.value for v in values]]
        left.bar(positions + shift, [v.value for v in values], 0.36, color=colour, label=f"re-ranking {part}")
        left.errorbar(positions + shift, [v.value for v in values], spread, fmt="none", ecolor="#333333", lw=1)
        at = [reported[name][part == "on"] for name in SCORES]
        left.scatter(
            positions + shift,
            at,
            marker="_",
            s=260,
            color="black",
            lw=1.4,
            label=None if shift < 0 else "paper, NAVSIM",
        )
    left.set_xticks(positions, SCORES)
    left.set_ylim(0, 108)
    set_title(left, "means and 95 % intervals [%]")
    left.legend(fontsize=8, loc="lower center", ncols=3, frameon=False, bbox_to_anchor=(0.5, -0.28))
    change = 100 * (after["EPDMS"] - before["EPDMS"])
    names = np.unique(pools.log_names)
    logs = np.asarray(pools.log_names)
    by_log = np.sort([change[logs == name].mean() for name in names])
    right.bar(np.arange(len(by_log)), by_log, color=[GOOD if value >= 0 else BAD for value in by_log], width=0.85)
    right.axhline(0, color="#333333", lw=0.8)
    set_title(right, "change of EPDMS, log by log [points]")
    right.set_xticks([])
    right.set_xlabel(f"{len(names)} logs, sorted")
    return figure
