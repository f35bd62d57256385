"""The lane of a vehicle, and the nearest pose on a lane's baseline.

Candidates are the lanes whose polygon holds the centre of the vehicle's box; if there are none and an intersection
holds it, the lane connectors whose polygon does. The vehicle belongs to the candidate whose nearest pose has the
heading that differs least from its own; headings are not wrapped, and the first in the map's tables wins a tie.

The nearest pose is the point of the baseline nearest to the centre, heading for the point 0.5 m further along; at the
end of the baseline the heading comes from the point 0.5 m before.

Shapes: n vehicles, P polygons, M lanes, K pairs of a vehicle and a candidate.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from world4scorer.engine.kernels import kernel, leaf
from world4scorer.engine.scene.containment import inside
from world4scorer.engine.scene.geometry import Floats
from world4scorer.engine.scene.indices import Layer
from world4scorer.engine.scene.lanes import Lanes
from world4scorer.engine.scene.scene import Scene
from world4scorer.engine.scene.segments import segment_distance

HEADING_BASE: Final = 0.5
"""Distance to the point that a nearest pose heads for [m]."""

LANE_AREAS: Final = (Layer.LANE, Layer.LANE_CONNECTOR, Layer.FAR_LANE)
INTERSECTION_AREAS: Final = (Layer.INTERSECTION, Layer.FAR_INTERSECTION)


class LaneChoice(NamedTuple):
    """The lanes of n vehicles."""

    lane: NDArray[np.int64]
    """(n,) index into `Scene.lanes`; -1 for none."""
    along: Floats
    """(n,) distance of the nearest pose from the beginning of the baseline [m]."""
    pose: Floats
    """(n, 3) the nearest pose: x, y [m], heading [rad]."""
    on_road: NDArray[np.bool_]
    """(n,) whether a lane (connectors do not count) or an intersection holds the centre."""


def choose_lanes(scene: Scene, lanes: Lanes, poses: Floats) -> LaneChoice:
    """Choose the lanes of vehicles at poses (n, 3)."""
    row = {name: index for index, name in enumerate(lanes.ids)}
    areas = np.isin(scene.map.layer, LANE_AREAS)
    lane = np.full(len(areas), -1, np.int64)
    for polygon in np.flatnonzero(areas):
        lane[polygon] = row.get(scene.map.ids[polygon], -1)
    crossing = np.isin(scene.map.layer, INTERSECTION_AREAS)
    held, on_road = _candidates(scene.packed_map, lane, lanes.connector, crossing, poses)
    vehicle, candidate = np.nonzero(held)
    found = _nearest_points(lanes.vertices, lanes.offsets, candidate, poses[vehicle])
    heading = np.arctan2(found[:, 4], found[:, 3])
    difference = np.abs(heading - poses[vehicle, 2])
    choice = LaneChoice(np.full(len(poses), -1, np.int64), np.zeros(len(poses)), np.zeros((len(poses), 3)), on_road)
    best = np.full(len(poses), np.inf)
    for pair, v in enumerate(vehicle):
        if difference[pair] < best[v]:
            best[v] = difference[pair]
            choice.lane[v], choice.along[v] = candidate[pair], found[pair, 0]
            choice.pose[v] = found[pair, 1], found[pair, 2], heading[pair]
    return choice


@kernel
def _candidates(polygons, lane, connector, crossing, poses):
    """Which lanes are candidates (n, M), and which vehicles are on the road (n,).

    `lane` (P,) is the lane of a polygon or -1, `connector` (M,) says which lanes are connectors, `crossing` (P,) which
    polygons are intersections.
    """
    count = poses.shape[0]
    held = np.zeros((count, connector.size), np.bool_)
    on_road = np.zeros(count, np.bool_)
    edges = np.arange(polygons.x.size)
    for v in range(count):
        x, y = poses[v, 0], poses[v, 1]
        in_lane = in_crossing = False
        for p in range(lane.size):
            bounds = polygons.bounds[p]
            if (lane[p] < 0 and not crossing[p]) or not (bounds[0] <= x <= bounds[2] and bounds[1] <= y <= bounds[3]):
                continue
            if inside(polygons, p, x, y, edges, polygons.polygon_start[p], polygons.polygon_start[p + 1]):
                if crossing[p]:
                    in_crossing = True
                else:
                    held[v, lane[p]] = True
                    in_lane |= not connector[lane[p]]
        on_road[v] = in_lane or in_crossing
        for m in range(connector.size):
            held[v, m] &= not connector[m] if in_lane else in_crossing
    return held, on_road


@kernel
def _nearest_points(vertices, offsets, lanes, poses):
    """For each pair of a lane (K,) and a pose (K, 3): distance along, x, y, and the vector of the heading; (K, 5)."""
    out = np.empty((lanes.size, 5))
    for k in range(lanes.size):
        first, last = offsets[lanes[k]], offsets[lanes[k] + 1] - 1
        nearest, segment, share = np.inf, first, 0.0
        for i in range(first, last):
            square, part = segment_distance(
                vertices[i, 0], vertices[i, 1], vertices[i + 1, 0], vertices[i + 1, 1], poses[k, 0], poses[k, 1]
            )
            if square < nearest:
                nearest, segment, share = square, i, part
        along = 0.0
        for i in range(first, segment):
            along += _length(vertices, i)
        along += share * _length(vertices, segment)
        x, y = _between(vertices, segment, share)
        ahead_x, ahead_y = _point_at(vertices, first, last, along + HEADING_BASE)
        out[k, 0], out[k, 1], out[k, 2] = along, x, y
        out[k, 3], out[k, 4] = ahead_x - x, ahead_y - y
        if ahead_x == x and ahead_y == y:
            back_x, back_y = _point_at(vertices, first, last, along - HEADING_BASE)
            out[k, 3], out[k, 4] = x - back_x, y - back_y
    return out


@leaf
def _length(vertices, i):
    dx, dy = vertices[i + 1, 0] - vertices[i, 0], vertices[i + 1, 1] - vertices[i, 1]
    return np.sqrt(dx * dx + dy * dy)


@leaf
def _between(vertices, i, share):
    """The point at a share of the segment from vertex i to the next."""
    if share == 1.0:
        return vertices[i + 1, 0], vertices[i + 1, 1]
    x = vertices[i, 0] + share * (vertices[i + 1, 0] - vertices[i, 0])
    return x, vertices[i, 1] + share * (vertices[i + 1, 1] - vertices[i, 1])


@leaf
def _point_at(vertices, first, last, along):
    """The point at a distance along the line of vertices `first..last`, limited to its ends."""
    if along <= 0.0:
        return vertices[first, 0], vertices[first, 1]
    for i in range(first, last):
        length = _length(vertices, i)
        if along < length:
            return _between(vertices, i, along / length)
        along -= length
    return vertices[last, 0], vertices[last, 1]
