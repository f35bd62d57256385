"""Export of a street map as the layers of a nuPlan map.

Lanes for cars become lanes, edges roadblocks, connections lane connectors, and all connections between two edges a
roadblock connector. Junctions become intersections unless a street only passes through. Ids are unique across all
layers and depend only on the order of the street map.

Example::

    layers, index = export_map(streets)
    write_map(DataFolder(root).maps, "de-berlin", layers, crs=streets.crs)
    frame_route = index.route(["edge1", "edge2"])
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np
import shapely
from numpy.typing import NDArray

from world4scorer.city.streets.lane_graph import LaneBand, LaneGraph, lane_graph
from world4scorer.city.streets.map_index import MapIndex
from world4scorer.city.streets.map_shapes import SIMPLIFY_TOLERANCE, Shapes, directions, line_bands, one_piece
from world4scorer.city.streets.road_areas import GUTTER, RoadAreas, road_areas
from world4scorer.city.streets.street_map import Lane, LaneUse, StreetMap, Turn
from world4scorer.datasets.navsim.map_writer import LayerTable

TURN_TYPES: Final = {
    Turn.STRAIGHT: 0,
    Turn.LEFT: 1,
    Turn.SLIGHT_LEFT: 1,
    Turn.RIGHT: 2,
    Turn.SLIGHT_RIGHT: 2,
    Turn.AROUND: 3,
}
"""nuPlan's turn types of lane connectors."""
STOP_AT_SIGNAL: Final = 2
"""nuPlan's type of a stop polygon at traffic lights."""
NO_INTERSECTION: Final = 0
"""Intersection id where a street only continues. Not NULL: readers convert the whole column to integers."""
INTERSECTION_DEFAULT: Final = 0
INTERSECTION_WITH_SIGNALS: Final = 1
"""nuPlan's intersection types."""
STOP_LINE: Final = (-0.5, 0.1)
"""Start and end of the stop polygon, from the end of the lane [m]."""
MIN_WALKING_AREA: Final = 0.1
"""m^2; walking areas below are artefacts."""

Layers = dict[str, LayerTable]


class _Ids:
    """Allocates unique positive ids."""

    def __init__(self) -> None:
        self._next = 1

    def take(self, count: int) -> NDArray[np.int64]:
        ids = np.arange(self._next, self._next + count)
        self._next += count
        return ids


def export_map(streets: StreetMap) -> tuple[Layers, MapIndex]:
    """Layers for `write_map`, in the place's coordinate system [m], and the index of SUMO's names."""
    graph = lane_graph(streets)
    areas = road_areas(streets, graph)
    ids = _Ids()
    lanes = dict(zip([lane.id for lane in graph.lanes], ids.take(len(graph.lanes)).tolist(), strict=True))
    connectors = ids.take(len(graph.connections))
    blocks = dict(zip(graph.edges, ids.take(len(graph.edges)).tolist(), strict=True))
    block_connectors = dict(zip(graph.by_edges, ids.take(len(graph.by_edges)).tolist(), strict=True))
    junctions = dict(zip(areas.intersections, ids.take(len(areas.intersections)).tolist(), strict=True))
    index = MapIndex(
        lane=lanes,
        connector={
            (connection.from_lane, connection.to_lane): fid
            for connection, fid in zip(graph.connections, connectors.tolist(), strict=True)
        },
        roadblock=blocks,
        roadblock_connector=block_connectors,
        signal={
            fid: connection.link
            for connection, fid in zip(graph.connections, connectors.tolist(), strict=True)
            if connection.link is not None
        },
    )
    lane_rows = [graph.lane_bands[lane.id] for lane in graph.lanes]
    lane_sides, connector_sides = ids.take(2 * len(lane_rows)), ids.take(2 * len(connectors))
    stops, stop_table = _stop_lines(graph, ids)
    layers: Layers = {
        "lanes_polygons": _lane_table(graph, index, lane_sides),
        "lane_connectors": _connector_table(streets, graph, index, junctions, stops),
        "gen_lane_connectors_scaled_width_polygons": LayerTable(
            connectors,
            _shapes(band.polygon for band in graph.connection_bands),
            {
                "lane_connector_fid": connectors,
                "left_boundary_fid": connector_sides[0::2],
                "right_boundary_fid": connector_sides[1::2],
            },
        ),
        "baseline_paths": _baseline_table(lane_rows, graph.connection_bands, list(lanes.values()), connectors, ids),
        "boundaries": _boundary_table([*lane_rows, *graph.connection_bands], np.append(lane_sides, connector_sides)),
        "lane_groups_polygons": _roadblock_table(graph, areas, blocks),
        "lane_group_connectors": _roadblock_connector_table(graph, index, junctions),
        "intersections": LayerTable(
            _ints(junctions.values()),
            _shapes(areas.intersections.values()),
            {"intersection_type_fid": _intersection_types(graph, areas)},
        ),
        "stop_polygons": stop_table,
        **_other_layers(streets, areas, ids),
    }
    return {name: _moved(table, streets.offset) for name, table in layers.items()}, index


