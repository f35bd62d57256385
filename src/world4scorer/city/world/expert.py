"""Expert trajectories: SUMO's drives, smoothed to what a human driver would do.

SUMO moves a point along a polyline, changes lanes by a straight ramp and may brake abruptly. Path and progress along it
are smoothed separately, both by averages with positive weights: nothing overshoots, and a standing car stands. A car
with axles then follows the path. Positions stay within a few decimetres of SUMO's, so reactions of others still fit.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

import numpy as np

from world4scorer.city.world.recording import Drive
from world4scorer.city.world.traffic import TIME_STEP
from world4scorer.engine.scene.geometry import Floats, arc_length, direction
from world4scorer.engine.scene.vehicle import FRONT_OVERHANG

TIME_SMOOTHING: Final = 0.45
"""Standard deviation of the Gaussian over time [s]."""
PATH_SMOOTHING: Final = 0.5
"""Standard deviation of the Gaussian along the path, in seconds of driving, clipped to the next two bounds."""
MIN_PATH_SMOOTHING: Final = 1.3
"""m"""
MAX_PATH_SMOOTHING: Final = 6.0
"""m"""
PATH_STEP: Final = 0.25
"""m"""
TRACKING_POINT: Final = 2.0
"""Distance of the point that follows the lane centre from the rear axle [m]: drivers swing out a little in turns."""


@dataclass(frozen=True, eq=False)
class ExpertDrive:
    """A smoothed drive at 10 Hz, aligned with the rows of its `Drive`."""

    drive: Drive
    pose: Floats
    """(n, 3) x, y [m], heading [rad, continuous] of the rear axle."""
    speed: Floats
    """(n,) of the rear axle [m/s]."""
    acceleration: Floats
    """(n, 2) forward and to the left [m/s^2]."""
    yaw_rate: Floats
    """(n,) rad/s"""
    travelled: Floats
    """(n,) m along the path."""


def expert_drive(drive: Drive) -> ExpertDrive:
    """Smooth a drive."""
    travelled = arc_length(drive.front)
    smooth = _average_over_time(travelled)
    grid, path = _smooth_path(drive, travelled, smooth)
    rear, heading = _drag_along(path)
    # Where the tracking point is when the bumper is at `smooth`.
    point = smooth - (FRONT_OVERHANG - TRACKING_POINT)
    pose = np.column_stack(
        [np.interp(point, grid, rear[:, 0]), np.interp(point, grid, rear[:, 1]), np.interp(point, grid, heading)]
    )
    speed = np.maximum((np.gradient(pose[:, :2], TIME_STEP, axis=0) * direction(pose[:, 2])).sum(1), 0.0)
    yaw_rate = np.gradient(pose[:, 2], TIME_STEP)
    acceleration = np.column_stack([np.gradient(speed, TIME_STEP), speed * yaw_rate])
    return ExpertDrive(drive, pose, speed, acceleration, yaw_rate, smooth)


def _average_over_time(travelled: Floats) -> Floats:
    reach = round(4 * TIME_SMOOTHING / TIME_STEP)
    weights = np.exp(-0.5 * (np.arange(-reach, reach + 1) * TIME_STEP / TIME_SMOOTHING) ** 2)
    first, last = travelled[1] - travelled[0], travelled[-1] - travelled[-2]
    padded = np.concatenate(
        [travelled[0] + first * np.arange(-reach, 0), travelled, travelled[-1] + last * np.arange(1, reach + 1)]
    )
    return np.convolve(padded, weights / weights.sum(), mode="valid")


def _smooth_path(drive: Drive, travelled: Floats, smooth: Floats) -> tuple[Floats, Floats]:
    """Path of the bumper at every `PATH_STEP`: distances (m,) and points (m, 2), extended straight at both ends."""
    moving = np.concatenate([[True], np.diff(travelled) > 1e-6])
    reach = int(3 * MAX_PATH_SMOOTHING / PATH_STEP)
    ahead = reach * PATH_STEP + FRONT_OVERHANG
    grid = np.arange(smooth[0] - FRONT_OVERHANG - 1.0, smooth[-1] + 1.0, PATH_STEP)
    wide = np.concatenate(
        [grid[0] - PATH_STEP * np.arange(reach, 0, -1), grid, grid[-1] + PATH_STEP * np.arange(1, reach + 1)]
    )
    ends = direction(drive.angle[[0, -1]])
    s = np.concatenate([[travelled[0] - 2 * ahead], travelled[moving], [travelled[-1] + 2 * ahead]])
    points = np.concatenate(
        [[drive.front[0] - 2 * ahead * ends[0]], drive.front[moving], [drive.front[-1] + 2 * ahead * ends[1]]]
    )
    raw = np.column_stack([np.interp(wide, s, points[:, 0]), np.interp(wide, s, points[:, 1])])
    # Slow next to fast needs a smoothing length that itself changes slowly.
    fast = np.interp(grid, travelled[moving], drive.speed[moving])
    deviation = np.clip(PATH_SMOOTHING * fast, MIN_PATH_SMOOTHING, MAX_PATH_SMOOTHING)
    deviation = np.convolve(np.pad(deviation, 20, mode="edge"), np.full(41, 1 / 41), mode="valid")
    total, weight = np.zeros((len(grid), 2)), np.zeros(len(grid))
    for offset in range(-reach, reach + 1):
        share = np.exp(-0.5 * (offset * PATH_STEP / deviation) ** 2)
        total += share[:, None] * raw[reach + offset : reach + offset + len(grid)]
        weight += share
    return grid, total / weight[:, None]


def _drag_along(path: Floats) -> tuple[Floats, Floats]:
    """Rear axle (m, 2) and heading (m,) when the tracking point follows the path."""
    rear = np.empty_like(path)
    heading = np.empty(len(path))
    dx, dy = path[1] - path[0]
    angle = math.atan2(dy, dx)
    x, y = path[0, 0] - TRACKING_POINT * math.cos(angle), path[0, 1] - TRACKING_POINT * math.sin(angle)
    for row, (px, py) in enumerate(path.tolist()):
        dx, dy = px - x, py - y
        length = math.hypot(dx, dy)
        x, y = px - TRACKING_POINT * dx / length, py - TRACKING_POINT * dy / length
        rear[row] = x, y
        heading[row] = math.atan2(dy, dx)
    return rear, np.unwrap(heading)
