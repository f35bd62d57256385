"""The figure of the disagreement of objectives."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from world4scorer.drawing.charts import OTHER, OURS, chart, set_title
from world4scorer.evaluation.scores.bootstrap import Interval
from world4scorer.studies.shared.paper_marks import error_bar, name_paper_marks, paper_mark

Intervals = Mapping[str, Interval]

WIDTH: Final = 0.72
PARTS: Final = ("EC", "DDC", "NC", "DAC", "EP", "TTC", "C")
JOINT: Final = (
    ("infeasible", "all", "all\nframes"),
    ("infeasible_most_dynamic_quarter", "most_dynamic_quarter", "most\ndynamic\nquarter"),
    ("infeasible_median_threshold", "median_threshold", "above the\nmedian"),
    ("infeasible_within_scene", "within_scene", "quartile\nof each\nscene"),
)


def draw(rule: Intervals, native: Intervals, gap: Intervals, progress: Intervals, reported: Any) -> Figure:
    """Agreement with and without EC, what the gap is due to, and how often progress and comfort exclude each other."""
    figure, (left, middle, right) = chart(3, size=(12.4, 4.0), width_ratios=(1.1, 1.1, 1.0))
    _agreement(left, rule, native, reported)
    _gap(middle, gap, reported)
    _joint(right, progress, reported)
    figure.legend(*left.get_legend_handles_labels(), fontsize=8.5, ncols=3, frameon=False, loc="outside lower center")
    return figure


def _agreement(axes: Axes, rule: Intervals, native: Intervals, reported: Any) -> None:
    names = ("argmax", "argmax_without_ec", "rho", "rho_without_ec")
    width = WIDTH / 2
    for shift, found, colour, label in (
        (-0.5, rule, OURS, "utilities of outcomes"),
        (0.5, native, OTHER, "PDMS and EPDMS"),
    ):
        for index, name in enumerate(names):
            _bar(axes, index + shift * width, found[name], width, colour, label if index == 0 else None)
    for index, name in enumerate(names):
        paper_mark(axes, index - 0.5 * width, reported[name], 0.9 * width)
    name_paper_marks(axes)
    axes.axvline(1.5, color="#c9c9c6", lw=0.8)
    axes.axhline(0, color="#333333", lw=0.8)
    axes.set_xticks(
        range(4), ["choices\ndiffer", "choices\ndiffer,\nno EC", "rank\ncorrelation", "rank\ncorr.,\nno EC"]
    )
    axes.set_ylim(min(0.0, *axes.get_ylim()), 1.05)
    set_title(axes, "v1 against v2 (share, correlation)")


def _gap(axes: Axes, gap: Intervals, reported: Any) -> None:
    shares = reported["gap_share"]
    for index, name in enumerate((*PARTS, "rest")):
        _bar(axes, index, gap[name].times(100), WIDTH, OURS)
        if name in shares:
            paper_mark(axes, index, 100 * shares[name], 0.9 * WIDTH)
    axes.axhline(0, color="#333333", lw=0.8)
    axes.set_xticks(range(len(PARTS) + 1), [*PARTS, "EP,\nTTC, C"])
    set_title(axes, "what the gap of v2 utility is due to [%]")


def _joint(axes: Axes, progress: Intervals, reported: Any) -> None:
    for index, (name, theirs, _) in enumerate(JOINT):
        if np.isnan(progress[name].value):
            axes.text(index, 1.5, "not\nknown", ha="center", va="bottom", fontsize=8)
        _bar(axes, index, progress[name].times(100), WIDTH, OURS)
        paper_mark(axes, index, 100 * reported["joint_infeasible"][theirs], 0.9 * WIDTH)
    axes.set_xticks(range(len(JOINT)), [words for _, _, words in JOINT])
    axes.set_ylim(0, None)
    set_title(axes, "no plan is both far and passes EC [% of frames]")


def _bar(axes: Axes, at: float, value: Interval, width: float, colour: str, label: str | None = None) -> None:
    if not np.isnan(value.value):
        axes.bar(at, value.value, 0.94 * width, color=colour, label=label)
        error_bar(axes, at, value)
