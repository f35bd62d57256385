"""The figure of the readouts: nearness to the observed future in features and pixels, and agreement between queries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from world4scorer.drawing import style
from world4scorer.drawing.charts import GOOD, OTHER, OURS, chart, set_title
from world4scorer.evaluation.scores.bootstrap import Interval
from world4scorer.studies.readout_networks.regions import REGIONS
from world4scorer.studies.shared.paper_marks import error_bar, name_paper_marks, paper_mark

Intervals = Mapping[str, Interval]

BARS = (
    ("copy", "current\ngrid", style.FAINT),
    ("null", "no\nvector", style.FAINT),
    ("selected_g1", "selected\ng 1", OURS),
    ("selected_g2", "selected\ng 2", OURS),
    ("executed_g1", "executed\ng 1", OURS),
    ("executed_g2", "executed\ng 2", OURS),
    ("observed_g1", "observed\ng 1", GOOD),
    ("observed_g2", "observed\ng 2", GOOD),
    ("diffusion", "diffusion", OTHER),
)
PIXELS = ("copy", "null", "executed_g1", "executed_g2", "observed_g1", "diffusion", "ceiling")
LIGHT = 0.45
"""How strong the bars of cosines that are not centred are drawn."""


def draw(
    cosine: Intervals, centred: Intervals, psnr: Intervals, agreement: Intervals | None, reported: Mapping[str, Any]
) -> Figure:
    """Grids, pixels, and regions where they are known."""
    panels = 2 if agreement is None else 3
    figure, axes = chart(
        panels, size=(11.5, 4.0) if panels == 2 else (14.5, 4.0), width_ratios=[1.7, 1.2, 0.8][:panels]
    )
    _cosines(axes[0], cosine, centred, reported)
    _pixels(axes[1], psnr)
    if agreement is not None:
        _regions(axes[2], agreement, reported)
    return figure


def _cosines(axes: Axes, cosine: Intervals, centred: Intervals, reported: Mapping[str, Any]) -> None:
    theirs = {"null": "grid_cos_none", "selected_g1": "grid_cos_guidance1", "selected_g2": "grid_cos_guidance2"}
    for index, (name, _, colour) in enumerate(BARS):
        for shift, found, alpha in ((-0.2, cosine, LIGHT), (0.2, centred, 1.0)):
            axes.bar(index + shift, found[name].value, 0.36, color=colour, alpha=alpha)
            error_bar(axes, index + shift, found[name])
        if name in theirs:
            paper_mark(axes, index - 0.2, reported[theirs[name]], 0.36)
    name_paper_marks(axes)
    cosines = [Patch(color=style.FAINT, alpha=LIGHT, label="as they are"), Patch(color=style.FAINT, label="centred")]
    marks = [*cosines, *axes.get_legend_handles_labels()[0]]
    axes.set_xticks(range(len(BARS)), [label for _, label, _ in BARS], fontsize=8)
    axes.set_ylim(_floor([*cosine.values(), *centred.values()], [reported[key] for key in theirs.values()]), 1.06)
    axes.set_yticks([tick for tick in axes.get_yticks() if axes.get_ylim()[0] <= tick <= 1.0])
    axes.legend(handles=marks, fontsize=8, frameon=False, ncols=3, loc="upper left")
    set_title(axes, "cosine of grids with the observed future, 95 %")


def _pixels(axes: Axes, psnr: Intervals) -> None:
    labels = {name: (label, colour) for name, label, colour in BARS} | {"ceiling": ("full\ngrid", style.INK)}
    for index, name in enumerate(PIXELS):
        axes.bar(index, psnr[name].value, 0.7, color=labels[name][1])
        error_bar(axes, index, psnr[name])
    axes.set_xticks(range(len(PIXELS)), [labels[name][0] for name in PIXELS], fontsize=8)
    axes.set_ylim(_floor(list(psnr.values()), [], 1.0), None)
    set_title(axes, "decoded images against the observed view [dB PSNR]")


def _regions(axes: Axes, agreement: Intervals, reported: Mapping[str, Any]) -> None:
    for index, name in enumerate(REGIONS):
        axes.bar(index, agreement[name].value, 0.6, color=OURS)
        error_bar(axes, index, agreement[name])
        paper_mark(axes, index, reported["consistency"][name], 0.6)
    name_paper_marks(axes)
    axes.set_xticks(range(len(REGIONS)), REGIONS)
    axes.set_ylim(_floor([agreement[name] for name in REGIONS], list(reported["consistency"].values())), 1.08)
    axes.set_yticks([tick for tick in axes.get_yticks() if axes.get_ylim()[0] <= tick <= 1.0])
    axes.legend(fontsize=8, frameon=False, loc="upper right")
    set_title(axes, "cosine between the three queries")


def _floor(found: Sequence[Interval], others: Sequence[float], room: float = 0.03) -> float:
    """A little below the lowest value: bars are compared with each other, not with zero."""
    return min([one.value for one in found if one.value == one.value] + [float(one) for one in others]) - room
