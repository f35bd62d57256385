"""Kerbs along the areas that cars sweep.

What a car's corners sweep in a turn is road, plus a margin: plans are judged by a tracker that starts with straight
wheels and can be a metre off in turns, where real streets leave as much room.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import shapely

from world4scorer.city.streets.lane_graph import LaneGraph
from world4scorer.city.streets.map_shapes import JUNCTION_GAP, SIMPLIFY_TOLERANCE, Line, Shapes, one_piece
from world4scorer.city.streets.street_map import Turn
from world4scorer.city.streets.swept_path import PATH_STEP, corner_trails
from world4scorer.engine.scene.geometry import arc_length_hypot

TURN_MARGIN: Final = 1.2
"""Distance between the path of a turning car's corner and the kerb [m]."""
SWEPT_MARGIN: Final = 0.3
"""The same where the car drives nearly straight [m]."""
MIN_TURN_ANGLE: Final = 0.35
"""Change of heading that makes a turn [rad]."""
RUN_IN: Final = 12.0
RUN_OUT: Final = 15.0
"""Length of the path before and after a connection [m]."""
SHARP_BEND_ANGLE: Final = 0.3
"""rad"""
BEND_LENGTH: Final = 5.0
"""m"""
MIN_PIECE_AREA: Final = 0.01
"""m^2"""

Key = tuple[bool, str]
"""Whether it is a junction (or an edge), and its name."""


def widen_by_sweeps(graph: LaneGraph, roadblocks: dict[str, Any], intersections: dict[str, Any]) -> None:
    """Add what cars sweep outside of all areas, each piece to the nearest area on the path."""
    passing = [index for index, connection in enumerate(graph.connections) if connection.turn is not Turn.AROUND]
    bending = [lane for lane in graph.lanes if _bends_sharply(graph.lane_bands[lane.id].line)]
    # The start of a lane is covered by the connections that lead there.
    lanes = [_SweepPath(graph.lane_bands[lane.id].line, RUN_OUT, ((False, lane.edge),)) for lane in bending]
    paths = [_sweep_path(graph, index) for index in passing] + lanes
    if not paths:
        return
    shapes: dict[Key, Any] = {(False, edge): shape for edge, shape in roadblocks.items()}
    shapes |= {(True, junction): shape for junction, shape in intersections.items()}
    passed = [[key for key in path.areas if key in shapes] for path in paths]
    swept = _swept(paths, len(passing), [[shapes[key] for key in row] for row in passed])
    pieces, owners = _outside(swept, np.array(list(shapes.values()), object))
    more: dict[Key, list[Any]] = defaultdict(list)
    for piece, row in zip(pieces, owners.tolist(), strict=True):
        near = np.array([shapes[key] for key in passed[row]], object)
        more[passed[row][int(np.argmin(np.round(shapely.distance(near, piece), 3)))]].append(piece)
    for (at_junction, name), found in more.items():
        wider = intersections if at_junction else roadblocks
        wider[name] = one_piece(shapely.union_all([wider[name], *found]), 0.0, JUNCTION_GAP)


def _swept(paths: Sequence[_SweepPath], connections: int, passed: Sequence[Sequence[Any]]) -> Shapes:
    """Areas around the paths of the corners, path by path; for straight ones only what leaves the road."""
    lines = [path.line for path in paths]
    # In two batches, because lanes can be much longer than connections.
    found = [*corner_trails(lines[:connections]), *corner_trails(lines[connections:])]
    trails = np.empty(len(paths), object)
    turning = np.zeros(len(paths), np.bool_)
    for row, trail in enumerate(found):
        behind = trail[:, int(paths[row].run_in / PATH_STEP) :]
        trails[row] = shapely.multilinestrings(list(behind))
        ahead = behind[0] - behind[3]
        turning[row] = np.ptp(np.unwrap(np.arctan2(ahead[:, 1], ahead[:, 0]))) > MIN_TURN_ANGLE
    trails = shapely.simplify(trails, SIMPLIFY_TOLERANCE, preserve_topology=False)
    straight = np.flatnonzero(~turning)
    trails[straight] = _without(trails[straight], [passed[row] for row in straight.tolist()])
    grown: Shapes = shapely.buffer(trails, np.where(turning, TURN_MARGIN, SWEPT_MARGIN), quad_segs=2)
    return grown


