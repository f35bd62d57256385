"""How much the weight of re-ranking matters (Appendix E.3).

The weight is lambda in: choose the plan of highest U + lambda log(0.01 + 0.99 c), with c = 1 for a plan that continues
the one taken before and 0 for one that does not. At 0 the choice is framewise. EC and EPDMS are those of the sequence
that is taken; the band is the largest mean EPDMS minus the smallest over the weights above 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import numpy as np
from matplotlib.figure import Figure

from world4scorer.drawing.charts import OURS, PAPER, chart, set_title
from world4scorer.drawing.finding import Finding, Table
from world4scorer.evaluation.pools.choices import continued, framewise, inertial
from world4scorer.evaluation.pools.scored import ScoredPools
from world4scorer.evaluation.scores.bootstrap import Interval, LogBootstrap, cell, plain
from world4scorer.evaluation.scores.paper import paper

WEIGHTS: Final = (0.25, 0.5, 1.0, 2.0)


class Row(NamedTuple):
    """What one weight leads to."""

    epdms: Interval
    ec: Interval
    gain: Interval
    """EPDMS above that of framewise choices, paired by frame."""
    changed: float
    """Share of choices that are not the framewise ones."""


def lambda_weight(pools: ScoredPools, weights: Sequence[float] = WEIGHTS, draws: int = 10_000) -> Finding:
    """Re-rank at each weight, and framewise."""
    if not weights or not all(np.isfinite(one) and one > 0 for one in weights) or len(set(weights)) < len(weights):
        raise ValueError(f"weights: {list(weights)}; finite numbers above 0 are needed, each once (0 is always there)")
    bootstrap = LogBootstrap(pools.log_names, draws)
    rows = {weight: _row(pools, bootstrap, weight) for weight in (0.0, *sorted(weights))}
    means = [row.epdms.value for weight, row in rows.items() if weight > 0]
    band = max(means) - min(means)
    theirs = paper("lambda_epdms")
    reported = {
        "epdms": theirs,
        "epdms_framewise": paper("history_epdms")["memoryless"],
        "ec": paper("reranking")["EC"],
        "band_points": round(max(theirs.values()) - min(theirs.values()), 2),
    }
    return Finding(
        name="lambda",
        title="The weight of re-ranking",
        question="How much does it matter how strongly plans that continue the last one are preferred?",
        data=pools.describe(),
        weights=pools.weights,
        numbers={
            "band": band,
            "weights": {
                f"{weight:g}": {
                    "EPDMS": plain(row.epdms),
                    "EC": plain(row.ec),
                    "gain": plain(row.gain),
                    "changed_choices": row.changed,
                }
                for weight, row in rows.items()
            },
        },
        tables=(_table(rows, reported),),
        remarks=_remarks(rows, band, reported),
        paper=reported,
        figure=_figure(rows, reported),
    )


def _row(pools: ScoredPools, bootstrap: LogBootstrap, weight: float) -> Row:
    base = framewise(pools.utility_v2)
    chosen = inertial(pools, pools.utility_v2, weight)
    score = pools.epdms(chosen)
    return Row(
        bootstrap.mean(score),
        bootstrap.mean(continued(pools, chosen)),
        bootstrap.mean(score - pools.epdms(base)),
        float((chosen != base).mean()),
    )


def _theirs(reported: Any, weight: float) -> float | None:
    """The paper's EPDMS at a weight, if it reports it."""
    value = reported["epdms_framewise"] if weight == 0 else reported["epdms"].get(f"{weight:g}")
    return None if value is None else float(value)


def _table(rows: dict[float, Row], reported: Any) -> Table:
    cells = tuple(
        (
            f"{weight:g}" if weight else "0 (framewise)",
            cell(row.epdms),
            "" if weight == 0 else cell(row.gain, digits=2, signed=True),
            cell(row.ec),
            f"{100 * row.changed:.1f}",
            "" if (theirs := _theirs(reported, weight)) is None else f"{theirs}",
        )
        for weight, row in rows.items()
    )
    columns = ("weight", "EPDMS", "gain over framewise", "EC", "changed choices [%]", "EPDMS, paper, NAVSIM")
    return Table("Framewise and re-ranked", columns, cells)


def _remarks(rows: dict[float, Row], band: float, reported: Any) -> tuple[str, ...]:
    low, high = min(weight for weight in rows if weight > 0), max(rows)
    persists = all(row.gain.low > 0 for weight, row in rows.items() if weight > 0)
    return (
        f"Between weights {low:g} and {high:g} EPDMS moves by {100 * band:.2f} points (paper, "
        f"0.25 to 2: {reported['band_points']}); the gain over framewise choices {'is' if persists else 'is not'} clear"
        " of 0 at every weight.",
        "The paper's EPDMS is of its Coverage planner, its EC (framewise, and at weight 1) of its main planner.",
    )


def _figure(rows: dict[float, Row], reported: Any) -> Figure:
    figure, (left, right) = chart(2, size=(9.0, 3.6))
    comfort = dict(zip((0.0, 1.0), reported["ec"], strict=True))
    positions = np.arange(len(rows))
    for axis, name in ((left, "epdms"), (right, "ec")):
        values = [getattr(row, name).times(100) for row in rows.values()]
        spread = [[v.value - v.low for v in values], [v.high - v.value for v in values]]
        axis.errorbar(
            positions, [v.value for v in values], spread, color=OURS, marker="o", ms=5, lw=1.6, capsize=3, label="ours"
        )
        axis.set_xticks(positions, [f"{weight:g}" if weight else "0\n(framewise)" for weight in rows])
        axis.set_xlabel("weight of re-ranking")
        axis.margins(x=0.08)
    theirs = [(index, value) for index, weight in enumerate(rows) if (value := _theirs(reported, weight)) is not None]
    left.plot(*zip(*theirs, strict=True), color=PAPER, marker="s", ms=4.5, lw=1.2, ls="--", label="paper, NAVSIM")
    for index, weight in enumerate(rows):
        theirs_ec = comfort.get(weight)
        if theirs_ec is not None:
            right.scatter(index, theirs_ec, marker="s", s=24, color=PAPER, zorder=4)
    set_title(left, "EPDMS and 95 % intervals")
    set_title(right, "extended comfort and 95 % intervals [%]")
    left.legend(fontsize=8, frameon=False, loc="upper center", ncols=2, bbox_to_anchor=(0.5, -0.22))
    return figure
