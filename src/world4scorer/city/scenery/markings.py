"""Road markings as outlines (n, 2) [m]: lane and edge lines, stop lines, crossings, arrows."""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Iterable
from typing import Final

import numpy as np
import shapely

from world4scorer.city.scenery.polyline import Line, cut, parallel, points_at, ribbon, tidy
from world4scorer.city.streets.street_map import Connection, Lane, LaneUse, StreetMap, Turn
from world4scorer.engine.scene.geometry import arc_length_hypot, rotate

LINE_WIDTH: Final = 0.14
"""Width of lines [m]."""
DASH_LENGTH, DASH_GAP = 3.0, 5.0
"""Dash and gap of lane lines [m]."""
STOP_LINE_WIDTH: Final = 0.45
STOP_LINE_SETBACK: Final = 0.6
"""Thickness of stop lines and their distance from the end of the lane [m]."""
STRIPE_WIDTH: Final = 0.5
"""Width of a zebra's stripes and of the gaps between them [m]."""
EDGE_INSET: Final = 0.2
"""Distance of edge lines from the lane's edge [m]."""
MAX_CENTRE_GAP: Final = 0.9
"""Two edges whose left sides are closer than this share a centre line [m]."""
ARROW_SETBACK: Final = 9.0
"""Distance of arrows from the end of the lane [m]."""

_ARROWS: Final[dict[Turn, tuple[tuple[float, float], ...]]] = {
    # x along the lane, y to the left [m]
    Turn.STRAIGHT: ((-2.4, -0.09), (0.6, -0.09), (0.6, -0.36), (2.4, 0.0), (0.6, 0.36), (0.6, 0.09), (-2.4, 0.09)),
    Turn.LEFT: (
        (-2.4, -0.09), (0.75, -0.09), (1.35, 0.30), (1.75, 0.15),
        (1.55, 1.05), (0.35, 0.75), (0.85, 0.5), (0.45, 0.09), (-2.4, 0.09),
    ),
}  # fmt: skip


def draw_markings(streets: StreetMap) -> Iterable[Line]:
    """Outlines of all markings."""
    edges: dict[str, list[Lane]] = defaultdict(list)
    for lane in streets.lanes.values():
        if not lane.internal and lane.use in (LaneUse.DRIVE, LaneUse.SERVICE, LaneUse.BICYCLE):
            edges[lane.edge].append(lane)
    for lanes in edges.values():
        lanes.sort(key=lambda lane: lane.index)
    roads = {edge: lanes for edge, lanes in edges.items() if any(lane.use is LaneUse.DRIVE for lane in lanes)}
    yield from _lines_of_lanes(roads)
    exits: dict[str, list[Connection]] = defaultdict(list)
    for connection in streets.connections:
        if connection.use is LaneUse.DRIVE:
            exits[connection.from_lane].append(connection)
    for name, ways in exits.items():
        lane = streets.lanes[name]
        if lane.use is LaneUse.DRIVE and any(way.link for way in ways):
            yield from _stop_line(lane)
            yield from _arrows(lane, ways)
    for lane in streets.lanes.values():
        if lane.use is LaneUse.CROSSING:
            yield from _zebra(lane)


def _lines_of_lanes(roads: dict[str, list[Lane]]) -> Iterable[Line]:
    lefts = {edge: parallel(tidy(lanes[-1].shape), lanes[-1].width / 2) for edge, lanes in roads.items()}
    names = list(lefts)
    lines = shapely.STRtree([shapely.LineString(lefts[name]) for name in names])
    for edge, lanes in roads.items():
        for right, left in itertools.pairwise(lanes):
            border = parallel(tidy(right.shape), right.width / 2)
            if right.use is left.use:
                yield from _dashes(border, DASH_LENGTH, DASH_GAP)
            else:
                yield ribbon(border, LINE_WIDTH)
        outer = tidy(lanes[0].shape)
        if lanes[0].use is LaneUse.DRIVE and (len(lanes) > 1 or lanes[0].speed > 9):
            yield ribbon(parallel(outer, -lanes[0].width / 2 + EDGE_INSET), LINE_WIDTH)
        line = lefts[edge]
        middle, _ = points_at(line, arc_length_hypot(line)[-1:] / 2)
        near = lines.query(shapely.Point(middle[0]), predicate="dwithin", distance=MAX_CENTRE_GAP)
        opposite = sorted(names[k] for k in near if names[k] != edge)
        if not opposite:
            yield ribbon(parallel(line, -EDGE_INSET), LINE_WIDTH)
        elif edge < opposite[0]:
            if len(lanes) > 1 or len(roads[opposite[0]]) > 1:
                yield ribbon(parallel(line, 0.14), LINE_WIDTH)
                yield ribbon(parallel(line, -0.14), LINE_WIDTH)
            else:
                yield from _dashes(line, DASH_LENGTH, DASH_GAP)


def _dashes(line: Line, dash: float, gap: float) -> Iterable[Line]:
    length = float(arc_length_hypot(line)[-1])
    for start in np.arange(gap / 2, length - dash / 2, dash + gap):
        yield ribbon(cut(line, start, min(start + dash, length)), LINE_WIDTH)


def _stop_line(lane: Lane) -> Iterable[Line]:
    line = tidy(lane.shape)
    length = float(arc_length_hypot(line)[-1])
    if length > STOP_LINE_SETBACK + STOP_LINE_WIDTH + 0.5:
        yield ribbon(
            cut(line, length - STOP_LINE_SETBACK - STOP_LINE_WIDTH, length - STOP_LINE_SETBACK), lane.width - 0.2
        )


def _arrows(lane: Lane, ways: list[Connection]) -> Iterable[Line]:
    line = tidy(lane.shape)
    length = float(arc_length_hypot(line)[-1])
    turns = {way.turn for way in ways}
    for place in (length - ARROW_SETBACK, length - ARROW_SETBACK - 18):
        if place < 6:
            return
        (centre,), (heading,) = points_at(line, np.array([place]))
        if turns & {Turn.STRAIGHT, Turn.SLIGHT_LEFT, Turn.SLIGHT_RIGHT}:
            yield rotate(np.array(_ARROWS[Turn.STRAIGHT]), heading) + centre
        shape = np.array(_ARROWS[Turn.LEFT])
        if Turn.LEFT in turns:
            yield rotate(shape, heading) + centre
        if Turn.RIGHT in turns:
            yield rotate(shape * (1, -1), heading) + centre


def _zebra(lane: Lane) -> Iterable[Line]:
    line = tidy(lane.shape)
    length = float(arc_length_hypot(line)[-1])
    count = max(int((length - 0.2) // (2 * STRIPE_WIDTH)), 1)
    start = (length - (2 * count - 1) * STRIPE_WIDTH) / 2
    for k in range(count):
        begin = start + 2 * STRIPE_WIDTH * k
        if begin >= 0 and begin + STRIPE_WIDTH <= length:
            yield ribbon(cut(line, begin, begin + STRIPE_WIDTH), lane.width * 0.85)
