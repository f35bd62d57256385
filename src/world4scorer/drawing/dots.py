"""Dot plots: a value with its interval per row, single trainings as rings, the paper's value as a diamond."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from world4scorer.drawing import style
from world4scorer.drawing.charts import OURS

RING: Final = 26
DIAMOND: Final = 34


class DotRow(NamedTuple):
    """One row."""

    label: str
    value: float
    low: float
    high: float
    single: Sequence[float] = ()
    """Values of single trainings; drawn if there are several."""
    paper: float | None = None
    colour: str = OURS


def draw_dots(axis: Axes, rows: Sequence[DotRow], zero: bool = False, group: int = 0) -> None:
    """Draw rows from top to bottom; with `zero`, a line that differences are read against.

    A faint line separates each `group` rows from the next.
    """
    for index, row in enumerate(rows):
        axis.plot([row.low, row.high], [index, index], color=row.colour, lw=2, solid_capstyle="round", zorder=2)
        axis.scatter([row.value], [index], s=44, color=row.colour, zorder=3)
        if len(row.single) > 1:
            heights = [index + 0.22] * len(row.single)
            axis.scatter(row.single, heights, s=RING, facecolors="none", edgecolors=row.colour, lw=1, zorder=3)
        if row.paper is not None:
            axis.scatter([row.paper], [index - 0.22], s=DIAMOND, marker="D", color=style.INK, zorder=3)
    axis.set_yticks(range(len(rows)), [row.label for row in rows])
    axis.set_ylim(len(rows) - 0.5, -0.5)
    axis.grid(axis="y", visible=False)
    axis.grid(axis="x", color="#e6e6e3", lw=0.8)
    axis.margins(x=0.08)
    for index in range(group, len(rows), group) if group else ():
        axis.axhline(index - 0.5, color="#e6e6e3", lw=0.8, zorder=0)
    if zero:
        axis.axvline(0, color=style.FAINT, lw=1, zorder=1)


def dot_legend(ours: str = "mean, 95 % interval", seeds: bool = False, paper: bool = True) -> list[Line2D]:
    """Legend handles of the marks."""
    marks = [Line2D([], [], marker="o", color=OURS, lw=2, label=ours)]
    if seeds:
        ring = Line2D([], [], marker="o", mfc="none", color=OURS, ls="none", label="one seed")
        marks.append(ring)
    if paper:
        marks.append(Line2D([], [], marker="D", color=style.INK, ls="none", ms=5, label="paper, NAVSIM"))
    return marks