def _lane_table(graph: LaneGraph, index: MapIndex, sides: NDArray[np.int64]) -> LayerTable:
    of_edge: dict[str, list[int]] = defaultdict(list)
    for lane in graph.lanes:
        of_edge[lane.edge].append(lane.index)
    from_left = {edge: sorted(found, reverse=True) for edge, found in of_edge.items()}
    ids = _ints(index.lane.values())
    return LayerTable(
        ids,
        _shapes(graph.lane_bands[lane.id].polygon for lane in graph.lanes),
        {
            "lane_fid": ids,
            "lane_group_fid": _ints(index.roadblock[lane.edge] for lane in graph.lanes),
            "lane_index": _ints(from_left[lane.edge].index(lane.index) for lane in graph.lanes),
            "speed_limit_mps": np.array([lane.speed for lane in graph.lanes]),
            "left_boundary_fid": sides[0::2],
            "right_boundary_fid": sides[1::2],
            "lane_type_fid": np.zeros(len(ids)),
        },
    )


def _connector_table(
    streets: StreetMap, graph: LaneGraph, index: MapIndex, junctions: Mapping[str, int], stops: Mapping[str, int]
) -> LayerTable:
    connections = graph.connections
    edges = [(graph.edge_of[c.from_lane], graph.edge_of[c.to_lane]) for c in connections]
    return LayerTable(
        _ints(index.connector.values()),
        _lines(band.line for band in graph.connection_bands),
        {
            "exit_lane_fid": _ints(index.lane[c.from_lane] for c in connections),
            "entry_lane_fid": _ints(index.lane[c.to_lane] for c in connections),
            "lane_group_connector_fid": _ints(index.roadblock_connector[pair] for pair in edges),
            "exit_lane_group_fid": _ints(index.roadblock[before] for before, _ in edges),
            "entry_lane_group_fid": _ints(index.roadblock[after] for _, after in edges),
            "intersection_fid": np.array([junctions.get(c.junction, NO_INTERSECTION) for c in connections]),
            # SUMO's limit inside the junction, which is lower in sharp turns.
            "speed_limit_mps": np.array([min(_speeds(streets, c.via, c.from_lane)) for c in connections], np.float64),
            "traffic_light_stop_line_fids": np.array(
                ["" if c.link is None else str(stops[c.from_lane]) for c in connections], object
            ),
            "turn_type_fid": _ints(TURN_TYPES[c.turn] for c in connections),
        },
    )


def _speeds(streets: StreetMap, via: Sequence[str], from_lane: str) -> list[float]:
    found = [streets.lanes[name].speed for name in via if name in streets.lanes]
    return found or [streets.lanes[from_lane].speed]


def _baseline_table(
    lanes: Sequence[LaneBand],
    connections: Sequence[LaneBand],
    lane_ids: Sequence[int],
    connector_ids: NDArray[np.int64],
    ids: _Ids,
) -> LayerTable:
    of_lanes, of_connectors = np.full(len(lanes), np.nan), np.full(len(connections), np.nan)
    return LayerTable(
        ids.take(len(lanes) + len(connections)),
        _lines(band.line for band in (*lanes, *connections)),
        {
            "lane_fid": np.concatenate([np.array(lane_ids, np.float64), of_connectors]),
            "lane_connector_fid": np.concatenate([of_lanes, connector_ids]),
            "path_type_fid": np.zeros(len(lanes) + len(connections)),
        },
    )


def _boundary_table(bands: Sequence[LaneBand], ids: NDArray[np.int64]) -> LayerTable:
    lines = shapely.simplify(_lines(side for band in bands for side in (band.left, band.right)), SIMPLIFY_TOLERANCE)
    return LayerTable(ids, lines, {"boundary_type_fid": np.zeros(len(ids))})


