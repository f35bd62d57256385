"""The figure of the histories: what each scores, and what the correct one is worth above it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from matplotlib.figure import Figure

from world4scorer.drawing.charts import OURS, PAPER, chart, set_title
from world4scorer.evaluation.scores.bootstrap import Interval


def draw(
    rows: Mapping[str, str],
    gap_names: Mapping[str, str],
    means: Mapping[str, Interval],
    gaps: Mapping[str, Interval],
    reported: Any,
) -> Figure:
    """Scores of every row on the left, the correct history's lead over it on the right, the paper's beside."""
    figure, (left, right) = chart(2, size=(10.2, 3.7), sharey=True, width_ratios=(1.15, 1.0))
    heights = {name: len(rows) - 1 - index for index, name in enumerate(rows)}
    for name, height in heights.items():
        value = means[name].times(100)
        size = 9 if name == "correct" else 6
        left.errorbar(value.value, height, xerr=_spread(value), color=OURS, marker="o", ms=size, lw=1.6, capsize=3)
        if name in reported:
            left.scatter(reported[name], height, marker="s", s=20, color=PAPER, zorder=4)
    left.set_yticks(list(heights.values()), list(rows.values()))
    set_title(left, "EPDMS and 95 % intervals")

    for name, gap in gaps.items():
        value, height = gap.times(100), heights[name]
        right.errorbar(value.value, height + 0.12, xerr=_spread(value), color=OURS, marker="o", ms=5, lw=1.6, capsize=3)
    for key, name in gap_names.items():
        value, height = Interval(*reported[key]), heights[name]
        right.errorbar(
            value.value, height - 0.16, xerr=_spread(value), color=PAPER, marker="s", ms=4.5, lw=1.4, capsize=3
        )
    right.axvline(0, color="#333333", lw=0.8)
    set_title(right, "correct previous plan minus this [points]")
    for axis in (left, right):
        axis.grid(False, axis="y")
        axis.grid(True, axis="x", color="#e6e6e3", lw=0.8)
        axis.errorbar([], [], color=OURS, marker="o", ms=5, label="ours")
        axis.errorbar([], [], color=PAPER, marker="s", ms=4.5, label="paper, NAVSIM")
        axis.legend(fontsize=8, frameon=False, loc="upper center", ncols=2, bbox_to_anchor=(0.5, -0.1))
    return figure


def _spread(value: Interval) -> list[list[float]]:
    return [[value.value - value.low], [value.high - value.value]]
