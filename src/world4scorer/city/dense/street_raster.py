"""Static layers of a place as images from above, read for any pose in microseconds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import shapely
import shapely.ops
from numpy.typing import NDArray
from PIL import Image, ImageDraw

from world4scorer.city.dense.kernels import fill_rings
from world4scorer.city.streets.lane_graph import LaneBand, LaneGraph, lane_graph
from world4scorer.city.streets.map_export import export_map
from world4scorer.city.streets.street_map import SignalLink, StreetMap
from world4scorer.datasets.dense.labels import MapBit

RESOLUTION: Final = 0.25
"""Side of a pixel [m]."""
MARGIN: Final = 90.0
"""Width of the border around the place [m]; the map of a frame reaches 72 m."""
DRIVABLE_TABLES: Final = ("lane_groups_polygons", "intersections", "generic_drivable_areas")
"""Map tables that make up NAVSIM's drivable area."""
BOUNDARY_WIDTH: Final = 2
"""Pixels."""
STOP_ZONE: Final = 8.0
"""Length of the end of a lane that stands for its signal [m]."""

Outline = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class SignalZone:
    """The end of a lane whose connections have signals."""

    outline: Outline
    """(n, 2) m"""
    heading: float
    """Driving direction [rad]."""
    links: tuple[SignalLink, ...]
    """Signals of all connections from the lane."""


@dataclass(frozen=True, eq=False)
class StreetRaster:
    """Layers of a place; rows count y, columns x, in the coordinates of the street map."""

    origin: tuple[float, float]
    """x, y of the first pixel's corner [m]."""
    bits: NDArray[np.uint8]
    """(rows, columns) `MapBit`, the static ones"""
    direction: NDArray[np.uint8]
    """(rows, columns) heading of the lane: 0 for none, else 1 to 255 for -pi to pi"""
    zones: tuple[SignalZone, ...]

    @classmethod
    def build(cls, streets: StreetMap, area: tuple[float, float, float, float]) -> StreetRaster:
        """Draw the layers of an area (x_min, y_min, x_max, y_max) [m]; takes a second or two."""
        low = np.array(area[:2]) - MARGIN
        columns, rows = np.ceil((np.array(area[2:]) + MARGIN - low) / RESOLUTION).astype(int).tolist()
        layers, _ = export_map(streets)
        graph = lane_graph(streets)
        canvas = _Canvas(low, rows, columns)
        bits = np.zeros((rows, columns), np.uint8)
        drivable = [shape for name in DRIVABLE_TABLES for shape in _local(layers[name].shapes, streets)]
        lanes = [graph.lane_bands[lane.id] for lane in graph.lanes]
        bits |= canvas.filled(drivable) * np.uint8(MapBit.DRIVABLE)
        bits |= canvas.filled([band.polygon for band in lanes]) * np.uint8(MapBit.LANE)
        bits |= canvas.filled(_local(layers["crosswalks"].shapes, streets)) * np.uint8(MapBit.CROSSWALK)
        edges = [side for band in lanes for side in (band.left, band.right)]
        bits |= canvas.lines(edges) * np.uint8(MapBit.BOUNDARY)
        return cls((float(low[0]), float(low[1])), bits, canvas.directions(lanes), _signal_zones(graph))


class _Canvas:
    """Draws metres into arrays of pixels."""

    def __init__(self, low: NDArray[np.float64], rows: int, columns: int) -> None:
        self._low, self._size = low, (columns, rows)

    def filled(self, polygons: Any) -> NDArray[np.uint8]:
        """1 where the centre of a pixel lies in a polygon; holes stay open."""
        columns, rows = self._size
        pixels = np.zeros((rows, columns), np.uint8)
        for part in shapely.get_parts(np.asarray(list(polygons), object)):
            if part.geom_type == "Polygon":
                rings = [shapely.get_coordinates(ring) for ring in (part.exterior, *part.interiors)]
                ends = np.cumsum([len(ring) for ring in rings])
                fill_rings((np.concatenate(rings) - self._low) / RESOLUTION, ends, pixels)
        return pixels

    def lines(self, lines: list[Outline]) -> NDArray[np.uint8]:
        image = Image.new("L", self._size)
        draw = ImageDraw.Draw(image)
        for line in lines:
            draw.line(self._pixels(line), fill=1, width=BOUNDARY_WIDTH)
        return np.asarray(image)

    def directions(self, bands: list[LaneBand]) -> NDArray[np.uint8]:
        image = Image.new("L", self._size)
        draw = ImageDraw.Draw(image)
        for band in bands:
            steps = np.diff(band.line, axis=0)
            codes = encode_heading(np.arctan2(steps[:, 1], steps[:, 0]))
            for k, code in enumerate(codes.tolist()):
                piece = np.stack([band.left[k], band.left[k + 1], band.right[k + 1], band.right[k]])
                draw.polygon(self._pixels(piece), fill=code)
        return np.asarray(image)

    def _pixels(self, points: Outline) -> list[tuple[float, float]]:
        return [(x, y) for x, y in ((points - self._low) / RESOLUTION - 0.5).tolist()]


def encode_heading(heading: NDArray[np.float64]) -> NDArray[np.uint8]:
    """Headings [rad] as 1 to 255."""
    turn = (heading + np.pi) / (2 * np.pi) % 1.0
    return (1 + np.minimum((turn * 255).astype(np.int64), 254)).astype(np.uint8)


def _local(shapes: Any, streets: StreetMap) -> Any:
    """Shapes of the exported map in the coordinates of the street map."""
    return shapely.transform(np.asarray(list(shapes), object), lambda points: points - streets.offset)


def _signal_zones(graph: LaneGraph) -> tuple[SignalZone, ...]:
    links: dict[str, list[SignalLink | None]] = {}
    for connection in graph.connections:
        links.setdefault(connection.from_lane, []).append(connection.link)
    zones = []
    for lane, found in links.items():
        known = [link for link in found if link is not None]
        if len(known) < len(found):
            continue
        band = graph.lane_bands[lane]
        left = _last_metres(band.left)
        right = _last_metres(band.right)
        ahead = band.line[-1] - band.line[-2]
        heading = float(np.arctan2(ahead[1], ahead[0]))
        zones.append(SignalZone(np.concatenate([left, right[::-1]]), heading, tuple(known)))
    return tuple(zones)


def _last_metres(line: Outline) -> Outline:
    whole = shapely.LineString(line)
    start = max(0.0, whole.length - STOP_ZONE)
    return np.asarray(shapely.get_coordinates(shapely.ops.substring(whole, start, whole.length)))
