"""Map, route, lights and tracks of a scene for frame files."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from world4scorer.drawing.ego_frame import EgoFrame
from world4scorer.engine.scene.geometry import relative_poses
from world4scorer.engine.scene.indices import STEPS, Box, Layer, Light, TrackType
from world4scorer.engine.scene.scene import Scene
from world4scorer.engine.scene.tracks import Tracks
from world4scorer.reporting.explorer.rounding import LENGTH, flat_points, flat_poses, quantise

Floats = NDArray[np.float64]

MAP_REACH: Final = 100.0
"""Half extent of the map square around the ego [m]."""


LAYER_NAMES: Final = {int(layer): layer.name.lower() for layer in Layer}
TRACK_NAMES: Final = {int(kind): kind.name.lower() for kind in TrackType}


def near_map(scene: Scene, frame: EgoFrame) -> dict[str, list[dict[str, Any]]]:
    """Whole polygons near the ego by layer, shell first, rings not closed."""
    polygons = scene.map
    if not polygons.ids:
        return {}
    points = frame.local(polygons.vertices)
    rounded = quantise(points, LENGTH).ravel().tolist()
    first = polygons.ring_offsets[polygons.polygon_rings[:-1]]
    low, high = np.minimum.reduceat(points, first), np.maximum.reduceat(points, first)
    near = ((low <= MAP_REACH) & (high >= -MAP_REACH)).all(axis=1)
    ends, rings = (2 * polygons.ring_offsets).tolist(), polygons.polygon_rings.tolist()
    layers, on_route = polygons.layer.tolist(), scene.on_route.tolist()
    found: dict[str, list[dict[str, Any]]] = {}
    for polygon in np.flatnonzero(near).tolist():
        there = range(rings[polygon], rings[polygon + 1])
        kept: dict[str, Any] = {"id": polygons.ids[polygon], "rings": [rounded[ends[r] : ends[r + 1]] for r in there]}
        if on_route[polygon]:
            kept["route"] = True
        found.setdefault(LAYER_NAMES[layers[polygon]], []).append(kept)
    return found


def near_centerline(scene: Scene, frame: EgoFrame) -> list[int]:
    """The centreline near the ego, x, y, x, y, ..."""
    line = frame.local(scene.centerline[:, :2])
    return flat_points(line[(np.abs(line) <= MAP_REACH).all(axis=1)])


def describe_lights(scene: Scene) -> list[dict[str, Any]]:
    """Each light with its lane connector and the steps at which it changes, beginning with now."""
    lights, found = scene.lights, []
    for polygon, status, on_route in zip(lights.polygon, lights.status[:, :STEPS], lights.on_route, strict=True):
        changes = np.concatenate([[0], np.flatnonzero(np.diff(status)) + 1])
        found.append(
            {
                "connector": scene.map.ids[polygon] if polygon >= 0 else None,
                "on_route": bool(on_route),
                "changes": [[int(step), Light(int(status[step])).name.lower()] for step in changes],
            }
        )
    return found


def describe_tracks(tracks: Tracks, frame: EgoFrame) -> list[dict[str, Any]]:
    """Each track with its steps and poses; a single pose if static."""
    count = len(tracks.ids)
    poses = flat_poses(relative_poses(np.nan_to_num(tracks.boxes[:, :STEPS]), frame.pose)[:, :, None])
    valid = tracks.valid[:, :STEPS]
    first = valid.argmax(axis=1)
    same = np.asarray((poses == poses[np.arange(count), first][:, None]).all(axis=2)) | ~valid
    still, always = (np.asarray(flags.all(axis=1)).tolist() for flags in (same, valid))
    seen = np.asarray(valid.any(axis=1))
    sizes = np.where(seen[:, None], tracks.boxes[np.arange(count), first][:, [Box.LENGTH, Box.WIDTH]], 0.0)
    quantised_sizes, types = quantise(sizes, LENGTH).tolist(), tracks.type.tolist()
    found = []
    for row, name in enumerate(tracks.ids):
        there = poses[row] if always[row] else poses[row, valid[row]]
        found.append(
            {
                "id": name,
                "type": TRACK_NAMES[types[row]],
                "size": quantised_sizes[row],
                "steps": [[0, STEPS - 1]] if always[row] else _ranges(valid[row]),
                "poses": (there[:1] if still[row] else there).ravel().tolist(),
            }
        )
    return found


def describe_changed_tracks(
    second: Tracks, first: list[dict[str, Any]], frame: EgoFrame
) -> list[dict[str, Any] | None]:
    """Each track, or None if equal to the first set's track at the same index."""
    tracks = describe_tracks(second, frame)
    return [None if index < len(first) and one == first[index] else one for index, one in enumerate(tracks)]


def _ranges(flags: NDArray[np.bool_]) -> list[list[int]]:
    """First and last of each run of True."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], flags, [False]])))
    return [[int(first), int(end) - 1] for first, end in edges.reshape(-1, 2)]
