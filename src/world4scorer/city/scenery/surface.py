"""Semantic classes of pixels, and materials of triangles."""

from __future__ import annotations

from enum import IntEnum


class SurfaceClass(IntEnum):
    """Semantic class of a pixel."""

    SKY = 0
    ROAD = 1
    MARKING = 2
    SIDEWALK = 3
    BIKE_LANE = 4
    GROUND = 5
    """Grass, earth, ballast."""
    BUILDING = 6
    VEGETATION = 7
    POLE = 8
    """Lamp posts, signal posts and their housings."""
    SIGNAL = 9
    """Lamps of traffic signals."""
    VEHICLE = 10
    BICYCLE = 11
    """Bicycles and motorcycles with their riders."""
    PEDESTRIAN = 12
    OBSTACLE = 13
    """Cones, barriers."""


class Material(IntEnum):
    """Shading model of a triangle."""

    MATT = 0
    FACADE = 1
    """Procedural windows."""
    LEAVES = 2
    PAINTWORK = 3
    """Matt with a faint reflection of the sky."""
    GLASS = 4
    LAMP = 5
    """Emissive: a signal's lamp, see `signal_heads`."""
    STREET_LAMP = 6
    """Emissive in the dark."""
    ROOF = 7
    """Procedural roof tiles."""
