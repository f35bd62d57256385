"""What a scene holds, drawn: map, route, lights, traffic."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection, PathCollection, PolyCollection
from matplotlib.path import Path
from numpy.typing import NDArray

from world4scorer.scene.indices import LANE_LAYERS, Light, TrackType
from world4scorer.scene.scene import Scene
from world4scorer.scene.tracks import Tracks
from world4scorer.view import style
from world4scorer.view.frame import EgoFrame
from world4scorer.view.strokes import draw_way

FUTURE_STEPS = (10, 20, 30, 40)
"""Steps at which a moving track's later boxes are drawn."""
MOVED = 0.5
"""m: a track that moves less than this has no future to show."""


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
    draw_way(axes, line, style.CENTRE, 3.0)


def draw_red_lights(axes: Axes, scene: Scene, frame: EgoFrame, step: int = 0) -> None:
    """Hatch what a red light on the route closes at a step."""
    lights = scene.lights
    red = lights.on_route & (lights.status[:, step] == Light.RED) & (lights.polygon >= 0)
    for polygon in np.unique(lights.polygon[red]):
        path = _path(scene, frame, int(polygon))
        collection = PathCollection([path], facecolors="none", edgecolors=style.RED_LIGHT, hatch="////", linewidths=1.0)
        collection.set(alpha=0.55, zorder=3.5)
        axes.add_collection(collection)


def draw_tracks(axes: Axes, tracks: Tracks, frame: EgoFrame) -> None:
    """Draw boxes now, and of what moves the later boxes and the way there."""
    for kind in TrackType:
        rows = np.flatnonzero((tracks.type == kind) & tracks.valid[:, 0])
        boxes = [frame.track_box(tracks.boxes[row, 0]) for row in rows]
        fill = style.TRACK_FILL[kind]
        axes.add_collection(PolyCollection(boxes, facecolors=fill, edgecolors=style.INK, linewidths=0.6, zorder=6))
    for row in range(len(tracks.ids)):
        _draw_future(axes, tracks, row, frame)


def _draw_future(axes: Axes, tracks: Tracks, row: int, frame: EgoFrame) -> None:
    seen = np.flatnonzero(tracks.valid[row, : FUTURE_STEPS[-1] + 1])
    if len(seen) < 2:
        return
    way = frame.local(tracks.boxes[row, seen, :2])
    if np.ptp(way, axis=0).max() < MOVED:
        return
    fill = style.TRACK_FILL[TrackType(int(tracks.type[row]))]
    axes.plot(*way.T, color=fill, linewidth=1.2, alpha=0.8, zorder=4)
    later = [frame.track_box(tracks.boxes[row, step]) for step in FUTURE_STEPS if tracks.valid[row, step]]
    axes.add_collection(PolyCollection(later, facecolors=fill, edgecolors=fill, linewidths=0.8, alpha=0.18, zorder=4))


def _fill(axes: Axes, scene: Scene, frame: EgoFrame, polygons: NDArray[np.intp], colour: str) -> None:
    if len(polygons):
        paths = [_path(scene, frame, int(polygon)) for polygon in polygons]
        # The thin edge in the fill's own colour closes the hairlines between neighbours.
        axes.add_collection(PathCollection(paths, facecolors=colour, edgecolors=colour, linewidths=0.4, zorder=1))


def _path(scene: Scene, frame: EgoFrame, polygon: int) -> Path:
    return Path.make_compound_path(
        *(Path(_closed(frame.local(ring)), closed=True) for ring in scene.map.rings(polygon))
    )


def _closed(ring: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.concatenate([ring, ring[:1]])
