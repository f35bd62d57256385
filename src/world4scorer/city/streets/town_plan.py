"""Plans of generated towns: layout, street classes, junctions.

A plan determines its network to the byte: SUMO's `netgenerate` lays out junctions and streets from the plan's seed, and
`town_generator` makes a town of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

KMH: Final = 1 / 3.6
"""m/s"""
MinorJunction = Literal["right_before_left", "priority", "allway_stop"]


@dataclass(frozen=True)
class StreetClass:
    """How streets of one kind are built."""

    speed: float
    """Speed limit [km/h]."""
    lanes: int = 1
    """Lanes per direction."""
    lane_width: float = 3.6
    """m"""
    bicycle_lane: float = 0.0
    """Width of a bicycle lane on each side [m]; 0 for none."""
    sidewalk: float = 2.5
    """Width of a sidewalk on each side [m]; 0 for none."""


@dataclass(frozen=True)
class TownPlan:
    """A town to generate."""

    layout: tuple[str, ...]
    """Options of `netgenerate` that lay out junctions and streets."""
    size: tuple[float, float]
    """Width and height of the town's bounding box [m], to which the layout is scaled."""
    seed: int
    main: StreetClass
    """Main streets."""
    side: StreetClass
    """All other streets."""
    main_streets: int = 2
    """Number of main streets through the town, each a shortest path from border to border."""
    signals: float = 0.0
    """Share of the junctions of main streets with signals, 0..1; where main streets cross comes first."""
    roundabouts: int = 0
    """Number of junctions that become roundabouts."""
    minor_junctions: MinorJunction = "right_before_left"
    """Right of way where side streets meet; main streets have priority."""
    corner_radius: float = 12.0
    """Radius of the kerbs at corners [m]."""
    jitter: float = 0.0
    """Largest displacement of junctions along each axis [m]."""
    bend: float = 0.0
    """Largest sideways displacement of a street's middle, as a share of its length."""
    removed: float = 0.0
    """Share of the streets taken out, which leaves T junctions and larger blocks, 0..1."""
    gateways: int = 0
    """Number of streets added that lead out of the town."""
