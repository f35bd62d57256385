"""City map: lanes, roadblocks and areas with their links, as arrays with spatial indices.

Lanes and lane connectors share one numbering ("lanes", lanes first), and so do roadblocks and roadblock connectors
("blocks", roadblocks first). All orders are those of the map's tables.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np
import shapely
from numpy.typing import NDArray

from world4scorer.datasets.navsim.polygon_store import PolygonStore
from world4scorer.engine.kernels import kernel
from world4scorer.engine.scene.geometry import Floats
from world4scorer.engine.scene.indices import Layer

NODE_CAPACITY: Final = 10
"""Node capacity of spatial indices; it decides the order of results, and so which of equally good lanes wins."""


@dataclass(frozen=True, eq=False)
class Lane:
    """A lane or a lane connector."""

    id: str
    block: int
    """Index of its roadblock or roadblock connector; -1 if not in the map."""
    is_connector: bool
    path: Floats
    """(n, 3) x, y [m] of the centreline's vertices, heading [rad] of the segment after each."""
    length: float
    """Length of the path [m]."""
    speed_limit: float | None
    """m/s; None where unknown."""
    outgoing: tuple[int, ...]
    """Successor lanes."""


@dataclass(frozen=True, eq=False)
class Roadblock:
    """A roadblock (lanes side by side) or a roadblock connector (lane connectors through a junction)."""

    id: str
    is_connector: bool
    lanes: tuple[int, ...]
    incoming: tuple[int, ...]
    outgoing: tuple[int, ...]


