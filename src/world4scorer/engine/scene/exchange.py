"""The exchange file: scenes, plans and utilities in one `.npz` without pickled objects.

It imports data from sources other than NAVSIM; docs/exchange-format.md describes every field.
"""

from __future__ import annotations

import json
import os
import zipfile
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from world4scorer.engine.scene.checks import SceneError, as_array
from world4scorer.engine.scene.indices import Layer
from world4scorer.engine.scene.map import PolygonMap
from world4scorer.engine.scene.plan import as_plans
from world4scorer.engine.scene.scene import Scene
from world4scorer.engine.scene.tracks import Lights, Tracks
from world4scorer.jobs.array_files import open_archive
from world4scorer.jobs.files import atomic_write, load_json

GRID_STEPS: Final = 51
"""Time steps of one frame on the shared grid."""

_UNREADABLE: Final = (
    OSError,
    EOFError,
    ValueError,
    KeyError,
    RuntimeError,  # encrypted, or a compression that Python does not know
    zipfile.BadZipFile,
    zlib.error,
)
_NEEDED: Final = [
    "meta_json",
    "centerline_local",
    "poly_xy_local",
    "ring_offsets",
    "ring_poly",
    "agents_local",
    "agent_valid",
    "agent_type",
    "frame_k",
    "time_us",
    "ego_state",
    "pdm_poses",
    "candidates",
]
_OPTIONAL_PER_FRAME: Final = ["past_states", "past_time_us", "human_future", "utilities", "prev_plan_index"]
_OPTIONAL: Final = ["origin", "tl_status", *_OPTIONAL_PER_FRAME]
_PER_FRAME: Final = ["ego_state", "pdm_poses", "candidates", *_OPTIONAL_PER_FRAME]
_LISTS: Final = ["agent_ids", "poly_ids", "poly_layers", "route_lane_ids"]
_OPTIONAL_LISTS: Final = ["tl_connector_ids", "tokens"]


@dataclass(frozen=True, eq=False)
class Frame:
    """One decision of an exchange file."""

    scene: Scene
    """Scene of the decision."""
    plans: NDArray[np.float64]
    """(N, 8, 3) candidate plans: x forward [m], y left [m], heading [rad] in the ego frame, every 0.5 s."""
    utilities: NDArray[np.float64] | None = None
    """(N,) the planner's own score of each plan."""
    previous_plan: int | None = None
    """Index of the plan chosen in the previous frame, if given."""

    def __repr__(self) -> str:
        with_utilities = "" if self.utilities is None else " with utilities"
        return f"Frame({self.scene!r}, {len(self.plans)} plans{with_utilities})"


def read_exchange(path: str | os.PathLike[str]) -> list[Frame]:
    """Read every frame of an exchange file, in time order as written.

    Raises FileNotFoundError, or a SceneError that names the file, the field and the token.
    """
    path = Path(path)
    try:
        with open_archive(path) as archive:
            fields = {name: archive[name] for name in archive.files if name in {*_NEEDED, *_OPTIONAL}}
    except FileNotFoundError:
        raise FileNotFoundError(f"{path}: no such file") from None
    except _UNREADABLE as error:
        why = "damaged, or with pickled objects" if zipfile.is_zipfile(path) else "no .npz archive, or cut short"
        raise SceneError(f"{path}: not a readable exchange file: {why} ({error})") from error
    try:
        return _frames(fields, path.stem)
    except SceneError as error:
        raise SceneError(f"{path}: {error}") from error


