"""The one drawing style: light ground, colours that colour-blind readers can tell apart, forward to the right."""

from __future__ import annotations

from typing import Final

from world4scorer.scene.indices import Layer, TrackType

GROUND: Final = "#f6f5f1"
ROAD: Final = "#dfdfdc"
LANE_EDGE: Final = "#ffffff"
ROUTE: Final = "#c5dcec"
RED_LIGHT: Final = "#d55e00"
INK: Final = "#222222"
FAINT: Final = "#77777a"

EGO: Final = "#0072b2"
REFERENCE: Final = "#009e73"
HUMAN: Final = "#cc79a7"
FAULT: Final = "#d55e00"
CENTERLINE: Final = "#5f93b8"

SCORE_MAP: Final = "viridis_r"
"""Dark is good: on a light ground what matters stands out."""

LAYER_FILL: Final = {
    Layer.DRIVABLE_AREA: ROAD,
    Layer.ROADBLOCK: ROAD,
    Layer.CARPARK_AREA: "#e9e3d6",
    Layer.INTERSECTION: "#d3d3d0",
}
"""Layers that are filled, bottom first."""

TRACK_FILL: Final = {
    TrackType.VEHICLE: "#6b7680",
    TrackType.PEDESTRIAN: "#e69f00",
    TrackType.BICYCLE: "#f0c400",
    TrackType.TRAFFIC_CONE: "#8a6d3b",
    TrackType.BARRIER: "#8a6d3b",
    TrackType.CZONE_SIGN: "#8a6d3b",
    TrackType.GENERIC_OBJECT: "#a9a08f",
}
