"""The figure of the histories: what each scores, and what the correct one is worth above it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from world4scorer.evaluation.bootstrap import Interval
from world4scorer.view.charts import OURS, PAPER, chart


def draw(
    rows: Mapping[str, str],
    gap_names: Mapping[str, str],
    means: Mapping[str, Interval],
    gaps: Mapping[str, Interval],
    reported: Any,
) -> Figure:
    """Scores of every row on the left, the correct history's lead over it on the right, the paper's beside."""
    figure, (left, right) = chart(2, size=(10.2, 3.7), sharey=True, width_ratios=(1.15, 1.0))
    heights = {name: len(rows) - 1 - place for place, name in enumerate(rows)}
    for name, height in heights.items():
        value = means[name].times(100)
        left.barh(height, value.value, 0.6, color=OURS if name == "correct" else "#9cc3de")
        left.errorbar(value.value, height, xerr=_spread(value), fmt="none", ecolor="#333333", lw=1)
        if name in reported:
            left.scatter(reported[name], height, marker="|", s=300, color="black", lw=1.6, zorder=4)
    left.scatter([], [], marker="|", s=150, color="black", lw=1.6, label="paper, NAVSIM")
    shown = [100 * one.low for one in means.values()] + [reported[name] for name in rows if name in reported]
    left.set_xlim(max(0, 5 * np.floor(min(shown) / 5) - 5), 100)
    left.set_yticks(list(heights.values()), list(rows.values()))
    left.set_title("EPDMS and 95 % intervals (axis cut)")

    for name, gap in gaps.items():
        value, height = gap.times(100), heights[name]
        right.errorbar(value.value, height + 0.12, xerr=_spread(value), color=OURS, marker="o", ms=5, lw=1.6, capsize=3)
    for key, name in gap_names.items():
        value, height = Interval(*reported[key]), heights[name]
        right.errorbar(
            value.value, height - 0.16, xerr=_spread(value), color=PAPER, marker="s", ms=4.5, lw=1.4, capsize=3
        )
    right.errorbar([], [], color=OURS, marker="o", ms=5, label="ours")
    right.errorbar([], [], color=PAPER, marker="s", ms=4.5, label="paper, NAVSIM")
    right.axvline(0, color="#333333", lw=0.8)
    right.set_title("correct previous plan minus this [points]")
    for axis in (left, right):
        axis.grid(False, axis="y")
        axis.grid(True, axis="x", color="#e6e6e3", lw=0.8)
        axis.legend(fontsize=8, frameon=False, loc="upper center", ncols=2, bbox_to_anchor=(0.5, -0.1))
    return figure


def _spread(value: Interval) -> list[list[float]]:
    return [[value.value - value.low], [value.high - value.value]]
