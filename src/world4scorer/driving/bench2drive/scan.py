"""How far ahead the route point should lie: the paper's scan of distances over clips.

Two shares, for each distance. Of frames with the command to turn left (right), those whose route point lies on that
side of the ego: too near, and a point tells nothing of the turn. Of all frames, those whose route ends before the
point: too far, and the point is often the route's end.
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
"""A point nearer than asked for by more than this is the route's end [m]."""


@dataclass(frozen=True)
class ScanRow:
    """One distance."""

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
    """Look at all frames of all clips, or of the first `count`."""
    names = list(clips.clips)[:count]
    if not names:
        raise ClipError(f"{clips.folder}: no clip to look at")
    commands = np.concatenate([clips[name].commands for name in names])
    left, right = commands == RoadOption.LEFT, commands == RoadOption.RIGHT
    rows = []
    for distance in distances:
        points = np.concatenate([route_points(Route(clips[n].route), clips[n].poses, distance) for n in names])
        ended = np.linalg.norm(points, axis=1) < distance - ROUTE_END_TOLERANCE
        rows.append(
            ScanRow(
                distance,
                _share(points[left, 1] > 0),
                _share(points[right, 1] < 0),
                _share(ended),
                len(points),
                int(left.sum()),
                int(right.sum()),
            )
        )
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
