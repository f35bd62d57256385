"""The one drawing style of scenes: colours, lines, and the words of the key. Pictures, films and reports read it here.

Ground and streets are light, so that ways stand out. Colours that must be told apart differ for colour-blind readers
too (`tests/view/test_colours.py` measures it); what shares a colour differs in its line.
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
"""From the lowest utility to the highest, evenly spaced. It darkens steadily, so it can be read without hues."""

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
    """How a way is drawn."""

    colour: str
    width: float
    """Points, in a picture 5.2 inches high; others scale it."""
    dashes: tuple[float, float] | None = None
    """Drawn and left out, in widths of the line; None for a whole line."""
    casing: float = 0.0
    """Points of white on either side, which lift the line off the others."""
    dots: float = 0.0
    """Diameter of the mark at each pose of a plan, in points; 0 for none."""


CHOICE: Final = Stroke(EGO, 4.0, casing=1.1)
FRAMEWISE: Final = Stroke(EGO, 2.4, dashes=(1.6, 1.2), casing=0.8)
REFUSED: Final = Stroke(INK, 3.0, casing=1.0)
DRIVEN: Final = Stroke(HUMAN, 1.1, dots=4.8)
"""Thin, so that a choice below it is still seen."""
REFERENCE_LINE: Final = Stroke(REFERENCE, 2.4, dashes=(1.8, 0.9), casing=0.6)
CANDIDATE: Final = Stroke(UTILITY[-1], 1.2)
"""Its colour is that of its utility."""
CENTRE: Final = Stroke(CENTERLINE, 0.9, dashes=(5.0, 4.0))
PAST: Final = Stroke(CENTERLINE, 1.6)
STOP_LINE: Final = Stroke(RED_LIGHT, 2.5)

BOX_STEPS: Final = (10, 20, 30, 40)
"""Steps of 0.1 s at which the ego's box is drawn along a rollout."""
FIGURE_POINTS: Final = 5.2 * 72
"""Height of the picture that widths are given for."""


@dataclass(frozen=True)
class LegendEntry:
    """A word of the key and the mark beside it."""

    word: str
    look: Stroke | str | tuple[str, ...]
    """A line, the colour of an area, or the colours of a ramp."""
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
"""What pictures may have to explain, in the order of the key. Each shows the entries that it needs."""


def utility_shares(utilities: Any) -> NDArray[np.float64]:
    """(N,) the share of the other plans that each plan beats: 0 for the worst, 1 for a best one without equals.

    Ranks, because utilities are sums of logarithms: by value, one hopeless plan would make all others look alike.
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
