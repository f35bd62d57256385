"""Bench2Drive's ego car, a Lincoln MKZ, for outcome labels. All lengths in metres.

Ego poses are rear-axle poses, as in NAVSIM. CARLA's are centre poses, ahead by `REAR_AXLE_TO_CENTRE`.
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
    """Rear-axle poses (..., 3) from centre poses."""
    return _moved(centre, -REAR_AXLE_TO_CENTRE)


def centre(rear: Any) -> NDArray[np.float64]:
    """Centre poses (..., 3) from rear-axle poses."""
    return _moved(rear, REAR_AXLE_TO_CENTRE)


def _moved(poses: Any, ahead: float) -> NDArray[np.float64]:
    moved = np.array(poses, np.float64)
    moved[..., 0] += ahead * np.cos(moved[..., 2])
    moved[..., 1] += ahead * np.sin(moved[..., 2])
    return moved
