"""The ego's box at a pose of its rear axle."""

from __future__ import annotations

import numpy as np
import shapely

from world4scorer.engine.scene.geometry import Floats, box_corners
from world4scorer.engine.scene.vehicle import HALF_LENGTH, HALF_WIDTH, REAR_AXLE_TO_CENTRE


def box_centre(pose: Floats) -> tuple[float, float]:
    """Centre x, y [m] for a pose (3,)."""
    return (
        float(pose[0] + REAR_AXLE_TO_CENTRE * np.cos(pose[2])),
        float(pose[1] + REAR_AXLE_TO_CENTRE * np.sin(pose[2])),
    )


def box_polygon(pose: Floats) -> shapely.Polygon:
    """Footprint for a pose (3,)."""
    x, y = box_centre(pose)
    return shapely.Polygon(box_corners(np.array([x, y, pose[2]]), HALF_LENGTH, HALF_LENGTH, HALF_WIDTH))
