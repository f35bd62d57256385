"""Drivable areas: carriageways of edges and areas of junctions.

A carriageway reaches from kerb to kerb: lanes for cars, adjacent bicycle and bus lanes, and a gutter. A junction covers
its outline, its connections, and what the corners of a car sweep in its turns.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import shapely

from world4scorer.city.streets.kerbs import widen_by_sweeps
from world4scorer.city.streets.lane_graph import LaneGraph
from world4scorer.city.streets.map_shapes import JUNCTION_GAP, Line, Shapes, line_bands, one_piece
from world4scorer.city.streets.street_map import Lane, LaneUse, StreetMap, Turn

GUTTER: Final = 0.4
"""Distance from the outermost lane to the kerb [m]."""
JUNCTION_MARGIN: Final = 0.6
"""Margin beside connections [m]."""
CLOSED_GAP: Final = 0.5
"""Carriageways close gaps between their lanes up to twice this [m]."""
SLIVER_HALF_WIDTH: Final = 0.75
"""Parts of an outline narrower than twice this are dropped [m]."""
OVERLAP: Final = 0.2
"""Allowed overlap of a carriageway with the oncoming one [m]."""
ONCOMING_COSINE: Final = -0.8
"""Cosine between headings below which two carriageways are oncoming; others cross on a bridge."""
DRIVABLE_BESIDE: Final = (LaneUse.DRIVE, LaneUse.SERVICE, LaneUse.BICYCLE)
"""Lane uses that are part of the carriageway when adjacent to lanes for cars."""


@dataclass(frozen=True, eq=False)
class RoadAreas:
    """Polygons in the frame of the street map."""

    roadblocks: dict[str, Any]
    """By edge."""
    intersections: dict[str, Any]
    """By junction; only those where streets meet or cross."""


def road_areas(streets: StreetMap, graph: LaneGraph) -> RoadAreas:
    """Lay out carriageways and junctions so that a car on any connection, U-turns excepted, stays inside."""
    carriageways = _carriageways(streets, graph)
    areas = RoadAreas(
        {edge: one_piece(shape, GUTTER, CLOSED_GAP, sharp=True) for edge, shape in carriageways.items()}, {}
    )
    _keep_apart(areas.roadblocks, carriageways, graph)
    outlines = _junction_outlines(
        streets, [junction for junction in graph.by_junction if not _passes_through(graph, junction)]
    )
    parts: dict[str, list[Any]] = defaultdict(list)
    for junction, found in graph.by_junction.items():
        turning = [index for index in found if graph.connections[index].turn is Turn.AROUND]
        # U-turns are narrower than any car can drive; they count where there is no other connection.
        for index in turning if len(turning) == len(found) else sorted(set(found) - set(turning)):
            band, source = graph.connection_bands[index].polygon, graph.edge_of[graph.connections[index].from_lane]
            if junction in outlines:
                parts[junction].append(shapely.buffer(band, JUNCTION_MARGIN, quad_segs=2))
            else:
                more = shapely.buffer(band, GUTTER, join_style="mitre", mitre_limit=2.0)
                areas.roadblocks[source] = shapely.union(areas.roadblocks[source], more)
    for edge, shape in areas.roadblocks.items():
        if not isinstance(shape, shapely.Polygon):
            areas.roadblocks[edge] = one_piece(shape, 0.0, CLOSED_GAP, sharp=True)
    for junction, outline in outlines.items():
        whole = shapely.union_all([outline, *parts[junction]])
        areas.intersections[junction] = one_piece(whole, 0.0, JUNCTION_GAP)
    widen_by_sweeps(graph, areas.roadblocks, areas.intersections)
    return areas


def _junction_outlines(streets: StreetMap, junctions: Sequence[str]) -> dict[str, Any]:
    """Outlines of junctions without the walking areas that SUMO includes."""
    pavements = [lane for lane in streets.lanes.values() if lane.use is LaneUse.WALKING_AREA and len(lane.shape) > 2]
    shapes = [shapely.buffer(shapely.make_valid(shapely.Polygon(lane.shape)), 0.0) for lane in pavements]
    tree = shapely.STRtree(shapes)
    outlines = {}
    for junction in junctions:
        points = streets.junctions[junction].shape
        outline = shapely.Polygon()
        if len(points) > 2:
            outline = shapely.buffer(shapely.make_valid(shapely.Polygon(points)), 0.0)
            outline = shapely.difference(outline, shapely.union_all(tree.geometries[tree.query(outline)]))
            # Remaining corners are too narrow for a car.
            outline = shapely.buffer(shapely.buffer(outline, -SLIVER_HALF_WIDTH), SLIVER_HALF_WIDTH, quad_segs=2)
        outlines[junction] = outline
    return outlines


def _carriageways(streets: StreetMap, graph: LaneGraph) -> dict[str, Any]:
    """Lanes for cars and adjacent drivable lanes by edge."""
    beside: dict[str, dict[int, Lane]] = {edge: {} for edge in graph.edges}
    for lane in streets.lanes.values():
        if lane.edge in beside and lane.use in DRIVABLE_BESIDE:
            beside[lane.edge][lane.index] = lane
    shapes: dict[str, list[Any]] = {edge: [] for edge in graph.edges}
    others: list[Lane] = []
    for edge, lanes in beside.items():
        cars = [index for index, lane in lanes.items() if lane.use is LaneUse.DRIVE]
        first, last = min(cars), max(cars)
        while first - 1 in lanes:
            first -= 1
        while last + 1 in lanes:
            last += 1
        for index, lane in lanes.items():
            if lane.use is LaneUse.DRIVE:
                shapes[edge].append(graph.lane_bands[lane.id].polygon)
            elif first <= index <= last:
                others.append(lane)
    if others:
        for lane, band in zip(others, line_bands([o.shape for o in others], [o.width for o in others]), strict=True):
            shapes[lane.edge].append(band)
    return {edge: parts[0] if len(parts) == 1 else shapely.union_all(parts) for edge, parts in shapes.items()}


def _passes_through(graph: LaneGraph, junction: str) -> bool:
    """Whether a street only continues here, with other lanes or another name.

    Inside intersections some metrics are lenient (lane keeping and driving direction are not judged) and one is strict
    (lateral traffic counts for time to collision). Neither fits a street that continues, so its carriageway closes the
    gap instead. Junctions with signals, crossing connections or only U-turns stay intersections.
    """
    before: dict[str, set[str]] = defaultdict(set)
    after: dict[str, set[str]] = defaultdict(set)
    courses: dict[str, list[Any]] = defaultdict(list)
    for index in graph.by_junction[junction]:
        connection = graph.connections[index]
        if connection.link is not None:
            return False
        if connection.turn is Turn.AROUND:
            continue
        source, target = graph.edge_of[connection.from_lane], graph.edge_of[connection.to_lane]
        after[source].add(target)
        before[target].add(source)
        courses[source].append(shapely.LineString(graph.connection_bands[index].line))
    if not 1 <= len(after) <= 2 or any(len(edges) > 1 for edges in (*after.values(), *before.values())):
        return False
    if len(after) == 1:
        return True
    one, other = (shapely.union_all(lines) for lines in courses.values())
    return not shapely.intersects(one, other)


def _keep_apart(roadblocks: dict[str, Any], carriageways: dict[str, Any], graph: LaneGraph) -> None:
    """Cut carriageways where they overlap the oncoming ones."""
    edges = list(roadblocks)
    middle = {lane.edge: shapely.LineString(graph.lane_bands[lane.id].line) for lane in graph.lanes}
    inner = shapely.buffer(np.array([carriageways[edge] for edge in edges], object), -OVERLAP, join_style="mitre")
    outer = np.array([roadblocks[edge] for edge in edges], object)
    mine, theirs = shapely.STRtree(inner).query(outer, predicate="intersects")
    other = mine != theirs
    mine, theirs = mine[other], theirs[other]
    where = shapely.centroid(shapely.intersection(outer[mine], inner[theirs]))
    lines = np.array([middle[edge] for edge in edges], object)
    oncoming = (_heading_at(lines[mine], where) * _heading_at(lines[theirs], where)).sum(1) < ONCOMING_COSINE
    for index in np.unique(mine[oncoming]).tolist():
        kept = shapely.difference(outer[index], shapely.union_all(inner[theirs[oncoming & (mine == index)]]))
        # Where both directions are drawn on top of each other, both keep their carriageway.
        if shapely.area(kept) > shapely.area(carriageways[edges[index]]) / 2:
            roadblocks[edges[index]] = one_piece(kept, 0.0, 0.0)


def _heading_at(lines: Shapes, points: Shapes) -> Line:
    """Unit directions (n, 2) of lines at their points nearest to `points`."""
    at = shapely.line_locate_point(lines, points)
    ends = [
        shapely.get_coordinates(shapely.line_interpolate_point(lines, np.maximum(at + d, 0.0))) for d in (-0.5, 0.5)
    ]
    heading: Line = ends[1] - ends[0]
    heading /= np.maximum(np.hypot(*heading.T), 1e-9)[:, None]
    return heading
