"""Boxes and arrows of diagrams, in the common style."""

from __future__ import annotations

from typing import Final, NamedTuple

from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.patches import FancyArrowPatch, FancyBboxPatch

from world4scorer.drawing import style

GIVEN: Final = "#ecebe7"
LEARNED: Final = "#cfe3f1"
RULE: Final = "#d3ece2"
TEACHER: Final = "#fbe3cc"
"""Fills: given or frozen, trained, computed by a rule, what is learnt from."""
TEACHER_INK: Final = "#a34700"
"""Words about what is learnt from."""

Point = tuple[float, float]


class Box(NamedTuple):
    """A rounded box: its middle, size, fill, and text with the name in the first line."""

    x: float
    y: float
    width: float
    height: float
    fill: str
    text: str


def blank_diagram(
    size: tuple[float, float], across: tuple[float, float], up: tuple[float, float]
) -> tuple[Figure, Axes]:
    """A figure of a size [inches] that is one empty plane with the limits given."""
    figure = Figure(figsize=size, facecolor=style.PAPER)
    FigureCanvasAgg(figure)
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set(xlim=across, ylim=up)
    axes.axis("off")
    return figure, axes


def draw_box(axes: Axes, box: Box, name_size: float = 10.5, text_size: float = 9.0) -> None:
    """A box with its text below its name."""
    left, low = box.x - box.width / 2, box.y - box.height / 2
    axes.add_patch(
        FancyBboxPatch(
            (left, low), box.width, box.height, boxstyle="round,pad=0,rounding_size=0.16", facecolor=box.fill,
            edgecolor=style.FAINT, linewidth=0.9,
        )
    )  # fmt: skip
    name, _, rest = box.text.partition("\n")
    if not rest:
        axes.text(box.x, box.y, name, ha="center", va="center", fontsize=name_size, weight="bold", color=style.INK)
        return
    top = low + box.height - 0.31
    axes.text(box.x, top, name, ha="center", va="center", fontsize=name_size, weight="bold", color=style.INK)
    middle = (low + top - 0.17) / 2
    axes.text(box.x, middle, rest, ha="center", va="center", fontsize=text_size, color=style.INK, linespacing=1.3)


def arrow_across(axes: Axes, left: Box, right: Box) -> None:
    """An arrow from a box to its right neighbour."""
    ends = ((left.x + left.width / 2, left.y), (right.x - right.width / 2, right.y))
    axes.annotate("", ends[1], ends[0], arrowprops={"arrowstyle": "-|>", "color": style.INK, "lw": 1.6})


def bent_arrow(axes: Axes, start: Point, end: Point, bend: float, colour: str, line: str = "-") -> None:
    """An arrow that bends to its left, or with a negative number to its right."""
    axes.add_patch(
        FancyArrowPatch(
            start, end, connectionstyle=f"arc3,rad={bend}", arrowstyle="-|>", mutation_scale=13, color=colour,
            linestyle=line, linewidth=1.4,
        )
    )  # fmt: skip