def _frames(fields: Mapping[str, NDArray[Any]], stem: str) -> list[Frame]:
    missing = [name for name in _NEEDED if name not in fields]
    if missing:
        raise SceneError(f"field {missing[0]!r} is missing")
    meta = _read_meta(fields["meta_json"])
    origin = as_array("origin", fields.get("origin", np.zeros(2)), np.float64, (2,))
    polygons = _read_map(fields, meta, origin)
    centerline = as_array("centerline_local", fields["centerline_local"], np.float64, ("C", 3)).copy()
    centerline[:, :2] += origin
    agents = as_array("agents_local", fields["agents_local"], np.float64, ("N", "Tg", 7), finite=False).copy()
    agents[..., :2] += origin
    valid = as_array("agent_valid", fields["agent_valid"], np.bool_, agents.shape[:2])
    status = as_array("tl_status", fields.get("tl_status", np.zeros((0, agents.shape[1]))), np.int8, ("K", "Tg"))
    lights = _light_polygons(meta, polygons, len(status))
    times = as_array("time_us", fields["time_us"], np.int64, ("F",))
    count = len(times)
    if count == 0:
        raise SceneError("time_us: the file holds no frame")
    starts = as_array("frame_k", fields["frame_k"], np.int64, (count,))
    tokens = meta["tokens"] or [f"{stem}_f{frame:02d}" for frame in range(count)]
    if len(tokens) != count:
        raise SceneError(f"meta_json: {len(tokens)} tokens for {count} frames")
    for name in _PER_FRAME:
        if name in fields and fields[name].shape[:1] != (count,):
            raise SceneError(f"{name}: shape {fields[name].shape} does not begin with the {count} frames")
    previous = fields.get("prev_plan_index")
    if previous is not None:
        previous = as_array("prev_plan_index", previous, np.int64, (count,))

    frames = []
    for frame in range(count):
        start, end = int(starts[frame]), int(starts[frame]) + GRID_STEPS
        if start < 0 or end > agents.shape[1]:
            raise SceneError(f"frame_k: frame {frame} needs grid columns {start}..{end - 1} of {agents.shape[1]}")
        scene = Scene(
            token=str(tokens[frame]),
            log_name=str(meta.get("log_name", stem)),
            time_us=int(times[frame]),
            ego_state=fields["ego_state"][frame],
            centerline=centerline,
            map=polygons,
            route_lane_ids=tuple(meta["route_lane_ids"]),
            tracks=Tracks(tuple(meta["agent_ids"]), fields["agent_type"], agents[:, start:end], valid[:, start:end]),
            reference=fields["pdm_poses"][frame],
            lights=Lights(lights, status[:, start:end], _lights_on_route(meta)),
            past_states=_optional(fields, "past_states", frame),
            past_time_us=_optional(fields, "past_time_us", frame),
            human_future=_optional(fields, "human_future", frame),
        )
        plans = as_plans(fields["candidates"][frame], scene.token)
        utilities = _optional(fields, "utilities", frame)
        if utilities is not None:
            utilities = as_array(f"utilities of {scene.token}", utilities, np.float64, (len(plans),))
        frames.append(Frame(scene, plans, utilities, None if previous is None else int(previous[frame])))
    return frames


def _optional(fields: Mapping[str, NDArray[Any]], name: str, frame: int) -> Any:
    return fields[name][frame] if name in fields else None


def _read_meta(text: NDArray[Any]) -> dict[str, Any]:
    try:
        meta = load_json(str(text))
    except ValueError as error:
        raise SceneError(f"meta_json: not JSON: {error}") from error
    if not isinstance(meta, dict):
        raise SceneError("meta_json: expected a JSON object")
    for name in (*_LISTS, *_OPTIONAL_LISTS):
        values = meta.setdefault(name, []) if name in _OPTIONAL_LISTS else meta.get(name)
        if not isinstance(values, list) or not all(isinstance(value, str | int) for value in values):
            raise SceneError(f"meta_json: {name!r} must be a list of names")
        meta[name] = [str(value) for value in values]
    return meta


