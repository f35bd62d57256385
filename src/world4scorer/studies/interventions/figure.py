"""The figure of the interventions: where own, mean and deranged states lead, and the regret of each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from world4scorer.drawing import style
from world4scorer.drawing.charts import BAD, GOOD, OTHER, OURS, PAPER, chart, set_title
from world4scorer.evaluation.scores.bootstrap import Interval
from world4scorer.studies.shared.paper_marks import PAPER_NAME, error_bar, name_paper_marks, paper_mark
from world4scorer.studies.shared.reassignment import Reassigned

SPREAD: Final = 0.2
"""How far repeats lie from the middle of their lane."""
MARKS: Final = {
    "best of pool": ("^", GOOD),
    "own state": ("o", OURS),
    "deranged": ("|", BAD),
    "mean state": ("s", OTHER),
    "random pick": ("x", style.INK),
}
BARS: Final = (
    ("own", "own state", OURS),
    ("single", "deranged once", BAD),
    ("repeated", "deranged, repeated", "#f0b088"),
    ("scene_mean", "mean state", OTHER),
)


def draw(found: Mapping[str, Reassigned], kinds: Mapping[str, str], reported: Any) -> Figure:
    """PDMS of every assignment on the left, regret with intervals on the right; the paper's values in grey."""
    height = 2.4 + 0.8 * (len(found) + 1)
    figure, (left, right) = chart(2, size=(11.0, height), width_ratios=(1.25, 1.0))
    _lanes(left, found, reported)
    _regrets(right, found, kinds, reported)
    marks = [
        Line2D([], [], ls="", marker=marker, color=colour, ms=7, mew=1.6, label=name)
        for name, (marker, colour) in MARKS.items()
    ]
    figure.legend(handles=marks, fontsize=8, ncols=3, frameon=False, loc="outside lower left")
    figure.legend(*right.get_legend_handles_labels(), fontsize=8, ncols=3, frameon=False, loc="outside lower right")
    return figure


def _lanes(axes: Axes, found: Mapping[str, Reassigned], reported: Any) -> None:
    lanes = [*found, PAPER_NAME]
    for lane, one in enumerate(found.values()):
        means = 100 * np.asarray(one.means)
        jitter = np.random.default_rng(0).uniform(-SPREAD, SPREAD, len(means))  # only to separate repeats
        axes.scatter(means, lane + jitter, marker="|", s=34, lw=0.9, color=MARKS["deranged"][1], alpha=0.75)
        _mark(axes, "best of pool", 100 * one.oracle.value, lane, shift=4)
        _mark(axes, "own state", 100 * one.own.selected.value, lane, shift=-4)
        _mark(axes, "mean state", 100 * one.scene_mean.selected.value, lane)
        _mark(axes, "random pick", 100 * one.random.value, lane, "below")
        _write(axes, f"{means.mean():.1f}", means.mean(), lane, "above", MARKS["deranged"][1])
    lane = len(found)
    axes.plot([reported["shuffled_min"], reported["shuffled_max"]], [lane, lane], color="#cfcfd2", lw=11)
    _write(axes, f"{reported['shuffled_mean']:.1f}", reported["shuffled_mean"], lane, "above", style.FAINT)
    for name, key, shift in (("best of pool", "oracle", 4), ("own state", "own", -4), ("mean state", "scene_mean", 0)):
        _mark(axes, name, reported[key], lane, shift=shift, colour=PAPER)
    axes.set_yticks(range(len(lanes)), lanes)
    axes.set_ylim(lane + 0.55, -0.6)
    axes.set_xlim(-4, 106)
    axes.grid(axis="x", color="#e6e6e3", lw=0.8)
    axes.grid(visible=False, axis="y")
    axes.set_xlabel("PDMS of the chosen plans")
    repeats = len(next(iter(found.values())).means)
    set_title(axes, f"chosen with own, mean and {repeats} times deranged states")


def _mark(
    axes: Axes, name: str, value: float, lane: int, side: str = "above", shift: float = 0.0, colour: str | None = None
) -> None:
    marker, usual = MARKS[name]
    axes.scatter(value, lane, marker=marker, s=58, color=colour or usual, zorder=4, lw=1.8)
    _write(axes, f"{value:.1f}", value, lane, side, style.INK if colour is None else style.FAINT, shift)


def _write(axes: Axes, text: str, value: float, lane: int, side: str, colour: str, shift: float = 0.0) -> None:
    up = side == "above"
    at = (value, lane + (-SPREAD if up else SPREAD))
    offset = (shift, 3 if up else -3)
    axes.annotate(
        text,
        at,
        offset,
        textcoords="offset points",
        ha="center",
        va="bottom" if up else "top",
        fontsize=8,
        color=colour,
    )


def _regrets(axes: Axes, found: Mapping[str, Reassigned], kinds: Mapping[str, str], reported: Any) -> None:
    width = 0.8 / len(BARS)
    for index, (label, one) in enumerate(found.items()):
        for number, (name, words, colour) in enumerate(BARS):
            regret: Interval = getattr(one, name).regret.times(100)
            at = index + (number - (len(BARS) - 1) / 2) * width
            axes.bar(at, regret.value, 0.92 * width, color=colour, label=words if index == 0 else None)
            error_bar(axes, at, regret)
            theirs = _theirs(name, kinds[label], reported)
            if theirs is not None:
                paper_mark(axes, at, theirs, 0.84 * width)
    name_paper_marks(axes)
    axes.set_xticks(range(len(found)), list(found))
    axes.set_xlim(-0.55, len(found) - 0.45)
    set_title(axes, "regret against the best of each pool [points], 95 %")


def _theirs(name: str, kind: str, reported: Any) -> float | None:
    if kind == "baseline":
        own = float(reported["drivor_regret_own"])
        return {"own": own, "single": own + float(reported["drivor_delta_deranged"][0])}.get(name)
    named = {"own": "regret_own", "single": "regret_deranged", "scene_mean": "regret_scene_mean"}
    if name in named:
        return float(reported[named[name]][0])
    return float(reported["oracle"] - reported["shuffled_mean"])
