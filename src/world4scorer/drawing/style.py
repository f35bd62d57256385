"""Common drawing style of scenes in figures, films and reports: colours, lines, legend.

Ground and streets are light, so that trajectories stand out. Colours differ for colour-blind readers too
(`tests/drawing/test_colours.py` measures it); lines of the same colour differ in style.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import NDArray

from world4scorer.engine.scene.indices import Layer, TrackType

PAPER: Final = "#ffffff"
GROUND: Final = "#f6f5f1"
ROAD: Final = "#e6e6e3"
JUNCTION: Final = "#dbdbd8"
LANE_EDGE: Final = "#ffffff"
ROUTE: Final = "#9fcbe9"
RED_LIGHT: Final = "#d55e00"
INK: Final = "#222222"
FAINT: Final = "#6f6f73"

EGO: Final = "#0072b2"
REFERENCE: Final = "#52b393"
HUMAN: Final = "#a01f5a"
FAULT: Final = "#d55e00"
CENTERLINE: Final = "#5f93b8"

UTILITY: Final = ("#c9ae3f", "#a38a72", "#6c5490", "#2e1065")
"""Colours from lowest to highest utility, evenly spaced and monotonic in brightness."""

LAYER_FILL: Final = {
    Layer.DRIVABLE_AREA: ROAD,
    Layer.ROADBLOCK: ROAD,
    Layer.CARPARK_AREA: "#e9e3d6",
    Layer.INTERSECTION: JUNCTION,
}
"""Layers that are filled, bottom first."""

TRACK_FILL: Final = {
    TrackType.VEHICLE: "#6b7680",
    TrackType.PEDESTRIAN: "#e69f00",
    TrackType.BICYCLE: "#f0c400",
    TrackType.TRAFFIC_CONE: "#5e4a2a",
    TrackType.BARRIER: "#5e4a2a",
    TrackType.CZONE_SIGN: "#5e4a2a",
    TrackType.GENERIC_OBJECT: "#5e4a2a",
}


@dataclass(frozen=True)
class Stroke:
    """Line style."""

    colour: str
    width: float
    """Width in points for a figure 5.2 inches high; scaled for others."""
    dashes: tuple[float, float] | None = None
    """Dash and gap, in line widths; None for a solid line."""
    casing: float = 0.0
    """White border on either side [points]."""
    dots: float = 0.0
    """Diameter of the marker at each pose [points]; 0 for none."""


CHOICE: Final = Stroke(EGO, 4.0, casing=1.1)
FRAMEWISE: Final = Stroke(EGO, 2.4, dashes=(1.6, 1.2), casing=0.8)
REFUSED: Final = Stroke(INK, 3.0, casing=1.0)
DRIVEN: Final = Stroke(HUMAN, 1.1, dots=4.8)
"""Thin, so that a choice below it stays visible."""
REFERENCE_LINE: Final = Stroke(REFERENCE, 2.4, dashes=(1.8, 0.9), casing=0.6)
CANDIDATE: Final = Stroke(UTILITY[-1], 1.2)
"""Drawn in the colour of its utility."""
CENTRE: Final = Stroke(CENTERLINE, 0.9, dashes=(5.0, 4.0))
PAST: Final = Stroke(CENTERLINE, 1.6)
STOP_LINE: Final = Stroke(RED_LIGHT, 2.5)

BOX_STEPS: Final = (10, 20, 30, 40)
"""Steps of 0.1 s at which the ego's box is drawn along a rollout."""
FIGURE_POINTS: Final = 5.2 * 72
"""Figure height that widths are given for [points]."""


@dataclass(frozen=True)
class LegendEntry:
    """A legend entry."""

    word: str
    look: Stroke | str | tuple[str, ...]
    """A line style, an area colour, or the utility colours."""
    shape: Literal["line", "area", "round", "hatched", "ramp"]


LEGEND: Final[Mapping[str, LegendEntry]] = {
    "plan": LegendEntry("plan", CHOICE, "line"),
    "choice": LegendEntry("choice", CHOICE, "line"),
    "framewise": LegendEntry("framewise choice", FRAMEWISE, "line"),
    "refused": LegendEntry("plan asked for", REFUSED, "line"),
    "plans": LegendEntry("plans, dark is good", UTILITY, "ramp"),
    "human": LegendEntry("human", DRIVEN, "line"),
    "reference": LegendEntry("reference planner", REFERENCE_LINE, "line"),
    "past": LegendEntry("last 4 s", PAST, "line"),
    "route": LegendEntry("route", ROUTE, "area"),
    "red light": LegendEntry("red light", RED_LIGHT, "hatched"),
    "stop line": LegendEntry("red light", STOP_LINE, "line"),
    "vehicle": LegendEntry("vehicle", TRACK_FILL[TrackType.VEHICLE], "area"),
    "bicycle": LegendEntry("bicycle", TRACK_FILL[TrackType.BICYCLE], "area"),
    "pedestrian": LegendEntry("pedestrian", TRACK_FILL[TrackType.PEDESTRIAN], "round"),
    "infraction": LegendEntry("infraction", FAULT, "round"),
    "object": LegendEntry("object", TRACK_FILL[TrackType.BARRIER], "area"),
}
"""All legend entries in order; a figure shows those that it needs."""


def utility_shares(utilities: Any) -> NDArray[np.float64]:
    """(N,) share of the other plans that each plan beats: 0 for the worst, 1 for a unique best.

    Ranks, because utilities are sums of logarithms: by value, one very bad plan would make all others look alike.
    """
    values = np.asarray(utilities, np.float64)
    beaten = np.searchsorted(np.sort(values), values, side="left")
    return beaten / max(len(values) - 1, 1)


def utility_colours(utilities: Any) -> list[str]:
    """Colours `#rrggbb` of N plans by their utilities (N,)."""
    stops = np.array([[int(stop[i : i + 2], 16) for i in (1, 3, 5)] for stop in UTILITY], np.float64)
    at = utility_shares(utilities) * (len(stops) - 1)
    channels = np.stack([np.interp(at, np.arange(len(stops)), stops[:, i]) for i in range(3)], axis=1)
    return [f"#{red:02x}{green:02x}{blue:02x}" for red, green, blue in channels.round().astype(int).tolist()]
