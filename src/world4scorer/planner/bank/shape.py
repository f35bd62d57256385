"""Perturbations of where the ego goes: the progress is the log's, the way is another.

Each function makes `count` plans (count, 8, 3). Offsets grow with the distance driven, not with time: a car that stands
cannot move sideways. Where the log stands, plans set off all the same.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from world4scorer.planner.bank.config import BankConfig, Range
from world4scorer.planner.bank.logged import AT_POSES, END, TIME, Floats, Logged, Way
from world4scorer.planner.bank.timing import draw, draw_gain, signs, smooth_step

INSIDE: Final = 0.7
"""Share of a curve's radius that an offset may take up: at its centre the way would have no direction."""


def lateral_offset(logged: Logged, config: BankConfig, rng: np.random.Generator, count: int) -> Floats:
    """Move over to one side within some seconds and stay there, or come back."""
    along = _travel(logged, config, rng, count)
    pace = along[:, -1:] / END
    ramp, start = draw(rng, config.lateral_ramp, count), draw(rng, config.lateral_start, count)
    length = np.maximum(pace * ramp, 1e-3)
    # A smooth step of length r is 1.5 / r steep and bends by 6 / r^2.
    limit = np.minimum(config.lateral_acceleration * ramp**2 / 6.0, config.steepest * length / 1.5)
    offset = _sideways(logged, config.lateral_offset, limit, along, rng)
    back = rng.random((count, 1)) < config.lateral_return
    share = (along[:, AT_POSES] - pace * start) / length
    out, inward = smooth_step(share), smooth_step(share - 1.0) * back
    slope = (_step_slope(share) - _step_slope(share - 1.0) * back) / length
    return _beside(logged, along, offset * (out - inward), offset * slope)


def endpoint_shift(logged: Logged, config: BankConfig, rng: np.random.Generator, count: int) -> Floats:
    """Drift to one side, ever more, until the end."""
    along = _travel(logged, config, rng, count)
    end = np.maximum(along[:, -1:], 1e-3)
    shift = _sideways(logged, config.endpoint_shift, config.steepest * end / 2, along, rng)
    share = along[:, AT_POSES] / end
    return _beside(logged, along, shift * share**2, 2 * shift * share / end)


def shifted_turn(logged: Logged, config: BankConfig, rng: np.random.Generator, count: int) -> Floats:
    """Make the log's turns some metres too early or too late."""
    shift = draw(rng, config.turn_shift, count) * signs(rng, count)
    distance, heading = logged.way.distance, logged.way.heading
    turned = np.interp(distance + shift, distance, heading) - np.interp(np.maximum(shift, 0.0), distance, heading)
    return _other_way(logged, turned, _travel(logged, config, rng, count))


def wrong_branch(logged: Logged, config: BankConfig, rng: np.random.Generator, count: int) -> Floats:
    """Turn off where the log goes straight; where it turns, go straight or the other way."""
    along = _travel(logged, config, rng, count)
    distance, heading = logged.way.distance, logged.way.heading
    if abs(logged.turn) >= config.least_turn:
        straight = rng.random((count, 1)) < 0.5
        gain = np.where(straight, rng.uniform(-0.2, 0.2, (count, 1)), rng.uniform(-1.2, -0.6, (count, 1)))
        return _other_way(logged, gain * heading, along)
    # A turn that begins where the plan ends would not be seen.
    start = np.minimum(draw(rng, config.branch_start, count), 0.6 * along[:, -1:])
    gentle = (along[:, -1:] / END) ** 2 / config.lateral_acceleration
    radius = np.maximum(draw(rng, config.branch_radius, count), gentle)
    angle = draw(rng, config.branch_angle, count)
    turn = np.clip((distance - start) / radius, 0.0, angle) * signs(rng, count)
    return _other_way(logged, heading + turn, along)


def _travel(logged: Logged, config: BankConfig, rng: np.random.Generator, count: int) -> Floats:
    """Progress (N, T) of plans that take another way: the log's, or setting off where it stands."""
    gain = draw_gain(logged, config, config.set_off, rng, count)
    start = draw(rng, (0.0, 1.0), count)
    if logged.length >= config.standing:
        return np.repeat(logged.progress[None], count, axis=0)
    return np.asarray(logged.progress + gain / 2 * np.maximum(TIME - start, 0.0) ** 2)


def _step_slope(share: Floats) -> Floats:
    u = np.clip(share, 0.0, 1.0)
    return 6.0 * u * (1.0 - u)


def _sideways(logged: Logged, span: Range, limit: Floats, along: Floats, rng: np.random.Generator) -> Floats:
    """Draw metres to the left (N, 1), within limits (N, 1) and short of the centres of the way's curves.

    Where a limit is below the range, the whole range shrinks: cut off, many plans would be the same.
    """
    side, metres = signs(rng, len(limit)), draw(rng, span, len(limit))
    used = logged.way.curvature[logged.way.distance <= along.max()]
    bend = np.where(side > 0, used.max(), -used.min())
    limit = np.minimum(limit, INSIDE / np.maximum(bend, 1e-3))
    return side * metres * np.minimum(limit / max(span[1], 1e-9), 1.0)


def _beside(logged: Logged, along: Floats, offset: Floats, slope: Floats) -> Floats:
    """Poses `offset` (N, 8) metres to the left of the way, where the offset grows by `slope` per metre."""
    at = along[:, AT_POSES]
    poses = logged.way.poses(at)
    heading = poses[..., 2]
    poses[..., 0] -= offset * np.sin(heading)
    poses[..., 1] += offset * np.cos(heading)
    bend = np.interp(at, logged.way.distance, logged.way.curvature)
    poses[..., 2] = heading + np.arctan2(slope, 1.0 - bend * offset)
    return poses


def _other_way(logged: Logged, heading: Floats, along: Floats) -> Floats:
    """Poses along ways of other headings (N, P)."""
    used = int(np.searchsorted(logged.way.distance, along.max())) + 2
    return Way.of_headings(logged.way.distance[:used], heading[:, :used]).poses(along[:, AT_POSES])
