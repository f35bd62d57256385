"""Perturbations of the path, with the log's progress.

Each function makes `count` plans (count, 8, 3). Offsets grow with distance, not with time: a standing car cannot move
sideways. Where the log stands, plans start from standstill.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from world4scorer.planner.bank.config import BankConfig, Range
from world4scorer.planner.bank.logged import HORIZON, POSE_STEPS, TIME, Floats, LoggedMotion, ReferencePath
from world4scorer.planner.bank.timing import draw_acceleration, draw_signs, draw_uniform, smooth_step

MAX_CURVE_SHARE: Final = 0.7
"""Largest offset as a share of a curve's radius."""


def lateral_offset(logged: LoggedMotion, config: BankConfig, rng: np.random.Generator, count: int) -> Floats:
    """Move over to one side within some seconds and stay there, or come back."""
    along = _draw_progress(logged, config, rng, count)
    pace = along[:, -1:] / HORIZON
    ramp, start = draw_uniform(rng, config.lateral_ramp, count), draw_uniform(rng, config.lateral_start, count)
    length = np.maximum(pace * ramp, 1e-3)
    # A smooth step of length r is 1.5 / r steep and bends by 6 / r^2.
    limit = np.minimum(config.lateral_acceleration * ramp**2 / 6.0, config.steepest * length / 1.5)
    offset = _draw_offset(logged, config.lateral_offset, limit, along, rng)
    back = rng.random((count, 1)) < config.lateral_return
    share = (along[:, POSE_STEPS] - pace * start) / length
    out, inward = smooth_step(share), smooth_step(share - 1.0) * back
    slope = (_step_slope(share) - _step_slope(share - 1.0) * back) / length
    return _offset_poses(logged, along, offset * (out - inward), offset * slope)


def endpoint_shift(logged: LoggedMotion, config: BankConfig, rng: np.random.Generator, count: int) -> Floats:
    """Drift to one side, ever more, until the end."""
    along = _draw_progress(logged, config, rng, count)
    end = np.maximum(along[:, -1:], 1e-3)
    shift = _draw_offset(logged, config.endpoint_shift, config.steepest * end / 2, along, rng)
    share = along[:, POSE_STEPS] / end
    return _offset_poses(logged, along, shift * share**2, 2 * shift * share / end)


def shifted_turn(logged: LoggedMotion, config: BankConfig, rng: np.random.Generator, count: int) -> Floats:
    """Make the log's turns some metres too early or too late."""
    shift = draw_uniform(rng, config.turn_shift, count) * draw_signs(rng, count)
    distance, heading = logged.path.distance, logged.path.heading
    turned = np.interp(distance + shift, distance, heading) - np.interp(np.maximum(shift, 0.0), distance, heading)
    return _poses_along(logged, turned, _draw_progress(logged, config, rng, count))


def wrong_branch(logged: LoggedMotion, config: BankConfig, rng: np.random.Generator, count: int) -> Floats:
    """Turn off where the log goes straight; where it turns, go straight or the other way."""
    along = _draw_progress(logged, config, rng, count)
    distance, heading = logged.path.distance, logged.path.heading
    if abs(logged.turn) >= config.least_turn:
        straight = rng.random((count, 1)) < 0.5
        gain = np.where(straight, rng.uniform(-0.2, 0.2, (count, 1)), rng.uniform(-1.2, -0.6, (count, 1)))
        return _poses_along(logged, gain * heading, along)
    # The turn must begin before the plan ends.
    start = np.minimum(draw_uniform(rng, config.branch_start, count), 0.6 * along[:, -1:])
    gentle = (along[:, -1:] / HORIZON) ** 2 / config.lateral_acceleration
    radius = np.maximum(draw_uniform(rng, config.branch_radius, count), gentle)
    angle = draw_uniform(rng, config.branch_angle, count)
    turn = np.clip((distance - start) / radius, 0.0, angle) * draw_signs(rng, count)
    return _poses_along(logged, heading + turn, along)


def _draw_progress(logged: LoggedMotion, config: BankConfig, rng: np.random.Generator, count: int) -> Floats:
    """Progress (N, T) of plans on another path: the log's, or a start from standstill."""
    gain = draw_acceleration(logged, config, config.set_off, rng, count)
    start = draw_uniform(rng, (0.0, 1.0), count)
    if logged.length >= config.standing:
        return np.repeat(logged.progress[None], count, axis=0)
    return np.asarray(logged.progress + gain / 2 * np.maximum(TIME - start, 0.0) ** 2)


def _step_slope(share: Floats) -> Floats:
    u = np.clip(share, 0.0, 1.0)
    return 6.0 * u * (1.0 - u)


def _draw_offset(logged: LoggedMotion, span: Range, limit: Floats, along: Floats, rng: np.random.Generator) -> Floats:
    """Draw offsets to the left (N, 1) [m], within limits (N, 1) and short of the centres of curves.

    Ranges are scaled to the limit rather than clipped, which would produce duplicates.
    """
    side, metres = draw_signs(rng, len(limit)), draw_uniform(rng, span, len(limit))
    used = logged.path.curvature[logged.path.distance <= along.max()]
    bend = np.where(side > 0, used.max(), -used.min())
    limit = np.minimum(limit, MAX_CURVE_SHARE / np.maximum(bend, 1e-3))
    return side * metres * np.minimum(limit / max(span[1], 1e-9), 1.0)


def _offset_poses(logged: LoggedMotion, along: Floats, offset: Floats, slope: Floats) -> Floats:
    """Poses `offset` (N, 8) metres to the left of the path; `slope` is the offset's change per metre."""
    at = along[:, POSE_STEPS]
    poses = logged.path.poses(at)
    heading = poses[..., 2]
    poses[..., 0] -= offset * np.sin(heading)
    poses[..., 1] += offset * np.cos(heading)
    bend = np.interp(at, logged.path.distance, logged.path.curvature)
    poses[..., 2] = heading + np.arctan2(slope, 1.0 - bend * offset)
    return poses


def _poses_along(logged: LoggedMotion, heading: Floats, along: Floats) -> Floats:
    """Poses along paths with headings (N, P)."""
    used = int(np.searchsorted(logged.path.distance, along.max())) + 2
    return ReferencePath.of_headings(logged.path.distance[:used], heading[:, :used]).poses(along[:, POSE_STEPS])
