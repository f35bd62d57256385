"""The figure of the study of stability."""

from __future__ import annotations

from typing import Final

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from world4scorer.drawing import style
from world4scorer.drawing.charts import GOOD, OTHER, OURS, chart, set_title
from world4scorer.studies.stability.numbers import Measured
from world4scorer.studies.stability.scenes import KINDS

WORDS: Final = ("generated plans,\nsame scene", "bank plans,\nsame scene", "future,\nsame scene",
                "generated plans,\nanother scene", "bank plans,\nanother scene")  # fmt: skip


def draw(measured: Measured) -> Figure:
    """What futures take off each radius, choices proven to hold by budget, and what further labels take off."""
    figure, (left, middle, right) = chart(3, size=(13.2, 4.1), width_ratios=(1.0, 1.15, 1.0))
    _ratios(left, measured)
    _certified(middle, measured)
    _labels(right, measured)
    return figure


def _ratios(axis: Axes, measured: Measured) -> None:
    for drawn, colour, name in ((False, OURS, "nearest rivals"), (True, OTHER, "rivals at random")):
        pairs = [pair for pair in measured.pairs if pair.drawn == drawn and pair.out]
        out = np.array([pair.out for pair in pairs])
        off = np.array([100 * (1 - pair.both / pair.out) for pair in pairs])
        axis.scatter(out, off, s=20, color=colour, alpha=0.75, lw=0, label=name)
    axis.set_xscale("log")
    axis.set_ylim(0, None)
    axis.set_xlabel("radius held by outcomes, epsilon = 1")
    axis.legend(fontsize=8, frameon=False)
    set_title(axis, "what futures take off a radius [%]")


def _certified(axis: Axes, measured: Measured) -> None:
    finite = measured.critical[np.isfinite(measured.critical) & (measured.critical > 0)]
    low, high = (finite.min() / 2, finite.max() * 2) if len(finite) else (1e-4, 1e-1)
    budgets = np.geomspace(low, high, 300)
    for future, colour, dashes, name in (
        (True, OURS, "-", "outcomes and futures"),
        (False, OTHER, "--", "outcomes alone"),
    ):
        shares = [100 * measured.certified(float(epsilon), future).mean() for epsilon in budgets]
        axis.step(budgets, shares, where="post", color=colour, ls=dashes, lw=1.8, label=name)
    axis.set_xscale("log")
    axis.set_ylim(0, 103)
    axis.set_xlabel("budget epsilon (the loss may rise by epsilon²/2)")
    axis.legend(fontsize=8, frameon=False, loc="lower left")
    set_title(axis, "choices proven to hold [%]")


def _labels(axis: Axes, measured: Measured) -> None:
    rng = np.random.default_rng(0)
    for index, kind in enumerate(KINDS):
        off = np.array([100 * (1 - scene.labels[kind]) for scene in measured.scenes if kind in scene.labels])
        if not len(off):
            axis.text(0.02, index, "not measured", fontsize=8, va="center", transform=axis.get_yaxis_transform())
            continue
        colour = GOOD if kind.startswith("future") else OURS
        axis.scatter(off, index + rng.uniform(-0.12, 0.12, len(off)), s=16, color=colour, alpha=0.5, lw=0)
        axis.scatter([off.mean()], [index], s=70, marker="|", color=style.INK, lw=2, zorder=3)
    axis.set_yticks(range(len(KINDS)), WORDS)
    axis.set_ylim(len(KINDS) - 0.5, -0.5)
    axis.set_xlim(left=0)
    axis.grid(axis="y", visible=False)
    axis.grid(axis="x", color="#e6e6e3", lw=0.8)
    axis.set_xlabel("taken off the squared radius [%]; bar: mean")
    set_title(axis, "16 more labelled plans, or one more future")
