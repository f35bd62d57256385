"""Distance of the route point: the paper's scan over clips.

For each distance: the share of left (right) turn frames whose route point lies on that side, which is low if the point
is too near; and the share of frames whose route ends before the point, which is high if it is too far.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from world4scorer.driving.clips.clip_route import route_points
from world4scorer.driving.clips.errors import ClipError
from world4scorer.driving.clips.prepared import PreparedClips
from world4scorer.engine.routes import RoadOption, Route

DEFAULT_DISTANCES: Final = (10.0, 15.0, 20.0, 25.0, 30.0, 35.0, 40.0)
"""m"""
ROUTE_END_TOLERANCE: Final = 1e-3
"""Tolerance for recognising the end of the route [m]."""


@dataclass(frozen=True)
class ScanRow:
    """Shares for one distance."""

    distance: float
    """m"""
    left: float
    """Share of left-turn frames whose point lies to the left; NaN without such frames."""
    right: float
    """The same to the right."""
    ended: float
    """Share of frames whose route ends before."""
    frames: int
    left_frames: int
    right_frames: int


def scan_distances(
    clips: PreparedClips, distances: Sequence[float] = DEFAULT_DISTANCES, count: int | None = None
) -> list[ScanRow]:
    """Scan all frames of all clips, or of the first `count` clips."""
    names = list(clips.clips)[:count]
    if not names:
        raise ClipError(f"{clips.folder}: no clips")
    commands = np.concatenate([clips[name].commands for name in names])
    left, right = commands == RoadOption.LEFT, commands == RoadOption.RIGHT
    rows = []
    for distance in distances:
        points = np.concatenate([route_points(Route(clips[n].route), clips[n].poses, distance) for n in names])
        ended = np.linalg.norm(points, axis=1) < distance - ROUTE_END_TOLERANCE
        shares = _share(points[left, 1] > 0), _share(points[right, 1] < 0), _share(ended)
        rows.append(ScanRow(distance, *shares, len(points), int(left.sum()), int(right.sum())))
    return rows


def as_table(rows: Sequence[ScanRow]) -> str:
    """The rows in Markdown."""
    first = rows[0]
    lines = [
        f"{first.frames:,} frames, {first.left_frames:,} of them to the left, {first.right_frames:,} to the right",
        "",
        "| distance | left of a left turn | right of a right turn | route ends before |",
        "|---:|---:|---:|---:|",
    ]
    lines += [f"| {row.distance:g} m | {row.left:.1%} | {row.right:.1%} | {row.ended:.1%} |" for row in rows]
    return "\n".join(lines)


def _share(hits: np.ndarray[tuple[int, ...], np.dtype[np.bool_]]) -> float:
    return float(hits.mean()) if len(hits) else float("nan")
