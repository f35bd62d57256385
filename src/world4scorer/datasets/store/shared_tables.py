"""Names, polygons and lanes shared by the scenes of a log, written once."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from world4scorer.engine.scene.lanes import Lanes
from world4scorer.engine.scene.map import PolygonMap


class NameTable:
    """Indices of names, in order of first use."""

    def __init__(self) -> None:
        self._indices: dict[str, int] = {}
        self._new: list[str] = []

    def indices(self, names: Iterable[str]) -> NDArray[np.int32]:
        """Return the indices of names; new ones are added."""
        return np.array([self._index(name) for name in names], np.int32)

    def _index(self, name: str) -> int:
        index = self._indices.get(name)
        if index is None:
            index = self._indices[name] = len(self._indices)
            self._new.append(name)
        return index

    def take_new(self) -> list[str]:
        """Return the names added since the last call."""
        new, self._new = self._new, []
        return new


class PolygonTable:
    """Indices of polygons. Polygons are equal if name, layer and all vertices are."""

    def __init__(self, names: NameTable) -> None:
        self._names = names
        self._indices: dict[tuple[Any, ...], int] = {}
        self._last: tuple[PolygonMap, NDArray[np.int32]] | None = None
        self._new: dict[str, list[Any]] = self._nothing()

    @staticmethod
    def _nothing() -> dict[str, list[Any]]:
        return {"name": [], "layer": [], "rings": [], "ring_vertices": [], "vertices": []}

    def indices(self, polygons: PolygonMap) -> NDArray[np.int32]:
        """Return the (P,) indices of a map's polygons; new ones are added."""
        if self._last is not None and self._last[0] is polygons:
            return self._last[1]
        indices = np.empty(len(polygons.ids), np.int32)
        for polygon, name in enumerate(polygons.ids):
            indices[polygon] = self._index(name, int(polygons.layer[polygon]), polygons.rings(polygon))
        self._last = (polygons, indices)
        return indices

    def _index(self, name: str, layer: int, rings: list[NDArray[np.float64]]) -> int:
        key = (name, layer, *(ring.tobytes() for ring in rings))
        index = self._indices.get(key)
        if index is None:
            index = self._indices[key] = len(self._indices)
            self._new["name"].append(name)
            self._new["layer"].append(layer)
            self._new["rings"].append(len(rings))
            self._new["ring_vertices"] += [len(ring) for ring in rings]
            self._new["vertices"] += rings
        return index

    def take_new(self) -> dict[str, NDArray[Any]]:
        """Return the polygons added since the last call, as the shard's columns."""
        new, self._new = self._new, self._nothing()
        return {
            "new_polygon_name": self._names.indices(new["name"]),
            "new_polygon_layer": np.array(new["layer"], np.int8),
            "new_polygon_rings": np.array(new["rings"], np.int32),
            "new_ring_vertices": np.array(new["ring_vertices"], np.int32),
            "new_vertices": np.concatenate([np.zeros((0, 2)), *new["vertices"]]),
        }


class LaneTable:
    """Indices of lanes. Lanes are equal if name, kind, limit and all vertices are."""

    def __init__(self, names: NameTable) -> None:
        self._names = names
        self._indices: dict[tuple[Any, ...], int] = {}
        self._last: tuple[Lanes, NDArray[np.int32]] | None = None
        self._new: dict[str, list[Any]] = self._nothing()

    @staticmethod
    def _nothing() -> dict[str, list[Any]]:
        return {"name": [], "connector": [], "limit": [], "vertices": []}

    def indices(self, lanes: Lanes | None) -> NDArray[np.int32] | None:
        """Return the (M,) indices of a scene's lanes; new ones are added."""
        if lanes is None:
            return None
        if self._last is not None and self._last[0] is lanes:
            return self._last[1]
        indices = np.empty(len(lanes.ids), np.int32)
        for lane, name in enumerate(lanes.ids):
            indices[lane] = self._index(name, lanes.connector[lane], lanes.limit[lane], lanes.line(lane))
        self._last = (lanes, indices)
        return indices

    def _index(self, name: str, connector: np.bool_, limit: np.float64, line: NDArray[np.float64]) -> int:
        key = (name, bool(connector), limit.tobytes(), line.tobytes())
        index = self._indices.get(key)
        if index is None:
            index = self._indices[key] = len(self._indices)
            self._new["name"].append(name)
            self._new["connector"].append(connector)
            self._new["limit"].append(limit)
            self._new["vertices"].append(line)
        return index

    def take_new(self) -> dict[str, NDArray[Any]]:
        """Return the lanes added since the last call, as the shard's columns."""
        new, self._new = self._new, self._nothing()
        return {
            "new_lane_name": self._names.indices(new["name"]),
            "new_lane_connector": np.array(new["connector"], np.uint8),
            "new_lane_limit": np.array(new["limit"], np.float64),
            "new_lane_points": np.array([len(line) for line in new["vertices"]], np.int32),
            "new_lane_vertices": np.concatenate([np.zeros((0, 2)), *new["vertices"]]),
        }
