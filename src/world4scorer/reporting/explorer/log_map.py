"""The map around a log, each polygon once, and which polygons are the route of each frame."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from world4scorer.engine.scene.indices import State
from world4scorer.engine.scene.scene import Scene
from world4scorer.reporting.explorer.rounding import LENGTH, quantise
from world4scorer.reporting.explorer.surroundings import MAP_REACH


class LogMap:
    """Polygons of the scenes that were added, in metres from the origin of the log."""

    def __init__(self, origin: NDArray[np.float64]) -> None:
        self.origin = origin
        """(2,) global [m]"""
        self._index: dict[tuple[int, str], int] = {}
        self._layers: list[int] = []
        self._rings: list[NDArray[np.int32]] = []
        self._ring_polygon: list[int] = []

    def add(self, scene: Scene) -> NDArray[np.int64]:
        """Add what is near the ego; returns for each polygon of the scene its number in the log, -1 for far ones."""
        polygons = scene.map
        numbers = np.full(len(polygons.ids), -1, np.int64)
        if not polygons.ids:
            return numbers
        first = polygons.ring_offsets[polygons.polygon_rings[:-1]]
        ego = scene.ego_state[[State.X, State.Y]]
        low, high = (bound.reduceat(polygons.vertices, first) - ego for bound in (np.minimum, np.maximum))
        near = ((low <= MAP_REACH) & (high >= -MAP_REACH)).all(axis=1)
        for polygon in np.flatnonzero(near).tolist():
            key = (int(polygons.layer[polygon]), polygons.ids[polygon])
            if key not in self._index:
                self._index[key] = len(self._layers)
                self._layers.append(key[0])
                for ring in polygons.rings(polygon):
                    self._rings.append(quantise(ring - self.origin, LENGTH).astype(np.int32))
                    self._ring_polygon.append(self._index[key])
            numbers[polygon] = self._index[key]
        return numbers

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Layers of the polygons, their rings one after the other, and whose each ring is."""
        points = np.concatenate(self._rings) if self._rings else np.zeros((0, 2), np.int32)
        return {
            "map_layer": np.array(self._layers, np.uint8),
            "map_points": points,
            "map_ring_ends": np.cumsum([len(ring) for ring in self._rings], dtype=np.uint32),
            "map_ring_polygon": np.array(self._ring_polygon, np.uint32),
        }

    @property
    def ids(self) -> list[str]:
        """Ids of the polygons."""
        return [name for _, name in self._index]
