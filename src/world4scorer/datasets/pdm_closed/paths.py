"""The three paths of the reference planner: the centreline and its parallels one metre to either side.

Shapes: L = 3 lateral offsets, C vertices.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import shapely
from numpy.typing import NDArray
from shapely.ops import substring

from world4scorer.engine.kernels import inlined, kernel
from world4scorer.engine.outcomes.progress import SEGMENTS_PER_BLOCK, arc_length, measure_line
from world4scorer.engine.rollout.angles import wrap
from world4scorer.engine.scene.vehicle import HALF_WIDTH

LATERAL_OFFSETS: Final = (0.0, -1.0, 1.0)
"""m, positive to the left."""
FIRST_PROGRESS: Final = 1e-5
"""Minimum progress [m]."""
QUADRANT_SEGMENTS: Final = 16
"""Segments per quarter circle of a corridor."""


@dataclass(frozen=True, eq=False)
class LateralPaths:
    """A centreline and its parallels."""

    centerline: NDArray[np.float64]
    """(C, 3) x, y [m], heading [rad] as in the map."""
    poses: NDArray[np.float64]
    """(L, C, 3) x, y [m], heading [rad], unwrapped along the path."""
    progress: NDArray[np.float64]
    """(L, C) arc length [m]."""
    bounds: NDArray[np.float64]
    """(L, C // 16 + 1, 4) bounds of blocks of segments, for nearest-point search."""

    @classmethod
    def from_centerline(cls, centerline: NDArray[np.float64]) -> LateralPaths:
        """Build the three paths of a centreline (C, 3)."""
        poses = np.empty((len(LATERAL_OFFSETS), *centerline.shape))
        left = centerline[:, 2] + np.pi / 2
        for index, offset in enumerate(LATERAL_OFFSETS):
            poses[index, :, 0] = centerline[:, 0] + np.cos(left) * offset
            poses[index, :, 1] = centerline[:, 1] + np.sin(left) * offset
        poses[0, :, :2] = centerline[:, :2]
        poses[:, :, 2] = np.unwrap(centerline[:, 2])
        progress = np.empty(poses.shape[:2])
        bounds = np.empty((len(LATERAL_OFFSETS), poses.shape[1] // SEGMENTS_PER_BLOCK + 1, 4))
        _measure(poses, bounds, progress)
        return cls(centerline, poses, progress, bounds)

    def project(self, x: float, y: float) -> NDArray[np.float64]:
        """(L,) progress along each path of its point nearest to x, y [m]."""
        return _project(self.poses, self.bounds, self.progress, x, y)  # type: ignore[no-any-return]

    def corridors(self, start: NDArray[np.float64], reach: float) -> NDArray[np.object_]:
        """(L,) corridors of the ego's width from `start` (L,) over the next `reach` metres.

        The strip follows whole vertices of the path; only where fewer than two lie in reach are its ends exact.
        """
        lines = np.empty(len(LATERAL_OFFSETS), object)
        for index in range(len(LATERAL_OFFSETS)):
            progress, points = self.progress[index], self.poses[index, :, :2]
            first, last = np.clip([start[index], start[index] + reach], 0.0, progress[-1])
            low, high = np.searchsorted(progress, first), np.searchsorted(progress, last, side="right")
            if high - low > 1:
                lines[index] = shapely.linestrings(points[low:high])
            else:
                lines[index] = substring(shapely.linestrings(points), first, last)
        return np.asarray(shapely.buffer(lines, HALF_WIDTH, quad_segs=QUADRANT_SEGMENTS, cap_style="square"))


@kernel
def _measure(poses, bounds, progress):
    for index in range(poses.shape[0]):
        measure_line(poses[index], bounds[index], progress[index])


@kernel
def _project(poses, bounds, progress, x, y):
    out = np.empty(poses.shape[0])
    for index in range(poses.shape[0]):
        out[index] = arc_length(poses[index], bounds[index], progress[index], x, y)
    return out


@inlined
def pose_at(poses, progress, distance, out):
    """Fill `out` (3,) with the pose after `distance` along the path `poses` (C, 3), `progress` (C,)."""
    last = progress.size - 1
    way = min(max(distance, FIRST_PROGRESS), progress[last])
    right = min(max(np.searchsorted(progress, way), 1), last)
    span = progress[right] - progress[right - 1]
    share = (way - progress[right - 1]) / span if span > 0.0 else 0.0
    for column in range(3):
        start = poses[right - 1, column]
        out[column] = start + share * (poses[right, column] - start)
    out[2] = wrap(out[2])