def _roadblock_table(graph: LaneGraph, areas: RoadAreas, blocks: Mapping[str, int]) -> LayerTable:
    counts = dict.fromkeys(graph.edges, 0)
    for lane in graph.lanes:
        counts[lane.edge] += 1
    return LayerTable(
        _ints(blocks.values()),
        _shapes(areas.roadblocks[edge] for edge in graph.edges),
        {"lane_count": _ints(counts.values())},
    )


def _roadblock_connector_table(graph: LaneGraph, index: MapIndex, junctions: Mapping[str, int]) -> LayerTable:
    # Not buffered: routes are cut as loops where their roadblock connectors overlap, and edges can be very short.
    shapes = [
        one_piece(shapely.union_all([graph.connection_bands[i].polygon for i in found]), 0.0, GUTTER)
        for found in graph.by_edges.values()
    ]
    places = [graph.connections[found[0]].junction for found in graph.by_edges.values()]
    return LayerTable(
        _ints(index.roadblock_connector.values()),
        _shapes(shapes),
        {
            "from_lane_group_fid": _ints(index.roadblock[before] for before, _ in graph.by_edges),
            "to_lane_group_fid": _ints(index.roadblock[after] for _, after in graph.by_edges),
            "intersection_fid": np.array([junctions.get(junction, NO_INTERSECTION) for junction in places]),
        },
    )


def _intersection_types(graph: LaneGraph, areas: RoadAreas) -> NDArray[np.int64]:
    signals = {connection.junction for connection in graph.connections if connection.link is not None}
    return _ints(
        INTERSECTION_WITH_SIGNALS if junction in signals else INTERSECTION_DEFAULT for junction in areas.intersections
    )


def _stop_lines(graph: LaneGraph, ids: _Ids) -> tuple[dict[str, int], LayerTable]:
    """Stop polygons at the ends of lanes with a signal; ids by lane."""
    lanes = list(dict.fromkeys(connection.from_lane for connection in graph.connections if connection.link is not None))
    shapes = []
    for lane in lanes:
        band = graph.lane_bands[lane]
        ahead = directions(band.line)[1]
        aside = np.array([-ahead[1], ahead[0]]) * band.half_width[-1]
        near, far = (band.line[-1] + metres * ahead for metres in STOP_LINE)
        shapes.append(shapely.Polygon([near + aside, near - aside, far - aside, far + aside]))
    fids = ids.take(len(lanes))
    kinds = np.full(len(lanes), STOP_AT_SIGNAL)
    table = LayerTable(fids, _shapes(shapes), {"stop_polygon_type_fid": kinds})
    return dict(zip(lanes, fids.tolist(), strict=True)), table


def _other_layers(streets: StreetMap, areas: RoadAreas, ids: _Ids) -> Layers:
    """Layers that are not used here; the devkit only draws them."""
    lanes = [lane for lane in streets.lanes.values() if not lane.internal]
    outlines = [lane.shape for lane in lanes if lane.use is LaneUse.WALKING_AREA and len(lane.shape) > 2]
    squares = [shapely.make_valid(shapely.Polygon(outline)) for outline in outlines]
    walkways = [
        *_bands([lane for lane in lanes if lane.use is LaneUse.WALK]),
        *(one_piece(square, 0.0, 0.0) for square in squares if square.area > MIN_WALKING_AREA),
    ]
    service = [lane for lane in lanes if lane.use is LaneUse.SERVICE and lane.edge not in areas.roadblocks]
    return {
        name: LayerTable(ids.take(len(shapes)), _shapes(shapes))
        for name, shapes in {
            "crosswalks": _bands([lane for lane in lanes if lane.use is LaneUse.CROSSING]),
            "walkways": walkways,
            "generic_drivable_areas": _bands(service),
            "road_segments": list(areas.roadblocks.values()),
        }.items()
    }


def _bands(lanes: Sequence[Lane]) -> list[Any]:
    return list(line_bands([lane.shape for lane in lanes], [lane.width for lane in lanes])) if lanes else []


def _moved(table: LayerTable, offset: NDArray[np.float64]) -> LayerTable:
    shapes = shapely.transform(table.shapes, lambda points: points + offset)
    return LayerTable(table.ids, shapes, table.columns)


def _lines(lines: Any) -> Shapes:
    return _shapes(shapely.LineString(line) for line in lines)


def _shapes(shapes: Any) -> Shapes:
    found = list(shapes)
    out = np.empty(len(found), object)
    out[:] = found
    return out


def _ints(values: Any) -> NDArray[np.int64]:
    return np.fromiter(values, np.int64)
