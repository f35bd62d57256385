"""Gradient routes of a configuration as a figure: a line for each loss through the parts that it trains.

Three panels, each with routes of its own: outcome labels of generated plans alone; futures alone; the configuration. In
all three the network is the configuration's. The paper's second panel is of world models whose scorer is a model of its
own, which is not built here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from world4scorer.drawing import style
from world4scorer.drawing.charts import BAD, GOOD, OTHER, OURS
from world4scorer.drawing.diagram import GIVEN, LEARNED, Box, blank_diagram, draw_box
from world4scorer.planner.diagrams.gradient_routes import GradientRoutes, gradient_routes
from world4scorer.planner.training.config import TrainConfig

COLOURS: Final = {
    "imitation": style.INK, "score": OURS, "bank": "#56b4e9", "future": BAD, "coverage": GOOD, "screen": OTHER,
}  # fmt: skip
"""Of losses."""
OUTCOMES, FUTURES, OWN = "outcome labels alone", "futures alone", "this configuration"
COLUMN: Final = 1.62
ROW: Final = 0.62
WORDS: Final = 5.0
"""Widths of a part's column and of the words before the columns, height of a row; a unit is 0.62 inches."""
INCHES: Final = 0.62
HEADER: Final = 1.8
PANEL_GAP: Final = 0.95


def panels_of(config: TrainConfig) -> dict[str, TrainConfig]:
    """Configurations to compare, by title; without those that equal the last one or have no loss."""
    losses = config.losses
    found = {
        OUTCOMES: replace(config, losses=replace(losses, future=0.0, bank=0.0, coverage=0.0), auxiliary_target="none"),
        FUTURES: replace(config, losses=replace(losses, score=0.0, bank=0.0, coverage=0.0, screen=0.0)),
    }
    if not config.loss_weights.future:
        del found[FUTURES]
    if not config.loss_weights.score or found[OUTCOMES].loss_weights == config.loss_weights:
        del found[OUTCOMES]
    return {**found, OWN: config}


def supervision(config: TrainConfig) -> dict[str, str]:
    """What each loss of a configuration is computed from, in a scene, by loss."""
    view = "current view" if config.auxiliary_target == "current" else "view 2 s later"
    plans, draw = config.model.proposals, config.bank_draw.count
    words = {
        "imitation": "the executed plan",
        "score": f"outcomes of {plans} generated plans",
        "bank": f"outcomes of {draw} bank plans",
        "future": f"{view}, 1 executed plan",
        "coverage": "good bank plans",
        "screen": "outcomes of the vocabulary",
    }
    weights = config.loss_weights
    used = {name: text for name, text in words.items() if getattr(weights, name)}
    return used if config.model.vocabulary else {name: text for name, text in used.items() if name != "screen"}


def draw_gradient_routes(config: TrainConfig, title: str) -> Figure:
    """Ask autograd about each panel and draw all of them below one row of parts."""
    panels = panels_of(config)
    routes = {name: gradient_routes(one) for name, one in panels.items()}
    parts = routes[OWN].parts
    rows = sum(len(one.reached) for one in routes.values())
    height = HEADER + rows * ROW + len(panels) * PANEL_GAP + 0.75
    width = WORDS + len(parts) * COLUMN + 0.2
    figure, axes = blank_diagram((width * INCHES, height * INCHES), (0, width), (-height, 0))
    axes.text(0.2, -0.35, title, fontsize=11, weight="bold", color=style.INK, va="center")
    columns = {part: WORDS + (number + 0.5) * COLUMN for number, part in enumerate(parts)}
    _header(axes, columns, routes[OWN])
    y = -HEADER
    for letter, (name, one) in zip("abc", panels.items(), strict=False):
        y -= PANEL_GAP
        axes.text(0.2, y + 0.42, f"({letter}) {name}", fontsize=10, weight="bold", color=style.INK, va="center")
        axes.plot([0.2, width - 0.2], [y + 0.75] * 2, color=style.ROAD, lw=1.0)
        for loss, text in supervision(one).items():
            y -= ROW
            _route(axes, y + 0.45, loss, f"{getattr(one.loss_weights, loss):g} x {loss}", text, columns, routes[name])
    axes.text(
        0.2, -height + 0.3, "filled: autograd finds a gradient there; ring: none, also where the line passes by",
        fontsize=8, color=style.FAINT, va="center",
    )  # fmt: skip
    return figure


def _header(axes: Axes, columns: Mapping[str, float], routes: GradientRoutes) -> None:
    for part, x in columns.items():
        first, _, rest = part.partition(" ")
        is_trained = part in routes.trained
        text = "\n".join(line for line in (first, rest, "" if is_trained else "frozen") if line)
        fill = LEARNED if is_trained else GIVEN
        draw_box(axes, Box(x, -HEADER + 0.55, COLUMN - 0.14, 1.0, fill, text), 8.5, 8.0)


def _route(
    axes: Axes,
    y: float,
    loss: str,
    name: str,
    text: str,
    columns: Mapping[str, float],
    routes: GradientRoutes,
) -> None:
    colour, reached = COLOURS[loss], routes.reached[loss]
    axes.text(0.2, y, name, fontsize=9, weight="bold", color=colour, va="center")
    axes.text(2.15, y, text, fontsize=7.6, color=style.INK, va="center")
    there = [x for part, x in columns.items() if part in reached]
    if there:
        axes.plot([min(there), max(there)], [y, y], color=colour, lw=2.0, alpha=0.55, zorder=2, label=loss)
    for part, x in columns.items():
        if part in reached:
            axes.plot([x], [y], "o", ms=8.5, color=colour, zorder=4, gid=f"{loss}:{part}")
        else:
            axes.plot([x], [y], "o", ms=5.0, mfc=style.PAPER, mec=style.FAINT, mew=0.9, zorder=3)
