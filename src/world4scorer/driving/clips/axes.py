"""CARLA's axes and ours.

CARLA's world is left-handed: x east, y south, z up, yaw clockwise seen from above, in degrees; a compass counts
clockwise from north, in radians. Ours has y to the north and counts headings counter-clockwise from east, in radians.
A car's axes are x forward, y right there, and x forward, y left here. Each change is its own inverse but for units.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from world4scorer.engine.scene.geometry import wrap


def flip_y(points: Any) -> NDArray[np.float64]:
    """Points or vectors (..., 2 or more), from one world to the other or from one car's axes to the other."""
    values = np.array(points, np.float64)
    values[..., 1] *= -1.0
    return values


def heading_from_yaw(degrees: Any) -> Any:
    """Heading [rad] of CARLA's yaw [deg]."""
    return wrap(-np.radians(degrees))


def yaw_from_heading(heading: Any) -> Any:
    """CARLA's yaw [deg] of a heading [rad]."""
    return np.degrees(wrap(-np.asarray(heading)))


def heading_from_compass(theta: Any) -> Any:
    """Heading [rad] of a compass [rad]."""
    return wrap(np.pi / 2 - np.asarray(theta))


def compass_from_heading(heading: Any) -> Any:
    """Compass [rad], from 0 to 2 pi, of a heading [rad]."""
    return np.mod(np.pi / 2 - np.asarray(heading), 2 * np.pi)
