"""The car that Bench2Drive's expert drives, a Lincoln MKZ, as outcome labels see it. All lengths in metres.

Poses of the ego are those of its rear axle, in training as in driving, as the planner knows them from NAVSIM. CARLA
places a car by its middle, so poses lie behind CARLA's by `REAR_AXLE_TO_CENTRE`.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

REAR_AXLE_TO_CENTRE: Final = 1.35
HALF_LENGTH: Final = 2.45
HALF_WIDTH: Final = 0.92
HEIGHT: Final = 1.51


def rear_axle(centre: Any) -> NDArray[np.float64]:
    """Poses (..., 3) x, y, heading of the rear axle, from those of the car's middle."""
    return _moved(centre, -REAR_AXLE_TO_CENTRE)


def centre(rear: Any) -> NDArray[np.float64]:
    """Poses (..., 3) of the car's middle, from those of the rear axle."""
    return _moved(rear, REAR_AXLE_TO_CENTRE)


def _moved(poses: Any, ahead: float) -> NDArray[np.float64]:
    moved = np.array(poses, np.float64)
    moved[..., 0] += ahead * np.cos(moved[..., 2])
    moved[..., 1] += ahead * np.sin(moved[..., 2])
    return moved
