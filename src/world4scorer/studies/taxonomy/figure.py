"""The figure of the failures: how they divide and what is repaired, and how often whom the check lets pass."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from world4scorer.drawing.charts import GOOD, OURS, PAPER, chart, set_title
from world4scorer.evaluation.scores.bootstrap import Interval


def draw(
    classes: Mapping[str, tuple[tuple[Interval, Interval], tuple[float, float]]],
    rates: Mapping[str, tuple[Interval, float | None]],
) -> Figure:
    """Draw each class (share, repaired part, the paper's two) and each pass rate (ours, the paper's)."""
    figure, (left, right) = chart(2, size=(10.4, 3.9), width_ratios=(1.0, 1.15))
    positions = np.arange(len(classes))
    for part, colour, label in ((0, OURS, "share of failures"), (1, GOOD, "of these repaired")):
        at = positions + (0.2 if part else -0.2)
        values = [ours[part].times(100) for ours, _ in classes.values()]
        left.bar(at, [v.value for v in values], 0.36, color=colour, label=label)
        _whiskers(left, at, values, vertical=True)
        theirs = [100 * reported[part] for _, reported in classes.values()]
        name = "paper, NAVSIM" if part else None
        left.scatter(at, theirs, marker="_", s=300, color="black", lw=1.6, zorder=4, label=name)
    left.set_xticks(positions, [name.replace("score-continuity ", "score-continuity\n") for name in classes])
    left.set_ylim(0, 104)
    set_title(left, "framewise failures of extended comfort [%]")
    left.legend(fontsize=8, loc="upper center", ncols=3, frameon=False, bbox_to_anchor=(0.5, -0.16))

    heights = np.arange(len(rates))[::-1]
    values = [ours.times(100) for ours, _ in rates.values()]
    right.barh(heights, [v.value for v in values], 0.62, color=[OURS, GOOD, "#56b4e9", "#56b4e9", PAPER, PAPER])
    _whiskers(right, heights, values, vertical=False)
    for height, (_, rate) in zip(heights, rates.values(), strict=True):
        if rate is not None:
            right.scatter(100 * rate, height, marker="|", s=300, color="black", lw=1.6, zorder=4)
    right.set_yticks(heights, list(rates))
    right.set_xlim(0, 104)
    right.grid(False, axis="y")
    right.grid(True, axis="x", color="#e6e6e3", lw=0.8)
    set_title(right, "pairs that pass [%]")
    return figure


def _whiskers(axis: Any, positions: NDArray[Any], values: list[Interval], vertical: bool) -> None:
    spread = [[v.value - v.low for v in values], [v.high - v.value for v in values]]
    middle = [v.value for v in values]
    where = (positions, middle) if vertical else (middle, positions)
    axis.errorbar(*where, **{"yerr" if vertical else "xerr": spread}, fmt="none", ecolor="#333333", lw=1)
