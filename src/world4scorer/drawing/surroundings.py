"""Map, route, traffic lights and tracks of a scene in a figure."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection, PathCollection, PolyCollection
from matplotlib.path import Path
from numpy.typing import NDArray

from world4scorer.drawing import style
from world4scorer.drawing.ego_frame import EgoFrame
from world4scorer.drawing.strokes import draw_line
from world4scorer.engine.scene.indices import LANE_LAYERS, Light, TrackType
from world4scorer.engine.scene.scene import Scene
from world4scorer.engine.scene.tracks import Tracks

FUTURE_STEPS = (10, 20, 30, 40)
"""Steps at which future boxes of moving tracks are drawn."""
MIN_MOVEMENT = 0.5
"""Minimum movement of a track whose future is drawn [m]."""


def draw_map(axes: Axes, scene: Scene, frame: EgoFrame) -> None:
    """Draw filled areas, then the route's lanes, then the edges of all lanes."""
    layer = scene.map.layer
    for kind, fill in style.LAYER_FILL.items():
        _fill(axes, scene, frame, np.flatnonzero(layer == kind), fill)
    _fill(axes, scene, frame, np.flatnonzero(scene.on_route), style.ROUTE)
    lanes = np.flatnonzero(np.isin(layer, LANE_LAYERS))
    edges = [_closed(frame.local(ring)) for polygon in lanes for ring in scene.map.rings(int(polygon))]
    axes.add_collection(LineCollection(edges, colors=style.LANE_EDGE, linewidths=0.9, zorder=2))
    line = frame.local(scene.centerline[:, :2])
    draw_line(axes, line, style.CENTRE, 3.0)


def draw_red_lights(axes: Axes, scene: Scene, frame: EgoFrame, step: int = 0) -> None:
    """Hatch the areas closed by red lights on the route at a step."""
    for polygon in _closed_by_red(scene, step):
        path = _path(scene, frame, polygon)
        collection = PathCollection([path], facecolors="none", edgecolors=style.RED_LIGHT, hatch="////", linewidths=1.0)
        collection.set(alpha=0.55, zorder=3.5)
        axes.add_collection(collection)


def red_light_in_view(axes: Axes, scene: Scene, frame: EgoFrame) -> bool:
    """Whether an area closed by a red light now is within the limits of the axes."""
    rings = (ring for polygon in _closed_by_red(scene, 0) for ring in scene.map.rings(polygon))
    return any(_in_view(axes, frame.local(ring)) for ring in rings)


def _closed_by_red(scene: Scene, step: int) -> list[int]:
    lights = scene.lights
    red = lights.on_route & (lights.status[:, step] == Light.RED) & (lights.polygon >= 0)
    return [int(polygon) for polygon in np.unique(lights.polygon[red])]


def draw_tracks(axes: Axes, tracks: Tracks, frame: EgoFrame) -> None:
    """Draw current boxes, and the future boxes and paths of moving tracks."""
    for kind in TrackType:
        rows = np.flatnonzero((tracks.type == kind) & tracks.valid[:, 0])
        boxes = [frame.track_box(tracks.boxes[row, 0]) for row in rows]
        fill = style.TRACK_FILL[kind]
        axes.add_collection(PolyCollection(boxes, facecolors=fill, edgecolors=style.INK, linewidths=0.6, zorder=6))
    for row in range(len(tracks.ids)):
        _draw_future(axes, tracks, row, frame)


def kinds_in_view(axes: Axes, tracks: Tracks, frame: EgoFrame) -> set[TrackType]:
    """Types of tracks with a current or future box within the limits of the axes."""
    found = set()
    for row, kind in enumerate(tracks.type.tolist()):
        boxes = [frame.track_box(tracks.boxes[row, 0])] if tracks.valid[row, 0] else []
        if _path_of(tracks, row, frame) is not None:
            boxes += _later_boxes(tracks, row, frame)
        if any(_in_view(axes, box) for box in boxes):
            found.add(TrackType(kind))
    return found


def _in_view(axes: Axes, outline: NDArray[np.float64]) -> bool:
    """Whether the bounds of an outline (V, 2) overlap the axes."""
    (left, right), (low, high) = axes.get_xlim(), axes.get_ylim()
    (x0, y0), (x1, y1) = outline.min(axis=0), outline.max(axis=0)
    return bool(x0 < right and x1 > left and y0 < high and y1 > low)


def _draw_future(axes: Axes, tracks: Tracks, row: int, frame: EgoFrame) -> None:
    way = _path_of(tracks, row, frame)
    if way is None:
        return
    fill = style.TRACK_FILL[TrackType(int(tracks.type[row]))]
    axes.plot(*way.T, color=fill, linewidth=1.2, alpha=0.8, zorder=4)
    later = _later_boxes(tracks, row, frame)
    axes.add_collection(PolyCollection(later, facecolors=fill, edgecolors=fill, linewidths=0.8, alpha=0.18, zorder=4))


def _path_of(tracks: Tracks, row: int, frame: EgoFrame) -> NDArray[np.float64] | None:
    """Path (T, 2) of a track's centre; None if it does not move."""
    seen = np.flatnonzero(tracks.valid[row, : FUTURE_STEPS[-1] + 1])
    way = frame.local(tracks.boxes[row, seen, :2])
    return way if len(seen) > 1 and np.ptp(way, axis=0).max() >= MIN_MOVEMENT else None


def _later_boxes(tracks: Tracks, row: int, frame: EgoFrame) -> list[NDArray[np.float64]]:
    return [frame.track_box(tracks.boxes[row, step]) for step in FUTURE_STEPS if tracks.valid[row, step]]


def _fill(axes: Axes, scene: Scene, frame: EgoFrame, polygons: NDArray[np.intp], colour: str) -> None:
    if len(polygons):
        paths = [_path(scene, frame, int(polygon)) for polygon in polygons]
        # A thin edge in the fill colour closes the gaps between neighbours.
        axes.add_collection(PathCollection(paths, facecolors=colour, edgecolors=colour, linewidths=0.4, zorder=1))


def _path(scene: Scene, frame: EgoFrame, polygon: int) -> Path:
    return Path.make_compound_path(
        *(Path(_closed(frame.local(ring)), closed=True) for ring in scene.map.rings(polygon))
    )


def _closed(ring: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.concatenate([ring, ring[:1]])