@dataclass(frozen=True, eq=False, repr=False)
class CityMap:
    """Map of a city, in the metric frame of its logs."""

    location: str
    lanes: tuple[Lane, ...]
    blocks: tuple[Roadblock, ...]
    lane_polygons: NDArray[np.object_]
    """(lanes,) shapely polygons; empty where the map has none."""
    block_polygons: NDArray[np.object_]
    """(blocks,)"""
    intersections: NDArray[np.object_]
    intersection_ids: tuple[str, ...]
    carparks: NDArray[np.object_]
    carpark_ids: tuple[str, ...]
    problems: tuple[str, ...] = ()
    """Messages about broken links and missing shapes, which are left out."""

    @cached_property
    def lane_index(self) -> dict[str, int]:
        """Lane by id."""
        return {lane.id: index for index, lane in enumerate(self.lanes)}

    @cached_property
    def block_index(self) -> dict[str, int]:
        """Block by id; a roadblock goes before a roadblock connector of the same id."""
        return {self.blocks[index].id: index for index in range(len(self.blocks) - 1, -1, -1)}

    @cached_property
    def roadblock_count(self) -> int:
        """Number of roadblocks; roadblock connectors come after them."""
        return sum(not block.is_connector for block in self.blocks)

    @cached_property
    def block_tree(self) -> shapely.STRtree:
        """Spatial index of `block_polygons`."""
        return shapely.STRtree(self.block_polygons)

    @cached_property
    def lane_tree(self) -> shapely.STRtree:
        """Spatial index of `lane_polygons`."""
        return shapely.STRtree(self.lane_polygons)

    @cached_property
    def intersection_tree(self) -> shapely.STRtree:
        """Spatial index of `intersections`."""
        return shapely.STRtree(self.intersections)

    @cached_property
    def carpark_tree(self) -> shapely.STRtree:
        """Spatial index of `carparks`."""
        return shapely.STRtree(self.carparks)

    @cached_property
    def area_polygons(self) -> NDArray[np.object_]:
        """(A,) all areas: lanes, blocks, intersections, car parks."""
        return np.concatenate([self.lane_polygons, self.block_polygons, self.intersections, self.carparks])

    @cached_property
    def lanes_with_area(self) -> frozenset[int]:
        """Lanes whose polygon is not empty."""
        return frozenset(np.flatnonzero(~shapely.is_empty(self.lane_polygons)).tolist())

    @cached_property
    def areas(self) -> PolygonStore:
        """Outlines of `area_polygons`."""
        return PolygonStore.from_geometries(self.area_polygons)

    @cached_property
    def area_ids(self) -> NDArray[np.object_]:
        """(A,) ids of `area_polygons`."""
        lanes, blocks = (lane.id for lane in self.lanes), (block.id for block in self.blocks)
        return np.array([*lanes, *blocks, *self.intersection_ids, *self.carpark_ids], np.object_)

    @cached_property
    def area_layers(self) -> NDArray[np.int8]:
        """(A,) codes of `Layer`; roadblock connectors, which no metric uses, count as roadblocks."""
        lanes = [Layer.LANE_CONNECTOR if lane.is_connector else Layer.LANE for lane in self.lanes]
        rest = [Layer.ROADBLOCK] * len(self.blocks) + [Layer.INTERSECTION] * len(self.intersections)
        return np.array([*lanes, *rest, *[Layer.CARPARK_AREA] * len(self.carparks)], np.int8)

    @property
    def first_block_area(self) -> int:
        """Index of the first block among the areas, after the lanes."""
        return len(self.lanes)

    @property
    def first_intersection_area(self) -> int:
        """Index of the first intersection among the areas."""
        return len(self.lanes) + len(self.blocks)

    @property
    def first_carpark_area(self) -> int:
        """Index of the first car park among the areas."""
        return self.first_intersection_area + len(self.intersections)

    @cached_property
    def speed_limits(self) -> Floats:
        """(lanes,) m/s; NaN where unknown."""
        return np.array([np.nan if lane.speed_limit is None else lane.speed_limit for lane in self.lanes], np.float64)

    @cached_property
    def lanes_without_block(self) -> bool:
        """Whether some lane belongs to no block."""
        return any(lane.block < 0 for lane in self.lanes)

    @cached_property
    def path_rows(self) -> tuple[Floats, NDArray[np.int64]]:
        """All lanes' paths in one table, and the first row of each lane."""
        counts = [len(lane.path) for lane in self.lanes]
        return np.concatenate([np.zeros((0, 3)), *(lane.path for lane in self.lanes)]), np.cumsum([0, *counts])

    def nearest_vertices(self, lanes: Sequence[int], x: float, y: float) -> tuple[Floats, Floats]:
        """Distance [m] and heading [rad] of the path vertex nearest to a point, for each of the lanes (n,)."""
        rows, starts = self.path_rows
        return nearest_vertices(rows, starts, np.array(lanes, np.int64), x, y)  # type: ignore[no-any-return]

    def near(self, tree: shapely.STRtree, x: float, y: float, half_side: float) -> NDArray[np.int64]:
        """Indices of shapes that intersect the square around a point, in table order."""
        square = shapely.box(x - half_side, y - half_side, x + half_side, y + half_side)
        return np.sort(tree.query(square, predicate="intersects")).astype(np.int64)

    def describe(self) -> str:
        """One line of counts."""
        connectors = sum(lane.is_connector for lane in self.lanes)
        return (
            f"{self.location}: {len(self.lanes) - connectors} lanes, {connectors} lane connectors, "
            f"{self.roadblock_count} roadblocks, {len(self.blocks) - self.roadblock_count} roadblock connectors, "
            f"{len(self.intersections)} intersections, {len(self.carparks)} car parks, {len(self.problems)} problems"
        )


@kernel
def nearest_vertices(rows, starts, lanes, x, y):
    """Distances and headings (n,) of the nearest of each lane's `rows` (V, 3), the first on ties."""
    offsets = np.empty(lanes.size)
    headings = np.empty(lanes.size)
    for k in range(lanes.size):
        best = np.inf
        headings[k] = np.nan
        for i in range(starts[lanes[k]], starts[lanes[k] + 1]):
            dx, dy = rows[i, 0] - x, rows[i, 1] - y
            square = dx * dx + dy * dy
            if square < best:
                best = square
                headings[k] = rows[i, 2]
        offsets[k] = np.sqrt(best)
    return offsets, headings
