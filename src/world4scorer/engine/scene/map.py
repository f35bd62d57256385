"""The map around the ego: polygons by layer, as flat arrays."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from world4scorer.engine.scene.checks import SceneError, as_array, as_codes
from world4scorer.engine.scene.indices import Layer


@dataclass(frozen=True, eq=False)
class PolygonMap:
    """P polygons made of R rings with V vertices in all.

    The first ring of a polygon is its shell, further ones are holes. Rings are not closed (a repeated first vertex
    does no harm), may have either orientation, and may cross themselves: each ring is filled by the even-odd rule. A
    point on an edge is outside.
    """

    ids: tuple[str, ...]
    """P ids; polygons of different layers may share one."""
    layer: NDArray[np.int8]
    """(P,) codes of `Layer`."""
    vertices: NDArray[np.float64]
    """(V, 2) m, global frame."""
    ring_offsets: NDArray[np.int64]
    """(R + 1,) ring r is rows `ring_offsets[r]:ring_offsets[r + 1]` of `vertices`."""
    ring_polygon: NDArray[np.int64]
    """(R,) polygon of ring r, in ascending order."""

    def __post_init__(self) -> None:
        put = object.__setattr__
        put(self, "ids", tuple(str(i) for i in self.ids))
        put(self, "layer", as_codes("map.layer", self.layer, Layer, len(self.ids)))
        put(self, "vertices", as_array("map.vertices", self.vertices, np.float64, ("V", 2)))
        put(self, "ring_polygon", as_array("map.ring_polygon", self.ring_polygon, np.int64, ("R",)))
        rings = len(self.ring_polygon)
        put(self, "ring_offsets", as_array("map.ring_offsets", self.ring_offsets, np.int64, (rings + 1,)))
        self._check_rings()

    def _check_rings(self) -> None:
        offsets, owner = self.ring_offsets, self.ring_polygon
        if offsets[0] != 0 or offsets[-1] != len(self.vertices):
            raise SceneError(
                f"map.ring_offsets: must run from 0 to {len(self.vertices)}, runs {offsets[0]}..{offsets[-1]}"
            )
        if len(owner) == 0 and len(self.ids) == 0:
            return
        if len(owner) == 0 or owner.min() < 0 or owner.max() >= len(self.ids):
            raise SceneError(f"map.ring_polygon: entries must lie in 0..{len(self.ids) - 1}")
        if (np.diff(owner) < 0).any():
            raise SceneError("map.ring_polygon: rings must be ordered by polygon")
        bare = np.setdiff1d(np.arange(len(self.ids)), owner)
        if len(bare):
            raise SceneError(f"map.ring_polygon: polygon {self.ids[bare[0]]!r} has no ring")
        short = np.diff(offsets) < 3
        if short.any():
            ring = int(np.argmax(short))
            raise SceneError(
                f"map.ring_offsets: ring {ring} of polygon {self.ids[owner[ring]]!r} has "
                f"{offsets[ring + 1] - offsets[ring]} vertices; a ring needs at least three"
            )

    @classmethod
    def from_polygons(cls, polygons: Iterable[tuple[str, Layer | int, Sequence[object]]]) -> PolygonMap:
        """Build a map from `(id, layer, rings)` triples; each ring is an (n, 2) array-like, the shell first."""
        ids: list[str] = []
        layers: list[int] = []
        vertices: list[NDArray[np.float64]] = []
        owner: list[int] = []
        for name, layer, rings in polygons:
            for ring in rings:
                vertices.append(as_array(f"map polygon {name!r}", ring, np.float64, ("n", 2)))
                owner.append(len(ids))
            ids.append(name)
            layers.append(int(layer))
        return cls(
            ids=tuple(ids),
            layer=np.array(layers, np.int8),
            vertices=np.concatenate([np.zeros((0, 2)), *vertices]),
            ring_offsets=np.cumsum([0] + [len(ring) for ring in vertices]),
            ring_polygon=np.array(owner, np.int64),
        )

    def rings(self, polygon: int) -> list[NDArray[np.float64]]:
        """Return the rings of one polygon, shell first, each (n, 2)."""
        first, last = self.polygon_rings[polygon], self.polygon_rings[polygon + 1]
        return [self.vertices[self.ring_offsets[r] : self.ring_offsets[r + 1]] for r in range(first, last)]

    @cached_property
    def polygon_rings(self) -> NDArray[np.int64]:
        """(P + 1,) polygon p owns rings `polygon_rings[p]:polygon_rings[p + 1]`."""
        return np.searchsorted(self.ring_polygon, np.arange(len(self.ids) + 1))

    @cached_property
    def bounds(self) -> NDArray[np.float64]:
        """(P, 4) lowest x, lowest y, highest x, highest y of each polygon."""
        if not self.ids:
            return np.zeros((0, 4))
        first = self.ring_offsets[self.polygon_rings[:-1]]
        low = np.minimum.reduceat(self.vertices, first)
        high = np.maximum.reduceat(self.vertices, first)
        return np.concatenate([low, high], axis=1)
