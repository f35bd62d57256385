"""Map of a city as polygon layers in drawing order, with fast lookup around a point."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
import pyogrio
import shapely
from numpy.typing import NDArray

from world4scorer.datasets.navsim.city_map import CityMap
from world4scorer.datasets.navsim.geopackage import read_layers
from world4scorer.datasets.navsim.map_files import map_path
from world4scorer.datasets.navsim.map_reader import read_map_file
from world4scorer.drawing import style
from world4scorer.engine.scene.indices import Layer

Floats = NDArray[np.float64]
Shape = NDArray[np.float32]
"""(v, 2) vertices relative to the origin [m]."""

Area = tuple[float, float, float, float]
"""Smallest x and y, largest x and y [m]."""

WALKWAY: Final = "#ecebe4"
SIMPLIFY_TOLERANCE: Final = 0.05
"""Tolerance of polygon simplification [m]."""
STRIPE_WIDTH: Final = 0.5
"""Width of a stripe of a crosswalk, and of the gap beside it [m]."""
STOP_LINE_LENGTH: Final = 3.0
"""Length of a stop line [m]."""
EXTRA_LAYERS: Final = ("walkways", "generic_drivable_areas", "crosswalks")
"""Optional map layers."""


@dataclass(frozen=True, eq=False)
class PolygonLayer:
    """n shapes of one colour."""

    colour: str
    shapes: tuple[Shape, ...]
    bounds: Floats
    """(n, 4) smallest x and y, largest x and y [m]."""
    owner: NDArray[np.int64]
    """(n,) row of the geometry that each shape is a part of."""

    def near(self, middle: Floats, reach: float) -> NDArray[np.int64]:
        """Indices of shapes that may be within `reach` [m] of a point (2,), in drawing order."""
        low, high = self.bounds[:, :2], self.bounds[:, 2:]
        return np.flatnonzero(((low <= middle + reach) & (high >= middle - reach)).all(axis=1))


@dataclass(frozen=True, eq=False)
class StreetLayers:
    """Layers of a map, relative to an origin for single precision."""

    origin: Floats
    """(2,) m, global."""
    areas: tuple[PolygonLayer, ...]
    """Filled, bottom first."""
    lanes: PolygonLayer
    """Filled on the route; `owner` is the lane."""
    edges: PolygonLayer
    """Outlines of lanes."""
    stripes: PolygonLayer
    """Stripes of crosswalks."""
    stop_lines: Mapping[str, Floats]
    """(2, 2) ends of a bar across the lane [m], by the lane connector that begins there."""
    lane_block: NDArray[np.int64]
    """(lanes,) the block of each lane, -1 for none."""
    block_index: Mapping[str, int]

    def on_route(self, roadblock_ids: Collection[str]) -> NDArray[np.bool_]:
        """Which lanes (lanes,) belong to a route."""
        blocks = [self.block_index[block] for block in roadblock_ids if block in self.block_index]
        return np.isin(self.lane_block, blocks)


def read_street_layers(maps: Path, location: str, places: Floats, reach: float) -> StreetLayers:
    """Read the layers of a map within `reach` [m] of points (n, 2)."""
    path = map_path(maps, location)
    origin = places.mean(axis=0).round()
    area = (*(places.min(axis=0) - reach).tolist(), *(places.max(axis=0) + reach).tolist())
    city = read_map_file(path, location)
    there = {str(name) for name, _ in pyogrio.list_layers(path)}
    extra = {name: layer.geometry for name, layer in read_layers(path, there & set(EXTRA_LAYERS)).items()}
    nothing = np.zeros(0, object)
    crosswalks = extra.get("crosswalks", nothing)
    blocks = np.array([block.is_connector for block in city.blocks], np.bool_)
    areas = (
        (WALKWAY, extra.get("walkways", nothing)),
        (style.LAYER_FILL[Layer.DRIVABLE_AREA], extra.get("generic_drivable_areas", nothing)),
        (style.LAYER_FILL[Layer.CARPARK_AREA], city.carparks),
        (style.LAYER_FILL[Layer.ROADBLOCK], city.block_polygons[~blocks]),
        (style.LAYER_FILL[Layer.INTERSECTION], city.block_polygons[blocks]),
        (style.LAYER_FILL[Layer.INTERSECTION], city.intersections),
    )
    lanes = polygon_layer(style.ROUTE, city.lane_polygons, origin, area)
    own = ~np.array([lane.is_connector for lane in city.lanes], np.bool_)[lanes.owner]
    # Only lanes get an outline: those of connectors cross each other all over a junction.
    edges = PolygonLayer(
        style.LANE_EDGE,
        tuple(np.concatenate([lanes.shapes[i], lanes.shapes[i][:1]]) for i in np.flatnonzero(own)),
        lanes.bounds[own],
        lanes.owner[own],
    )
    return StreetLayers(
        origin=origin,
        areas=tuple(polygon_layer(colour, shapes, origin, area) for colour, shapes in areas),
        lanes=lanes,
        edges=edges,
        stripes=polygon_layer(style.LANE_EDGE, crosswalk_stripes(crosswalks[_meets(crosswalks, area)]), origin, area),
        stop_lines=_stop_lines(city, origin),
        lane_block=np.array([lane.block for lane in city.lanes], np.int64),
        block_index=city.block_index,
    )


def polygon_layer(colour: str, geometries: NDArray[np.object_], origin: Floats, area: Area) -> PolygonLayer:
    """Layer of geometries that meet an area, cut into polygons without holes."""
    parts, owner = shapely.get_parts(geometries, return_index=True)
    polygons = (shapely.get_type_id(parts) == shapely.GeometryType.POLYGON) & _meets(parts, area)
    shapes: list[Shape] = []
    rows: list[int] = []
    for part, row in zip(parts[polygons], owner[polygons], strict=True):
        for piece in without_holes(part):
            ring = shapely.get_coordinates(shapely.simplify(piece.exterior, SIMPLIFY_TOLERANCE))[:-1]
            if len(ring) >= 3:
                shapes.append((ring - origin).astype(np.float32))
                rows.append(int(row))
    bounds = np.array([[*shape.min(0), *shape.max(0)] for shape in shapes], np.float64).reshape(-1, 4)
    return PolygonLayer(colour, tuple(shapes), bounds, np.array(rows, np.int64))


def _meets(geometries: NDArray[np.object_], area: Area) -> NDArray[np.bool_]:
    """(n,) whether bounds meet an area; False for empty geometries."""
    bounds = shapely.bounds(geometries)
    meets: NDArray[np.bool_] = ((bounds[:, :2] <= area[2:]) & (bounds[:, 2:] >= area[:2])).all(axis=1)
    return meets


def without_holes(polygon: shapely.Polygon) -> list[shapely.Polygon]:
    """Cut a polygon into parts without holes, since Pillow fills outlines only."""
    if not polygon.interiors:
        return [polygon]
    west, south, east, north = polygon.bounds
    middle = polygon.interiors[0].envelope.centroid.x
    halves = [shapely.box(west, south, middle, north), shapely.box(middle, south, east, north)]
    pieces = shapely.get_parts(shapely.intersection(shapely.make_valid(polygon), halves))
    return [clean for piece in pieces if piece.geom_type == "Polygon" for clean in without_holes(piece)]


def crosswalk_stripes(crosswalks: NDArray[np.object_]) -> NDArray[np.object_]:
    """Stripes across the long side of crosswalks."""
    stripes = []
    for crosswalk in shapely.make_valid(crosswalks):
        corners = shapely.get_coordinates(shapely.minimum_rotated_rectangle(crosswalk))
        if len(corners) < 5:
            continue
        along, across = corners[1] - corners[0], corners[3] - corners[0]
        if np.hypot(*along) < np.hypot(*across):
            along, across = across, along
        length = float(np.hypot(*along))
        count = max(1, int((length + STRIPE_WIDTH) / (2 * STRIPE_WIDTH)))
        step = along / length
        for start in (np.arange(count) * 2 + 0.5) * STRIPE_WIDTH:
            near, far = corners[0] + start * step, corners[0] + (start + STRIPE_WIDTH) * step
            stripes.append(shapely.intersection(shapely.Polygon([near, far, far + across, near + across]), crosswalk))
    out = np.empty(len(stripes), object)
    out[:] = stripes
    return out


def _stop_lines(city: CityMap, origin: Floats) -> dict[str, Floats]:
    # Across the lane before, where the map has it: a connector for a turn may begin with a bend.
    before = {there: lane.path[-1, 2] for lane in city.lanes if len(lane.path) for there in lane.outgoing}
    found = {}
    for row, lane in enumerate(city.lanes):
        if lane.is_connector and len(lane.path):
            heading = before.get(row, lane.path[0, 2])
            across = STOP_LINE_LENGTH / 2 * np.array([-np.sin(heading), np.cos(heading)])
            middle = lane.path[0, :2] - origin
            found[lane.id] = np.stack([middle - across, middle + across])
    return found
