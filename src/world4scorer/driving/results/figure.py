"""Figure of a closed-loop comparison: Driving Score, Success Rate, and infractions per kilometre by driver."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from typing import Final

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from world4scorer.drawing import style
from world4scorer.drawing.charts import OTHER, OURS, chart, set_title
from world4scorer.evaluation.leaderboard.infractions import Infraction
from world4scorer.evaluation.scores.route_results import WORDS, RouteNumbers

INFRACTION_COLOURS: Final[Mapping[Infraction, str]] = {
    Infraction.PEDESTRIAN_COLLISION: "#a01f5a",
    Infraction.VEHICLE_COLLISION: "#d55e00",
    Infraction.LAYOUT_COLLISION: "#5e4a2a",
    Infraction.RED_LIGHT: "#e69f00",
    Infraction.STOP_SIGN: "#f0c400",
    Infraction.OUTSIDE_LANES: "#0072b2",
    Infraction.EMERGENCY_VEHICLE: "#009e73",
    Infraction.SCENARIO_TIMEOUT: "#56b4e9",
    Infraction.DEVIATION: "#9a9a9e",
    Infraction.BLOCKED: "#5f5f63",
    Infraction.ROUTE_TIMEOUT: "#c9c9c9",
}
"""Colours in stacking order, most severe first."""
ROW_HEIGHT: Final = 0.34
"""Height of a driver's row [inches]."""
NAME_WIDTH: Final = 24
"""Longest line of a driver's name [characters]; longer names are wrapped."""
MARKER_OFFSET: Final = 0.16
"""Offset of the two markers from the middle of a row, in rows."""


def draw_drives(drivers: Mapping[str, RouteNumbers]) -> Figure:
    """One row per driver, top to bottom."""
    if not drivers:
        raise ValueError("no driver: nothing to draw")
    names = list(drivers)
    figure, (scores, faults) = chart(2, size=(10.4, 1.9 + ROW_HEIGHT * len(names)), sharey=True)
    _draw_scores(scores, drivers)
    _draw_infractions(faults, drivers)
    scores.set_yticks(range(len(names)), [textwrap.fill(name, NAME_WIDTH) for name in names])
    scores.set_ylim(len(names) - 0.4, -0.6)
    for axis in (scores, faults):
        axis.grid(axis="y", visible=False)
        axis.grid(axis="x", color=style.ROAD, lw=0.8)
        axis.tick_params(axis="y", length=0)
    return figure


def _draw_scores(axis: Axes, drivers: Mapping[str, RouteNumbers]) -> None:
    """Dots with their 95 % intervals."""
    for label, colour, marker, shift in (
        ("Driving Score", OURS, "o", -MARKER_OFFSET),
        ("Success Rate [%]", OTHER, "D", MARKER_OFFSET),
    ):
        found = [
            (numbers.driving_score if marker == "o" else numbers.success_rate).times(100)
            for numbers in drivers.values()
        ]
        rows = np.arange(len(found)) + shift
        axis.hlines(rows, [one.low for one in found], [one.high for one in found], color=colour, lw=1.6)
        axis.plot([one.value for one in found], rows, marker, color=colour, ms=5.5, label=label)
    axis.set_xlim(-2, 102)
    _legend(axis)
    set_title(axis, "Driving Score and Success Rate, 95 % intervals")


def _draw_infractions(axis: Axes, drivers: Mapping[str, RouteNumbers]) -> None:
    """Stacked bars; kinds without infractions are left out."""
    left = np.zeros(len(drivers))
    for kind, colour in INFRACTION_COLOURS.items():
        share = np.nan_to_num([numbers.per_kilometre[kind].value for numbers in drivers.values()])
        if share.any():
            axis.barh(
                np.arange(len(left)), share, 0.62, left, color=colour, label=WORDS[kind], edgecolor=style.PAPER, lw=0.5
            )
            left += share
    if left.any():
        _legend(axis)
    axis.set_xlim(left=0)
    set_title(axis, "Infractions per km")


def _legend(axis: Axes) -> None:
    """Below the numbers of the axis, whatever its height."""
    below = 2.6  # in font heights
    axis.legend(loc="upper left", bbox_to_anchor=(0, 0), borderaxespad=below, ncols=2, fontsize=8, frameon=False)
