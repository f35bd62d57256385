"""Scene lanes from the lanes of a log."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from world4scorer.datasets.store.polygons import gather_rows, starts_of


class LaneColumns(NamedTuple):
    """The lanes of a log."""

    name: NDArray[np.int32]
    """(M,)"""
    connector: NDArray[np.uint8]
    """(M,)"""
    limit: NDArray[np.float64]
    """(M,) m/s"""
    first: NDArray[np.int64]
    """(M + 1,)"""
    vertices: NDArray[np.float64]
    """(W, 2) m"""

    @classmethod
    def of(cls, columns: Mapping[str, NDArray[Any]]) -> LaneColumns:
        """The lanes of a shard's `new_lane_` columns."""
        parts = [columns[f"new_lane_{part}"] for part in ("name", "connector", "limit", "points", "vertices")]
        name, connector, limit, points, vertices = parts
        first = starts_of(points)
        if first[-1] != len(vertices) or len({len(name), len(connector), len(limit), len(points)}) > 1:
            raise ValueError("the parts of the lanes do not fit together")
        return cls(name, connector, limit, first, vertices)

    def gather(self, lanes: NDArray[np.int32]) -> dict[str, NDArray[Any]]:
        """The fields of `Lanes`, without names, for the given lanes, in the given order."""
        if len(lanes) and (lanes.min() < 0 or lanes.max() >= len(self.name)):
            raise ValueError("a lane of the scene is not in the file")
        vertices, offsets = gather_rows(self.vertices, self.first[lanes], self.first[lanes + 1])
        return {
            "connector": self.connector[lanes].astype(np.bool_),
            "limit": self.limit[lanes],
            "vertices": vertices,
            "offsets": offsets,
        }
