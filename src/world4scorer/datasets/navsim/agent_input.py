"""Planner input and human trajectory, in the current ego frame."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from world4scorer.datasets.navsim.errors import DatasetError
from world4scorer.datasets.navsim.filters import Window
from world4scorer.engine.scene.geometry import relative_poses


@dataclass(frozen=True, eq=False)
class AgentInput:
    """The last H = 4 frames, oldest first, up to now."""

    poses: NDArray[np.float32]
    """(H, 3) x, y [m], heading [rad] of the rear axle, in the current ego frame."""
    velocities: NDArray[np.float32]
    """(H, 2) m/s, each in the ego frame of its own time."""
    accelerations: NDArray[np.float32]
    """(H, 2) m/s^2, each in the ego frame of its own time."""
    commands: NDArray[np.int64]
    """(H, 4) one-hot: left, forward, right, unknown."""


def agent_input(window: Window, history: int = 4) -> AgentInput:
    """The input of a planner at the frame `history - 1` of a window."""
    past = window[:history]
    return AgentInput(
        poses=history_poses(window, history).astype(np.float32),
        velocities=np.array([frame.velocity for frame in past], np.float32),
        accelerations=np.array([frame.acceleration for frame in past], np.float32),
        commands=np.array([frame.command for frame in past]),
    )


def history_poses(window: Window, history: int = 4) -> NDArray[np.float64]:
    """(history, 3) poses of the first frames, in the ego frame of the last of them."""
    poses = np.array([frame.ego_pose for frame in window[:history]])
    return relative_poses(poses, poses[-1])


def future_poses(window: Window, count: int = 8, history: int = 4) -> NDArray[np.float64]:
    """(count, 3) human poses 0.5, 1.0, ... s from now, in the current ego frame."""
    if len(window) < history + count:
        raise DatasetError(f"{window[history - 1].where}: {len(window) - history} frames follow, {count} are needed")
    poses = np.array([frame.ego_pose for frame in window[history - 1 : history + count]])
    return relative_poses(poses[1:], poses[0])
