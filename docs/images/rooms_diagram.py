"""Draw docs/images/rooms.svg: the twelve rooms of the source and the data that passes between them.

python docs/images/rooms_diagram.py
"""

from __future__ import annotations

from pathlib import Path
from typing import Final, NamedTuple

import matplotlib
import tyro
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch

from world4scorer.drawing import style

OUT: Final = Path(__file__).with_name("rooms.svg")
BASE: Final = "#ecebe7"
DATA: Final = "#d3ece2"
MODEL: Final = "#cfe3f1"
RESULT: Final = "#fbe3cc"


class Box(NamedTuple):
    """A room: middle, size, fill, name and what it holds."""

    x: float
    y: float
    width: float
    height: float
    fill: str
    name: str
    text: str


class Flow(NamedTuple):
    """An arrow along which data passes, with its label and where the label stands."""

    start: tuple[float, float]
    end: tuple[float, float]
    label: str
    at: tuple[float, float]


ROOMS: Final = (
    Box(9.8, 11.25, 19.0, 0.8, BASE, "cli", "w4s: parse, call, print"),
    Box(5.05, 9.5, 9.5, 1.2, RESULT, "driving", "closed loop in the city, planner server, Bench2Drive"),
    Box(15.9, 9.5, 6.8, 1.2, RESULT, "cube", "OGBench-Cube: its own simulator, model and findings"),
    Box(1.55, 6.6, 2.5, 1.6, DATA, "city", "streets, traffic,\ncameras"),
    Box(5.05, 6.6, 2.5, 1.6, DATA, "datasets", "logs, maps, images;\nscene store"),
    Box(8.55, 6.6, 2.5, 1.6, MODEL, "planner", "network, training,\nbank, targets"),
    Box(12.05, 6.6, 2.5, 1.6, RESULT, "evaluation", "pools, scores,\nintervals"),
    Box(15.2, 6.6, 1.9, 1.6, RESULT, "studies", "one folder\nper study"),
    Box(18.35, 6.6, 1.9, 1.6, RESULT, "reporting", "report, films,\nframe files"),
    Box(8.55, 3.85, 9.5, 1.2, MODEL, "engine", "scene, rollout, metrics, selection: NumPy and Numba only"),
    Box(9.8, 2.3, 19.0, 0.8, BASE, "drawing", "one style for pictures and charts"),
    Box(9.8, 1.2, 19.0, 0.8, BASE, "jobs", "atomic files, locks, resume, progress, executors, folder layouts"),
)
FLOWS: Final = (
    Flow((2.8, 6.6), (3.8, 6.6), "logs", (3.3, 6.85)),
    Flow((6.3, 6.6), (7.3, 6.6), "scenes,\nsamples", (6.8, 7.02)),
    Flow((9.8, 6.6), (10.8, 6.6), "plans,\nstates", (10.3, 7.02)),
    Flow((13.3, 6.6), (14.25, 6.6), "pools", (13.77, 6.85)),
    Flow((16.15, 6.6), (17.4, 6.6), "findings", (16.77, 6.85)),
    Flow((5.05, 4.45), (5.05, 5.8), "reference, progress", (5.15, 5.12)),
    Flow((8.55, 4.45), (8.55, 5.8), "labels of every plan", (8.65, 5.12)),
    Flow((12.05, 4.45), (12.05, 5.8), "outcomes, choices", (12.15, 5.12)),
    Flow((1.55, 7.4), (1.55, 8.9), "traffic, cameras", (1.65, 8.15)),
    Flow((8.55, 7.4), (8.55, 8.9), "trained planner", (8.65, 8.15)),
)


def main(out: Path = OUT) -> None:
    """Draw the picture; words stay words, so that they can be searched and scaled."""
    figure = Figure(figsize=(12.8, 6.8))
    FigureCanvasAgg(figure)
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set(xlim=(0, 19.6), ylim=(0.6, 11.85))
    axes.axis("off")
    for room in ROOMS:
        draw(axes, room)
    for flow in FLOWS:
        axes.annotate("", flow.end, flow.start, arrowprops={"arrowstyle": "-|>", "color": style.INK, "lw": 1.6})
        centred = flow.start[1] == flow.end[1]
        axes.text(*flow.at, flow.label, ha="center" if centred else "left", va="center", fontsize=8.5, color=style.INK)
    matplotlib.rcParams["svg.fonttype"] = "none"
    matplotlib.rcParams["svg.hashsalt"] = "world4scorer"
    matplotlib.rcParams["font.family"] = "sans-serif"
    figure.savefig(out, facecolor="white", metadata={"Date": None, "Creator": None} if out.suffix == ".svg" else None)


def draw(axes: Axes, room: Box) -> None:
    """A box with its text: beside the name where the box is flat, below it otherwise."""
    left, low = room.x - room.width / 2, room.y - room.height / 2
    axes.add_patch(
        FancyBboxPatch(
            (left, low), room.width, room.height, boxstyle="round,pad=0,rounding_size=0.16", facecolor=room.fill,
            edgecolor=style.FAINT, linewidth=0.9,
        )
    )  # fmt: skip
    if room.height < 1:
        axes.text(left + 0.3, room.y, room.name, va="center", fontsize=11, weight="bold", color=style.INK)
        axes.text(left + 2.2, room.y, room.text, va="center", fontsize=9, color=style.INK)
        return
    top = low + room.height - 0.32
    axes.text(room.x, top, room.name, ha="center", va="center", fontsize=11, weight="bold", color=style.INK)
    middle = (low + top - 0.2) / 2
    axes.text(room.x, middle, room.text, ha="center", va="center", fontsize=9, color=style.INK, linespacing=1.3)


if __name__ == "__main__":
    tyro.cli(main)
