"""Where the ego is every 0.1 s of a branch: a rollout, or the poses of a log.

A branch lasts five seconds, as the traffic of v1.1's metrics does. A rollout ends after four; in the fifth second the
ego goes straight on at its last speed, which is what time to collision assumes.

Shapes: B branches, M = 50 steps after now.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from world4scorer.datasets.navsim.frames import LogFrame
from world4scorer.datasets.prepare.tracks import STEPS_PER_FRAME
from world4scorer.engine.scene.indices import DT, STEPS, State

FRAMES: Final = 10
"""Log frames after now."""
BRANCH_STEPS: Final = FRAMES * STEPS_PER_FRAME
CAMERA_STEP: Final = 20
"""Step at which the front camera is drawn: two seconds ahead, as future targets are."""

Floats = NDArray[np.float64]


class EgoTrajectory(NamedTuple):
    """States of the ego after each step."""

    poses: Floats
    """(M, 3) rear axle, global"""
    velocities: Floats
    """(M, 2) ego axes [m/s]"""
    accelerations: Floats
    """(M, 2) ego axes [m/s^2]"""


def rollout_trajectories(states: Floats) -> list[EgoTrajectory]:
    """Trajectories of rollouts (B, 41, 11)."""
    last = states[:, -1]
    time = DT * np.arange(1, BRANCH_STEPS - STEPS + 2)
    ahead = last[:, None, State.VELOCITY_X] * time
    further = np.repeat(last[:, None], len(time), axis=1)
    further[..., State.X] += ahead * np.cos(last[:, None, State.HEADING])
    further[..., State.Y] += ahead * np.sin(last[:, None, State.HEADING])
    further[..., [State.ACCELERATION_X, State.ACCELERATION_Y]] = 0.0
    whole = np.concatenate([states[:, 1:], further], axis=1)
    return [
        EgoTrajectory(
            one[:, [State.X, State.Y, State.HEADING]],
            one[:, [State.VELOCITY_X, State.VELOCITY_Y]],
            one[:, [State.ACCELERATION_X, State.ACCELERATION_Y]],
        )
        for one in whole
    ]


def logged_trajectory(frames: Sequence[LogFrame]) -> EgoTrajectory:
    """Linear interpolation of the poses of eleven frames, from now on."""
    at = DT * np.arange(1, BRANCH_STEPS + 1)
    times = DT * STEPS_PER_FRAME * np.arange(FRAMES + 1)

    def between(values: Floats) -> Floats:
        return np.column_stack([np.interp(at, times, column) for column in values.T])

    poses = np.stack([frame.ego_pose for frame in frames[: FRAMES + 1]])
    poses[:, 2] = np.unwrap(poses[:, 2])
    velocity = np.stack([frame.velocity for frame in frames[: FRAMES + 1]])
    acceleration = np.stack([frame.acceleration for frame in frames[: FRAMES + 1]])
    return EgoTrajectory(between(poses), between(velocity), between(acceleration))
