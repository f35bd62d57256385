"""Lines and legend marks of figures in the common style."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.legend import Legend
from matplotlib.legend_handler import HandlerBase
from matplotlib.lines import Line2D
from matplotlib.patches import Patch, Rectangle
from matplotlib.transforms import Transform
from numpy.typing import NDArray

from world4scorer.drawing import style
from world4scorer.drawing.style import LegendEntry, Stroke


def draw_line(axes: Axes, line: NDArray[np.floating], stroke: Stroke, above: float) -> None:
    """Draw a line (n, 2) at a z-order."""
    if stroke.casing:
        under = stroke.width + 2 * stroke.casing
        axes.plot(*line.T, color=style.PAPER, linewidth=under, zorder=above - 0.05, solid_capstyle="round")
    axes.plot(*line.T, zorder=above, **plot_style(stroke))


def plot_style(stroke: Stroke) -> dict[str, Any]:
    """Keyword arguments of `Axes.plot` for a stroke."""
    words: dict[str, Any] = {"color": stroke.colour, "linewidth": stroke.width, "solid_capstyle": "round"}
    if stroke.dashes is not None:
        words |= {"dashes": stroke.dashes, "dash_capstyle": "butt"}
    if stroke.dots:
        words |= {"marker": "o", "markersize": stroke.dots, "markeredgecolor": style.PAPER, "markeredgewidth": 0.6}
    return words


def ramp() -> LinearSegmentedColormap:
    """Colour map of utilities, from 0 (worst) to 1."""
    return LinearSegmentedColormap.from_list("utility", style.UTILITY)


class RampMark(Patch):
    """Legend handle of the utility colours."""


class RampHandler(HandlerBase):
    """Draws the utility colours in a legend, from worst to best."""

    def create_artists(
        self,
        legend: Legend,
        orig_handle: Artist,
        xdescent: float,
        ydescent: float,
        width: float,
        height: float,
        fontsize: float,
        trans: Transform,
    ) -> list[Artist]:
        """Draw the colours side by side."""
        colours = style.utility_colours(np.arange(24))
        piece = width / len(colours)
        left, low = -xdescent, -ydescent + 0.2 * height
        return [
            Rectangle((left + i * piece, low), piece * 1.05, 0.6 * height, facecolor=colour, lw=0, transform=trans)
            for i, colour in enumerate(colours)
        ]


def legend_mark(entry: LegendEntry) -> Artist:
    """Legend handle of an entry, for a legend with `RampHandler`."""
    if isinstance(entry.look, Stroke):
        return Line2D([], [], label=entry.word, **plot_style(entry.look))
    if not isinstance(entry.look, str):
        return RampMark(label=entry.word)
    if entry.shape == "hatched":
        return Patch(facecolor="none", edgecolor=entry.look, hatch="////", label=entry.word)
    edge = style.ROUTE if entry.look == style.ROUTE else style.INK
    if entry.shape == "round":
        return Line2D([], [], color=entry.look, lw=0, marker="o", ms=6, mec=edge, mew=0.6, label=entry.word)
    return Patch(facecolor=entry.look, edgecolor=edge, linewidth=0.6, label=entry.word)
