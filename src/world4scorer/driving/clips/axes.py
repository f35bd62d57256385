"""Conversion between CARLA's axes and ours.

CARLA's world is left-handed: x east, y south, z up, yaw clockwise in degrees; its compass is clockwise from north in
radians. Ours has y north and headings counter-clockwise from east in radians. Ego axes are x forward, y right in
CARLA, and x forward, y left here.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from world4scorer.engine.scene.geometry import wrap


def flip_y(points: Any) -> NDArray[np.float64]:
    """Points or vectors (..., 2 or more) from CARLA's axes to ours, or back."""
    values = np.array(points, np.float64)
    values[..., 1] *= -1.0
    return values


def heading_from_yaw(degrees: Any) -> Any:
    """Heading [rad] from CARLA's yaw [deg]."""
    return wrap(-np.radians(degrees))


def yaw_from_heading(heading: Any) -> Any:
    """CARLA's yaw [deg] from a heading [rad]."""
    return np.degrees(wrap(-np.asarray(heading)))


def heading_from_compass(theta: Any) -> Any:
    """Heading [rad] from a compass angle [rad]."""
    return wrap(np.pi / 2 - np.asarray(theta))


def compass_from_heading(heading: Any) -> Any:
    """Compass angle [rad], 0 to 2 pi, from a heading [rad]."""
    return np.mod(np.pi / 2 - np.asarray(heading), 2 * np.pi)
