"""Common style of charts, with colours that colour-blind readers can tell apart."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

try:
    from matplotlib.axes import Axes
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure
except ImportError as error:
    from world4scorer.jobs.extras import missing

    raise missing(error, "drawing") from error

from world4scorer.drawing import style

OURS: Final = style.EGO
OTHER: Final = "#e69f00"
GOOD: Final = "#009e73"
BAD: Final = style.FAULT
PAPER: Final = "#9a9a9e"
"""Colour of the paper's values, on other data."""
SERIES: Final = (OURS, OTHER, GOOD, "#cc79a7", BAD, "#56b4e9", "#5f5f63")


def chart(
    columns: int = 1, rows: int = 1, size: tuple[float, float] | None = None, **options: Any
) -> tuple[Figure, Any]:
    """A figure and its axes, as from `Figure.subplots`."""
    figure = Figure(figsize=size or (4.4 * columns, 3.4 * rows), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots(rows, columns, **options)
    for axis in np.atleast_1d(axes).ravel():
        remove_clutter(axis)
    return figure, axes


def remove_clutter(axis: Axes) -> None:
    """Remove spines and ticks that are not needed."""
    axis.spines[["top", "right"]].set_visible(False)
    axis.spines[["left", "bottom"]].set_color(style.FAINT)
    axis.tick_params(colors=style.INK, labelsize=8.5)
    axis.xaxis.label.set_fontsize(9)
    axis.yaxis.label.set_fontsize(9)
    axis.grid(axis="y", color="#e6e6e3", lw=0.8)
    axis.set_axisbelow(True)


def set_title(axis: Axes, title: str) -> None:
    """Set the title of an axis."""
    axis.set_title(title, fontsize=10, color=style.INK)