def _read_map(fields: Mapping[str, NDArray[Any]], meta: Mapping[str, Any], origin: NDArray[np.float64]) -> PolygonMap:
    unknown = [name for name in meta["poly_layers"] if name not in Layer.__members__]
    if unknown:
        raise SceneError(
            f"meta_json: unknown layer {unknown[0]!r} in 'poly_layers'; known: {', '.join(Layer.__members__)}"
        )
    if len(meta["poly_layers"]) != len(meta["poly_ids"]):
        raise SceneError(f"meta_json: {len(meta['poly_layers'])} poly_layers for {len(meta['poly_ids'])} poly_ids")
    return PolygonMap(
        ids=tuple(meta["poly_ids"]),
        layer=np.array([Layer[name] for name in meta["poly_layers"]], np.int8),
        vertices=as_array("poly_xy_local", fields["poly_xy_local"], np.float64, ("V", 2)) + origin,
        ring_offsets=fields["ring_offsets"],
        ring_polygon=fields["ring_poly"],
    )


def _light_polygons(meta: Mapping[str, Any], polygons: PolygonMap, count: int) -> NDArray[np.int64]:
    names = meta["tl_connector_ids"]
    if len(names) != count:
        raise SceneError(f"tl_status: {count} rows for {len(names)} tl_connector_ids")
    index = {name: index for index, name in enumerate(polygons.ids)}
    index |= {name: i for i, name in enumerate(polygons.ids) if polygons.layer[i] == Layer.LANE_CONNECTOR}
    return np.array([index.get(name, -1) for name in names], np.int64)


def _lights_on_route(meta: Mapping[str, Any]) -> NDArray[np.bool_]:
    route = set(meta["route_lane_ids"])
    return np.array([name in route for name in meta["tl_connector_ids"]], np.bool_)


def write_exchange(path: str | os.PathLike[str], frames: Sequence[Frame]) -> None:
    """Write frames of one log to an exchange file, without loss (float64, origin 0), atomically.

    The frames must share map, route, centreline and the number of plans; write one file per frame where they differ.
    """
    if not frames:
        raise SceneError(f"{path}: no frames to write")
    first = frames[0].scene
    for frame in frames:
        _check_writable(frame.scene)
        _check_same_world(first, frame.scene)
    if len({frame.plans.shape for frame in frames}) > 1:
        raise SceneError("plans: every frame of a file must have the same number of plans")
    fields = _shared_fields(first) | _track_fields(frames)
    lights = [frame.scene.lights for frame in frames]
    meta = {
        "log_name": first.log_name,
        "tokens": [frame.scene.token for frame in frames],
        "agent_ids": fields.pop("agent_ids").tolist(),
        "poly_ids": list(first.map.ids),
        "poly_layers": [Layer(code).name for code in first.map.layer],
        "route_lane_ids": list(first.route_lane_ids),
        "tl_connector_ids": [first.map.ids[p] for p in first.lights.polygon],
    }
    fields |= {
        "meta_json": np.array(json.dumps(meta)),
        "tl_status": np.concatenate([_to_grid(light.status, 0) for light in lights], axis=1).astype(np.uint8),
        "frame_k": np.arange(len(frames)) * GRID_STEPS,
        "time_us": np.array([frame.scene.time_us for frame in frames]),
        "ego_state": np.stack([frame.scene.ego_state for frame in frames]),
        "pdm_poses": _stack("reference", [frame.scene.reference for frame in frames]),
        "candidates": np.stack([frame.plans for frame in frames]),
    }
    optional: dict[str, list[Any]] = {
        "past_states": [frame.scene.past_states for frame in frames],
        "past_time_us": [frame.scene.past_time_us for frame in frames],
        "human_future": [frame.scene.human_future for frame in frames],
        "utilities": [frame.utilities for frame in frames],
        "prev_plan_index": [frame.previous_plan for frame in frames],
    }
    for name, values in optional.items():
        if all(value is not None for value in values):
            fields[name] = _stack(name, values)
        elif any(value is not None for value in values):
            raise SceneError(f"{name}: given for some frames only; a file holds it for all or none")
    with atomic_write(path) as stream:
        np.savez_compressed(stream, **fields)  # type: ignore[arg-type]


def _stack(name: str, values: Sequence[Any]) -> NDArray[Any]:
    shapes = {np.shape(value) for value in values}
    if len(shapes) > 1:
        raise SceneError(f"{name}: frames of one file must have it in one shape, found {sorted(shapes)}")
    return np.stack([np.asarray(value) for value in values])


