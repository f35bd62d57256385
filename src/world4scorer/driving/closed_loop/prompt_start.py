"""Prompt starts: an ego at rest begins the chosen plan at once, without the wait at its beginning.

A plan that stands for a second and then moves off is a good plan, and PDMS does not tell it from one that moves off
now. Followed for half a second and chosen anew, it never moves: its first half second is a wait every time, and the
tracker holds a car at rest whose reference is slower than 0.2 m/s. So at rest the wait is skipped: the poses of the
plan follow its path as they would after the wait. A plan that stands to its end is followed as it is.

Nothing else is chosen than without it; `creep.py` chooses another plan after a while.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from world4scorer.engine.selection.speed_limit import POSE_SECONDS

REST_SPEED: Final = 0.3
"""Speed below which the ego is at rest [m/s]."""
STANDING_LENGTH: Final = 0.8
"""A plan with a shorter way stands to its end [m]."""
WAIT_LENGTH: Final = 0.25
"""Way after which the wait of a plan is over [m]."""


def without_wait(plan: NDArray[np.floating], speed: float) -> NDArray[np.float32]:
    """The poses (T, 3) that an ego at a speed [m/s] follows instead of a plan's, in the same frame.

    Past the end of the plan it goes straight on with the speed of the last step.
    """
    poses = np.concatenate([np.zeros((1, 3)), np.asarray(plan, np.float64)])
    poses[:, 2] = np.unwrap(poses[:, 2])
    steps = np.linalg.norm(np.diff(poses[:, :2], axis=0), axis=1)
    way = np.concatenate([[0.0], np.cumsum(steps)])
    if speed >= REST_SPEED or way[-1] < STANDING_LENGTH:
        return np.asarray(plan, np.float32)
    time = POSE_SECONDS * np.arange(len(poses))
    moved = int(np.argmax(way >= WAIT_LENGTH))
    share = (WAIT_LENGTH - way[moved - 1]) / (way[moved] - way[moved - 1])
    later = time[1:] + time[moved - 1] + share * POSE_SECONDS
    beyond = np.maximum(later - time[-1], 0.0) * steps[-1] / POSE_SECONDS
    shifted = np.stack([np.interp(later, time, column) for column in poses.T], axis=1)
    heading = shifted[:, 2]
    shifted[:, :2] += beyond[:, None] * np.stack([np.cos(heading), np.sin(heading)], axis=1)
    return shifted.astype(np.float32)