def _outside(shapes: Shapes, areas: Shapes) -> tuple[Shapes, Any]:
    """Parts of shapes outside of all areas, and the index of each part's shape."""
    rows, hits = shapely.STRtree(areas).query(shapes, predicate="intersects")
    left = shapes.copy()
    for row in np.unique(rows).tolist():
        left[row] = shapely.difference(shapes[row], shapely.union_all(areas[hits[rows == row]]))
    pieces, owners = shapely.get_parts(left, return_index=True)
    large = shapely.area(pieces) > MIN_PIECE_AREA
    return pieces[large], owners[large]


@dataclass(frozen=True, eq=False)
class _SweepPath:
    """Path of a car over a connection, with a run-in and a run-out."""

    line: Line
    run_in: float
    """Length before the connection [m]."""
    areas: tuple[Key, ...]
    """Areas on the path, the connection's own junction first."""


def _sweep_path(graph: LaneGraph, index: int) -> _SweepPath:
    connection = graph.connections[index]
    edges: list[str] = []
    junctions = [connection.junction]
    before, early = _follow(graph, connection.from_lane, RUN_IN, False, edges, junctions)
    after, late = _follow(graph, connection.to_lane, RUN_OUT, True, edges, junctions)
    line = np.concatenate([*before[::-1], graph.connection_bands[index].line, *after])
    run_in = sum(_length(piece) for piece in before) - early
    keys = [(True, junctions[0]), *((False, edge) for edge in edges), *((True, name) for name in junctions[1:])]
    return _SweepPath(_between(line, early, late), run_in, tuple(dict.fromkeys(keys)))


def _follow(
    graph: LaneGraph, lane: str, metres: float, forward: bool, edges: list[str], junctions: list[str]
) -> tuple[list[Line], float]:
    """Lines from a lane on, for `metres` if the network reaches that far, and their excess length [m]."""
    links = graph.following if forward else graph.preceding
    pieces: list[Line] = []
    while True:
        pieces.append(graph.lane_bands[lane].line)
        edges.append(graph.edge_of[lane])
        metres -= _length(pieces[-1])
        if metres <= 0.0 or lane not in links:
            return pieces, max(-metres, 0.0)
        link = links[lane]
        pieces.append(graph.connection_bands[link].line)
        metres -= _length(pieces[-1])
        junctions.append(graph.connections[link].junction)
        lane = graph.connections[link].to_lane if forward else graph.connections[link].from_lane


def _bends_sharply(line: Line) -> bool:
    """Whether the direction changes by more than `SHARP_BEND_ANGLE` within `BEND_LENGTH`."""
    steps = np.diff(line, axis=0)
    if _length(line) < RUN_OUT + BEND_LENGTH:
        return False
    headings = np.unwrap(np.arctan2(steps[:, 1], steps[:, 0]))
    marks = arc_length_hypot(line)[:-1]
    change = np.interp(marks + BEND_LENGTH, marks, headings) - headings
    return bool(np.abs(change).max() > SHARP_BEND_ANGLE)


def _length(line: Line) -> float:
    return float(np.hypot(*np.diff(line, axis=0).T).sum())


def _between(line: Line, cut_first: float, cut_last: float) -> Line:
    """The line shortened at both ends [m], without repeated vertices."""
    marks = arc_length_hypot(line)
    inside = np.unique(marks[(marks > cut_first) & (marks < marks[-1] - cut_last)])
    at = np.concatenate([[cut_first], inside, [marks[-1] - cut_last]])
    return np.column_stack([np.interp(at, marks, line[:, 0]), np.interp(at, marks, line[:, 1])])


def _without(shapes: Shapes, areas: Sequence[Iterable[Any]]) -> Shapes:
    """Each shape minus its areas."""
    left = shapes.copy()
    columns = [list(row) for row in areas]
    for column in range(max(len(row) for row in columns)):
        rows = [i for i, row in enumerate(columns) if column < len(row) and not left[i].is_empty]
        if rows:
            left[rows] = shapely.difference(left[rows], np.array([columns[i][column] for i in rows], object))
    return left
