"""Draw docs/images/parts.svg: how a choice is made, and what each part learns from.

python docs/images/parts_diagram.py
"""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Final

import matplotlib
import tyro
from matplotlib.axes import Axes

from world4scorer.drawing import style
from world4scorer.drawing.diagram import (
    GIVEN,
    LEARNED,
    RULE,
    TEACHER,
    TEACHER_INK,
    Box,
    arrow_across,
    bent_arrow,
    blank_diagram,
    draw_box,
)

OUT: Final = Path(__file__).with_name("parts.svg")

UPPER: Final = 5.55
LOWER: Final = 1.75
BOXES: Final = {
    "seen": Box(1.35, UPPER, 2.1, 1.5, GIVEN, "scene\nfour views,\nego motion"),
    "encoder": Box(3.95, UPPER, 1.9, 1.5, LEARNED, "encoder\nscene tokens"),
    "generator": Box(6.55, UPPER, 2.1, 1.5, LEARNED, "generator\na pool of\n64 plans"),
    "predictor": Box(9.3, UPPER, 2.2, 1.5, LEARNED, "predictor\na state for\neach plan"),
    "heads": Box(12.1, UPPER, 2.2, 1.5, LEARNED, "score heads\nsix sub-scores\nof each plan"),
    "utility": Box(14.8, UPPER, 2.0, 1.5, RULE, "utility\none number\nfor each plan"),
    "rerank": Box(17.5, UPPER, 2.2, 1.5, RULE, "re-ranking\ncontinues the\nlast choice?"),
    "driven": Box(4.85, LOWER, 2.5, 1.5, TEACHER, "executed plan\nof the log"),
    "future": Box(8.25, LOWER, 2.8, 1.5, TEACHER, "future target\nthe front view 2 s\nlater, encoded"),
    "bank": Box(11.75, LOWER, 2.7, 1.5, TEACHER, "bank\n16 perturbed plans,\nwith outcomes"),
    "simulator": Box(15.3, LOWER, 3.0, 1.5, TEACHER, "simulator\nrolls out all 64 plans:\ntheir outcomes"),
}


def main(out: Path = OUT) -> None:
    """Draw the picture; words stay words, so that they can be searched and scaled."""
    figure, axes = blank_diagram((12.8, 4.6), (0, 19.6), (0.75, 7.75))
    heading(axes, 7.35, "Deciding")
    heading(axes, 3.4, "Learning")
    for box in BOXES.values():
        draw_box(axes, box)
    chain = ("seen", "encoder", "generator", "predictor", "heads", "utility", "rerank")
    for left, right in pairwise(chain):
        arrow_across(axes, BOXES[left], BOXES[right])
    axes.annotate("", (19.45, UPPER), (18.65, UPPER), arrowprops={"arrowstyle": "-|>", "color": style.INK, "lw": 1.6})
    axes.text(19.05, UPPER + 0.22, "plan", ha="center", fontsize=9, color=style.INK)
    bent_arrow(axes, (3.95, UPPER + 0.78), (9.3, UPPER + 0.78), -0.22, style.INK, "-")
    axes.text(6.6, 7.12, "all plans attend to the same scene tokens", ha="center", fontsize=8.5, color=style.INK)
    teach(axes, (4.85, 2.52), (6.2, 4.78), "imitate the nearest", (4.1, 3.95))
    teach(axes, (8.25, 2.52), (9.0, 4.78), "predict it from the\nexecuted plan's state", (6.95, 3.42))
    teach(axes, (11.75, 2.52), (11.75, 4.78), "score these too", (10.45, 3.95))
    teach(axes, (15.0, 2.52), (12.75, 4.78), "sub-scores of every plan", (15.55, 3.75))
    matplotlib.rcParams["svg.fonttype"] = "none"
    matplotlib.rcParams["svg.hashsalt"] = "world4scorer"
    matplotlib.rcParams["font.family"] = "sans-serif"
    figure.savefig(out, facecolor="white", metadata={"Date": None, "Creator": None})


def heading(axes: Axes, y: float, text: str) -> None:
    """The name of a row."""
    axes.text(0.3, y, text, fontsize=12.5, weight="bold", color=style.INK, va="center")


def teach(
    axes: Axes, start: tuple[float, float], end: tuple[float, float], text: str, where: tuple[float, float]
) -> None:
    """An arrow from what teaches to what learns, with what is learned."""
    bent_arrow(axes, start, end, 0.0, style.FAULT, "--")
    axes.text(*where, text, ha="center", va="center", fontsize=9, color=TEACHER_INK, linespacing=1.25)


if __name__ == "__main__":
    tyro.cli(main)
