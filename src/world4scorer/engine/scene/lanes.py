"""Lanes around the ego as lines: what simulated vehicles follow."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from world4scorer.engine.scene.checks import SceneError, as_array


@dataclass(frozen=True, eq=False)
class Lanes:
    """M lanes and lane connectors with W vertices in all, in the order of the map's tables.

    The polygon of a lane is the one of the same id in the scene's map.
    """

    ids: tuple[str, ...]
    """M ids."""
    connector: NDArray[np.bool_]
    """(M,) whether it is a lane connector, which leads through an intersection."""
    limit: NDArray[np.float64]
    """(M,) speed limit [m/s]; NaN where the map has none."""
    vertices: NDArray[np.float64]
    """(W, 2) baselines [m], global frame, in driving direction."""
    offsets: NDArray[np.int64]
    """(M + 1,) lane m is rows `offsets[m]:offsets[m + 1]` of `vertices`, at least two."""

    def __post_init__(self) -> None:
        put = object.__setattr__
        put(self, "ids", tuple(str(i) for i in self.ids))
        count = len(self.ids)
        if len(set(self.ids)) != count:
            raise SceneError("lanes.ids: names must be distinct")
        put(self, "connector", as_array("lanes.connector", self.connector, np.bool_, (count,)))
        put(self, "limit", as_array("lanes.limit", self.limit, np.float64, (count,), finite=False))
        put(self, "vertices", as_array("lanes.vertices", self.vertices, np.float64, ("W", 2)))
        put(self, "offsets", as_array("lanes.offsets", self.offsets, np.int64, (count + 1,)))
        if self.offsets[0] != 0 or self.offsets[-1] != len(self.vertices) or (np.diff(self.offsets) < 2).any():
            raise SceneError(f"lanes.offsets: must rise from 0 to {len(self.vertices)} by at least two for each lane")

    def line(self, lane: int) -> NDArray[np.float64]:
        """Return the baseline (n, 2) of one lane."""
        return self.vertices[self.offsets[lane] : self.offsets[lane + 1]]
