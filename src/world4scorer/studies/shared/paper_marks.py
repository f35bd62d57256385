"""What charts of studies share: whiskers, and the paper's values as black marks beside our bars."""

from __future__ import annotations

from typing import Final

from matplotlib.axes import Axes

from world4scorer.evaluation.scores.bootstrap import Interval

PAPER_NAME: Final = "paper, NAVSIM"


def error_bar(axes: Axes, at: float, interval: Interval) -> None:
    """Draw a 95 % interval at a place of the horizontal axis."""
    ends = [[interval.value - interval.low], [interval.high - interval.value]]
    axes.errorbar(at, interval.value, ends, fmt="none", ecolor="#333333", lw=1.1)


def paper_mark(axes: Axes, at: float, value: float, width: float) -> None:
    """Draw a value of the paper across a bar; the white rim keeps it visible on any colour."""
    ends = [at - width / 2, at + width / 2]
    axes.plot(ends, [value, value], color="white", lw=3.8, zorder=5, solid_capstyle="butt")
    axes.plot(ends, [value, value], color="black", lw=1.9, zorder=6, solid_capstyle="butt")


def name_paper_marks(axes: Axes) -> None:
    """Put these marks into the legend."""
    axes.plot([], [], color="black", lw=1.9, label=PAPER_NAME)
