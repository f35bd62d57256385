"""The map of a city: lanes, roadblocks and areas with their links, as arrays behind spatial indices.

Lanes and lane connectors share one numbering ("lanes", lanes first), and so do roadblocks and roadblock connectors
("blocks", roadblocks first). All orders are those of the map's tables.

Example::

    city = read_city_map("maps", "us-nv-las-vegas-strip")
    print(city.describe())
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Final

import numpy as np
import shapely
from numpy.typing import NDArray

from world4scorer.kernels import kernel
from world4scorer.navsim.errors import DatasetError
from world4scorer.navsim.geopackage import NO_LINK, VectorLayer, read_layers
from world4scorer.navsim.layout import map_path
from world4scorer.navsim.polygon_store import PolygonStore
from world4scorer.scene.indices import Layer

LAYERS: Final = (
    "lanes_polygons",
    "lane_connectors",
    "gen_lane_connectors_scaled_width_polygons",
    "baseline_paths",
    "lane_groups_polygons",
    "lane_group_connectors",
    "intersections",
    "carpark_areas",
)
"""What preparing scenes needs; the table `meta` as well."""


@dataclass(frozen=True, eq=False)
class Lane:
    """A lane or a lane connector."""

    id: str
    block: int
    """Its roadblock or roadblock connector; -1 where the map does not hold it."""
    is_connector: bool
    path: NDArray[np.float64]
    """(n, 3) x, y [m] of the centreline's vertices and the heading [rad] of the segment that leaves each."""
    length: float
    """Of the path [m]."""
    speed_limit: float | None
    """m/s; None where unknown."""
    outgoing: tuple[int, ...]
    """Lanes that continue it."""


@dataclass(frozen=True, eq=False)
class Block:
    """A roadblock (lanes side by side) or a roadblock connector (lane connectors through a junction)."""

    id: str
    is_connector: bool
    lanes: tuple[int, ...]
    incoming: tuple[int, ...]
    outgoing: tuple[int, ...]


