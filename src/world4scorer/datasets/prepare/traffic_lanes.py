"""What reactive traffic needs of the map: baselines of the lanes around the ego, and lanes under vehicles beyond them.

The drivable map ends about 100 m from the ego, annotations do not. Areas under vehicles beyond its square are added
under layers of their own, which no metric reads.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import shapely
from numpy.typing import NDArray

from world4scorer.datasets.navsim.city_map import CityMap
from world4scorer.datasets.navsim.frames import LogFrame
from world4scorer.datasets.pdm_closed.ego_box import box_centre
from world4scorer.datasets.prepare.drivable import MAP_HALF_SIDE, cut_map
from world4scorer.datasets.store.polygons import gather_rows
from world4scorer.engine.scene.indices import LANE_LAYERS, Layer, TrackType
from world4scorer.engine.scene.lanes import Lanes
from world4scorer.engine.scene.map import PolygonMap
from world4scorer.engine.scene.scene import Scene
from world4scorer.engine.scene.tracks import Tracks


def far_areas(city: CityMap, now: LogFrame, areas: NDArray[np.int64], x: float, y: float) -> NDArray[np.int64]:
    """Lanes and intersections under vehicles of the frame that are not among `areas`, as indices into `CityMap.areas`.

    `x`, `y` is the centre of the map's square.
    """
    boxes = now.boxes_by_type
    centres = boxes.poses[boxes.type == TrackType.VEHICLE, :2]
    if not city.lanes_without_block:
        centres = centres[(np.abs(centres - (x, y)) > MAP_HALF_SIDE).any(axis=1)]
    if not len(centres):
        return np.zeros(0, np.int64)
    points = shapely.points(centres)
    lanes = city.lane_tree.query(points, predicate="intersects")[1]
    crossings = city.intersection_tree.query(points, predicate="intersects")[1] + city.first_intersection_area
    return np.setdiff1d(np.concatenate([lanes, crossings]).astype(np.int64), areas)


def lanes_among(city: CityMap, areas: NDArray[np.int64]) -> Lanes:
    """The lanes with a baseline among areas, in the order of the map's tables."""
    rows, starts = city.path_rows
    lanes = np.unique(areas[areas < len(city.lanes)])
    counts = starts[lanes + 1] - starts[lanes]
    lanes = lanes[counts > 0]
    vertices, offsets = gather_rows(rows, starts[lanes], starts[lanes + 1])
    return Lanes(
        ids=tuple(city.area_ids[lanes]),
        connector=np.array([city.lanes[lane].is_connector for lane in lanes], np.bool_),
        limit=city.speed_limits[lanes],
        vertices=vertices[:, :2],
        offsets=offsets,
    )


def add_traffic(scene: Scene, city: CityMap, now: LogFrame) -> Scene:
    """A scene as stores of schema 1 have it, with lanes and the tracks of its frame: nothing else changes."""
    own = np.isin(scene.map.layer, [*LANE_LAYERS, Layer.SIGNAL_AREA])
    lanes = np.array([city.lane_index[scene.map.ids[polygon]] for polygon in np.flatnonzero(own)], np.int64)
    crossings = np.flatnonzero(scene.map.layer == Layer.INTERSECTION)
    index = {name: place for place, name in enumerate(city.intersection_ids)}
    known = [index[scene.map.ids[polygon]] + city.first_intersection_area for polygon in crossings]
    mapped = lanes[scene.map.layer[own] != Layer.SIGNAL_AREA]
    far = far_areas(city, now, np.concatenate([mapped, np.array(known, np.int64)]), *box_centre(now.ego_pose))
    seen = frozenset(now.track_tokens)
    return replace(
        scene,
        map=_joined(scene.map, cut_map(city, far[:0], (), far).polygons),
        lanes=lanes_among(city, np.concatenate([lanes, far])),
        tracks=_with_current(scene.tracks, seen),
        tracks_v2=None if scene.tracks_v2 is None else _with_current(scene.tracks_v2, seen),
    )


def _with_current(tracks: Tracks, seen: frozenset[str]) -> Tracks:
    return replace(tracks, current=np.array([name in seen for name in tracks.ids], np.bool_))


def _joined(polygons: PolygonMap, others: PolygonMap) -> PolygonMap:
    if not others.ids:
        return polygons
    return PolygonMap(
        ids=polygons.ids + others.ids,
        layer=np.concatenate([polygons.layer, others.layer]),
        vertices=np.concatenate([polygons.vertices, others.vertices]),
        ring_offsets=np.concatenate([polygons.ring_offsets, others.ring_offsets[1:] + len(polygons.vertices)]),
        ring_polygon=np.concatenate([polygons.ring_polygon, others.ring_polygon + len(polygons.ids)]),
    )