def _check_same_world(first: Scene, other: Scene) -> None:
    def differs(a: NDArray[Any], b: NDArray[Any]) -> bool:
        return a is not b and not np.array_equal(a, b)

    a, b = first.map, other.map
    parts = ("layer", "vertices", "ring_offsets", "ring_polygon")
    if a is not b and (a.ids != b.ids or any(differs(getattr(a, part), getattr(b, part)) for part in parts)):
        raise SceneError(f"map: {first.token!r} and {other.token!r} have different maps; write one file per frame")
    if first.route_lane_ids != other.route_lane_ids or differs(first.centerline, other.centerline):
        raise SceneError(f"route: {first.token!r} and {other.token!r} have different routes; write one file per frame")
    if differs(first.lights.polygon, other.lights.polygon):
        raise SceneError(f"lights: {first.token!r} and {other.token!r} have different lights; write one file per frame")
    if first.log_name != other.log_name:
        raise SceneError(f"log_name: {first.token!r} and {other.token!r} come from different logs")


def _check_writable(scene: Scene) -> None:
    """Raise an error for scenes that the format cannot hold."""
    if scene.tracks_v2 is not None or scene.reference_v2 is not None:
        raise SceneError(f"scene {scene.token!r}: an exchange file cannot hold separate v2 tracks or reference")
    if scene.tracks.steps < GRID_STEPS:
        raise SceneError(f"scene {scene.token!r}: {scene.tracks.steps} steps of traffic; a file holds {GRID_STEPS}")
    route = set(scene.route_lane_ids)
    for polygon, on_route in zip(scene.lights.polygon, scene.lights.on_route, strict=True):
        if polygon < 0 or bool(on_route) != (scene.map.ids[polygon] in route):
            raise SceneError(
                f"scene {scene.token!r}: a light whose route does not follow its polygon's cannot be written"
            )


def _shared_fields(scene: Scene) -> dict[str, NDArray[Any]]:
    return {
        "origin": np.zeros(2),
        "centerline_local": scene.centerline,
        "poly_xy_local": scene.map.vertices,
        "ring_offsets": scene.map.ring_offsets,
        "ring_poly": scene.map.ring_polygon,
    }


def _to_grid(rows: NDArray[Any], fill: Any) -> NDArray[Any]:
    """Cut or fill axis 1 to the 51 columns of a frame."""
    out = np.full((rows.shape[0], GRID_STEPS, *rows.shape[2:]), fill, rows.dtype)
    width = min(rows.shape[1], GRID_STEPS)
    out[:, :width] = rows[:, :width]
    return out


def _track_fields(frames: Sequence[Frame]) -> dict[str, NDArray[Any]]:
    """The frames' tracks on one time grid; a track has one row in all frames."""
    types: dict[str, int] = {}
    for frame in frames:
        tracks = frame.scene.tracks
        for name, code in zip(tracks.ids, tracks.type, strict=True):
            if types.setdefault(name, int(code)) != code:
                raise SceneError(f"tracks.type: track {name!r} changes its type between frames of one file")
    row = {name: index for index, name in enumerate(types)}
    boxes = np.zeros((len(row), GRID_STEPS * len(frames), 7))
    valid = np.zeros(boxes.shape[:2], np.bool_)
    for number, frame in enumerate(frames):
        tracks = frame.scene.tracks
        rows = [row[name] for name in tracks.ids]
        columns = slice(number * GRID_STEPS, (number + 1) * GRID_STEPS)
        boxes[rows, columns] = _to_grid(tracks.boxes, 0.0)
        valid[rows, columns] = _to_grid(tracks.valid, False)
    boxes[~valid] = 0.0
    return {
        "agent_ids": np.array(list(row), dtype=np.str_),
        "agent_type": np.array(list(types.values()), np.int8),
        "agents_local": boxes,
        "agent_valid": valid,
    }