@dataclass(frozen=True, eq=False, repr=False)
class CityMap:
    """Everything about a city that preparing scenes needs, in the metric frame of its logs."""

    location: str
    lanes: tuple[Lane, ...]
    blocks: tuple[Block, ...]
    lane_polygons: NDArray[np.object_]
    """(lanes,) shapely polygons; an empty one where the map has none."""
    block_polygons: NDArray[np.object_]
    """(blocks,)"""
    intersections: NDArray[np.object_]
    intersection_ids: tuple[str, ...]
    carparks: NDArray[np.object_]
    carpark_ids: tuple[str, ...]
    problems: tuple[str, ...] = ()
    """Links that lead nowhere and shapes that are missing; they are left out."""

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
        """Roadblocks are the blocks before this one."""
        return sum(not block.is_connector for block in self.blocks)

    @cached_property
    def block_tree(self) -> shapely.STRtree:
        """Spatial index of `block_polygons`."""
        return shapely.STRtree(self.block_polygons)

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
        """(A,) codes of `Layer`; roadblock connectors, which no metric asks for, count as roadblocks."""
        lanes = [Layer.LANE_CONNECTOR if lane.is_connector else Layer.LANE for lane in self.lanes]
        rest = [Layer.ROADBLOCK] * len(self.blocks) + [Layer.INTERSECTION] * len(self.intersections)
        return np.array([*lanes, *rest, *[Layer.CARPARK_AREA] * len(self.carparks)], np.int8)

    @property
    def first_block_area(self) -> int:
        """Where blocks begin among the areas; before them come the lanes."""
        return len(self.lanes)

    @property
    def first_intersection_area(self) -> int:
        """Where intersections begin among the areas."""
        return len(self.lanes) + len(self.blocks)

    @property
    def first_carpark_area(self) -> int:
        """Where car parks begin among the areas."""
        return self.first_intersection_area + len(self.intersections)

    @cached_property
    def _path_rows(self) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """All lanes' paths in one table, and where each lane's rows begin."""
        counts = [len(lane.path) for lane in self.lanes]
        return np.concatenate([np.zeros((0, 3)), *(lane.path for lane in self.lanes)]), np.cumsum([0, *counts])

    def nearest_vertices(
        self, lanes: Sequence[int], x: float, y: float
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Distance [m] and heading [rad] of the path vertex nearest to a point, for each of the lanes (n,)."""
        rows, starts = self._path_rows
        return nearest_vertices(rows, starts, np.array(lanes, np.int64), x, y)  # type: ignore[no-any-return]

    def near(self, tree: shapely.STRtree, x: float, y: float, half_side: float) -> NDArray[np.int64]:
        """What meets the square of this half side around a point, in table order."""
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


def read_city_map(maps: str | os.PathLike[str], location: str) -> CityMap:
    """Read the map of a city below a map folder."""
    return read_map_file(map_path(Path(maps), location), location)


def read_map_file(path: str | os.PathLike[str], location: str) -> CityMap:
    """Read a GeoPackage."""
    layers = read_layers(path, LAYERS)
    problems: list[str] = []
    lane_rows, connector_rows = layers["lanes_polygons"], layers["lane_connectors"]
    groups, group_connectors = layers["lane_groups_polygons"], layers["lane_group_connectors"]
    shared = np.intersect1d(lane_rows.ids, connector_rows.ids)
    if len(shared):
        raise DatasetError(f"{path}: id {shared[0]} names both a lane and a lane connector")
    lane_at = _places(lane_rows, connector_rows)
    group_at = _places(groups)
    connector_block_at = {int(fid): len(groups.ids) + i for i, fid in enumerate(group_connectors.ids)}

    lane_block = [group_at.get(int(fid), -1) for fid in lane_rows.links("lane_group_fid")]
    lane_block += [connector_block_at.get(int(fid), -1) for fid in connector_rows.links("lane_group_connector_fid")]
    lane_ids = np.concatenate([lane_rows.ids, connector_rows.ids])
    _note(problems, "lane", lane_ids, lane_block, "has no block")
    limits = np.concatenate([lane_rows.numbers("speed_limit_mps"), connector_rows.numbers("speed_limit_mps")])
    paths = _paths(layers["baseline_paths"], lane_at, problems)
    after = _lane_links(connector_rows, lane_at, problems)
    lanes = tuple(
        Lane(
            id=str(fid),
            block=lane_block[index],
            is_connector=index >= len(lane_rows.ids),
            path=paths[index][0],
            length=paths[index][1],
            speed_limit=None if np.isnan(limits[index]) else float(limits[index]),
            outgoing=tuple(after[index]),
        )
        for index, fid in enumerate(lane_ids)
    )
    return CityMap(
        location=location,
        lanes=lanes,
        blocks=_blocks(groups, group_connectors, group_at, lane_block, lanes, problems),
        lane_polygons=np.concatenate(
            [
                lane_rows.geometry,
                _connector_polygons(layers["gen_lane_connectors_scaled_width_polygons"], connector_rows),
            ]
        ),
        block_polygons=np.concatenate([groups.geometry, group_connectors.geometry]),
        intersections=layers["intersections"].geometry,
        intersection_ids=tuple(str(fid) for fid in layers["intersections"].ids),
        carparks=layers["carpark_areas"].geometry,
        carpark_ids=tuple(str(fid) for fid in layers["carpark_areas"].ids),
        problems=tuple(problems),
    )


def _places(*layers: VectorLayer) -> dict[int, int]:
    ids = np.concatenate([layer.ids for layer in layers])
    return {int(fid): index for index, fid in enumerate(ids)}


def _note(problems: list[str], kind: str, ids: NDArray[np.int64], targets: list[int], what: str) -> None:
    problems.extend(f"{kind} {fid} {what}" for fid, target in zip(ids, targets, strict=True) if target < 0)


def _paths(layer: VectorLayer, lane_at: dict[int, int], problems: list[str]) -> list[tuple[NDArray[np.float64], float]]:
    """The centreline of every lane: vertices with headings, and its length [m]."""
    owner = layer.links("lane_fid")
    owner = np.where(owner == NO_LINK, layer.links("lane_connector_fid"), owner)
    nothing = (np.zeros((0, 3)), 0.0)
    out: list[tuple[NDArray[np.float64], float]] = [nothing] * len(lane_at)
    lengths = shapely.length(layer.geometry)
    for row, fid in enumerate(owner):
        points = shapely.get_coordinates(layer.geometry[row])
        if int(fid) not in lane_at or len(points) < 2:
            problems.append(f"baseline path {layer.ids[row]} belongs to no lane or has no length")
            continue
        steps = np.diff(points, axis=0)
        headings = np.arctan2(steps[:, 1], steps[:, 0])
        out[lane_at[int(fid)]] = (np.column_stack([points, np.append(headings, headings[-1])]), float(lengths[row]))
    problems.extend(f"lane {fid} has no baseline path" for fid, lane in lane_at.items() if not len(out[lane][0]))
    return out


def _lane_links(connectors: VectorLayer, lane_at: dict[int, int], problems: list[str]) -> list[list[int]]:
    """Lanes that follow each lane."""
    after: list[list[int]] = [[] for _ in lane_at]
    before, behind = connectors.links("exit_lane_fid"), connectors.links("entry_lane_fid")
    for row, fid in enumerate(connectors.ids):
        here = lane_at[int(fid)]
        if int(before[row]) in lane_at:
            after[lane_at[int(before[row])]].append(here)
        if int(behind[row]) in lane_at:
            after[here].append(lane_at[int(behind[row])])
        else:
            problems.append(f"lane connector {fid} leads to no lane")
    return after


def _blocks(
    groups: VectorLayer,
    connectors: VectorLayer,
    group_at: dict[int, int],
    lane_block: list[int],
    lanes: tuple[Lane, ...],
    problems: list[str],
) -> tuple[Block, ...]:
    count = len(groups.ids) + len(connectors.ids)
    inside: list[list[int]] = [[] for _ in range(count)]
    for lane, block in enumerate(lane_block):
        if block >= 0 and len(lanes[lane].path):
            inside[block].append(lane)
    incoming: list[list[int]] = [[] for _ in range(count)]
    outgoing: list[list[int]] = [[] for _ in range(count)]
    before, behind = connectors.links("from_lane_group_fid"), connectors.links("to_lane_group_fid")
    for row, fid in enumerate(connectors.ids):
        here = len(groups.ids) + row
        for link, forward in ((before[row], False), (behind[row], True)):
            there = group_at.get(int(link), -1)
            if there < 0:
                problems.append(f"roadblock connector {fid} {'leads to' if forward else 'comes from'} no roadblock")
                continue
            first, second = (here, there) if forward else (there, here)
            outgoing[first].append(second)
            incoming[second].append(first)
    ids = np.concatenate([groups.ids, connectors.ids])
    return tuple(
        Block(str(fid), i >= len(groups.ids), tuple(inside[i]), tuple(incoming[i]), tuple(outgoing[i]))
        for i, fid in enumerate(ids)
    )


def _connector_polygons(layer: VectorLayer, connectors: VectorLayer) -> NDArray[Any]:
    place = {int(fid): row for row, fid in enumerate(layer.links("lane_connector_fid"))}
    empty = shapely.Polygon()
    out = np.empty(len(connectors.ids), object)
    for index, fid in enumerate(connectors.ids):
        out[index] = layer.geometry[place[int(fid)]] if int(fid) in place else empty
    return out


@kernel
def nearest_vertices(rows, starts, lanes, x, y):  # type: ignore[no-untyped-def]
    """Distances and headings (n,) of the nearest of each lane's `rows` (V, 3), the first of equals."""
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
