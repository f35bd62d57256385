"""Write the scenes of one log to an Arrow file."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from world4scorer import __version__
from world4scorer.datasets.store.boxes import find_aliases, pack_boxes
from world4scorer.datasets.store.digest import digest
from world4scorer.datasets.store.schema import (
    META_CHECKSUM,
    META_LOG,
    META_PROVENANCE,
    META_SOURCES,
    META_VERSION,
    RAGGED,
    SCHEMA,
    SCHEMA_VERSION,
    Ragged,
    StoreError,
)
from world4scorer.datasets.store.shared_tables import LaneTable, NameTable, PolygonTable
from world4scorer.engine.scene.scene import Scene
from world4scorer.engine.scene.tracks import Tracks
from world4scorer.jobs.arrow_files import write_arrow
from world4scorer.jobs.names import safe_name
from world4scorer.jobs.sources import Stamp

SUFFIX = ".arrow"


@dataclass(frozen=True, eq=False)
class PreparedScene:
    """A scene and extra values to store with it."""

    scene: Scene
    extras: Mapping[str, Any] = field(default_factory=dict)
    """JSON values by name."""


@dataclass(frozen=True)
class ShardInfo:
    """A written shard."""

    log_name: str
    scenes: int
    bytes: int


def shard_path(folder: str | os.PathLike[str], log_name: str) -> Path:
    """Return the path of a log's shard in a store."""
    return Path(folder) / f"{safe_name(f'{folder}: log name', log_name, StoreError)}{SUFFIX}"


def write_shard(
    folder: str | os.PathLike[str],
    log_name: str,
    scenes: Iterable[Scene | PreparedScene],
    provenance: Mapping[str, Any] | None = None,
    sources: Mapping[str, Stamp] | None = None,
) -> ShardInfo:
    """Write the scenes of one log, sorted by time, atomically; an existing shard is replaced.

    `provenance` (plain values) says how the scenes were made; versions are added. `sources` are the stamps of the files
    that they were made from; the checksum of the scenes does not depend on them.
    """
    path = shard_path(folder, log_name)
    prepared = [item if isinstance(item, PreparedScene) else PreparedScene(item) for item in scenes]
    prepared.sort(key=lambda item: item.scene.time_us)
    _check(path, log_name, prepared)
    columns = _Columns()
    for item in prepared:
        columns.add(item)
    batch = columns.batch()
    notes = {
        META_VERSION: str(SCHEMA_VERSION).encode(),
        META_LOG: log_name.encode(),
        META_PROVENANCE: json.dumps(_versions() | dict(provenance or {}), sort_keys=True).encode(),
    }
    notes[META_CHECKSUM] = digest(batch, *notes.values()).encode()
    notes[META_SOURCES] = json.dumps(dict(sources or {}), sort_keys=True).encode()
    with write_arrow(path, batch.schema.with_metadata(notes)) as writer:
        writer.write_batch(batch)
    return ShardInfo(log_name, len(prepared), path.stat().st_size)


def _check(path: Path, log_name: str, prepared: list[PreparedScene]) -> None:
    if not prepared:
        raise StoreError(f"{path}: no scenes to write")
    seen: set[str] = set()
    for item in prepared:
        scene = item.scene
        if scene.log_name != log_name:
            raise StoreError(f"{path}: scene {scene.token!r} belongs to log {scene.log_name!r}")
        if scene.token in seen:
            raise StoreError(f"{path}: token {scene.token!r} occurs twice")
        seen.add(scene.token)


def _versions() -> dict[str, Any]:
    return {"world4scorer": __version__, "numpy": np.__version__, "python": platform.python_version()}


class _Columns:
    """Collects scenes column by column."""

    def __init__(self) -> None:
        self.plain: dict[str, list[Any]] = {
            name: [] for name in SCHEMA.names if name not in RAGGED and name != "new_names"
        }
        self.ragged: dict[str, list[NDArray[Any] | None]] = {name: [] for name in RAGGED}
        self.new_names: list[list[str]] = []
        self.names = NameTable()
        self.polygons = PolygonTable(self.names)
        self.lanes = LaneTable(self.names)
        self.lines: dict[bytes, int] = {}

    def add(self, item: PreparedScene) -> None:
        scene = item.scene
        row = len(self.new_names)
        line_row = self.lines.setdefault(scene.centerline.tobytes(), row)
        plain = {
            "token": scene.token,
            "time_us": scene.time_us,
            "centerline_row": line_row,
            "track_steps": scene.tracks.steps,
            "track_v2_steps": 0 if scene.tracks_v2 is None else scene.tracks_v2.steps,
            "light_steps": scene.lights.status.shape[1],
            "extras": _as_json(scene.token, item.extras),
        }
        ragged: dict[str, NDArray[Any] | None] = {
            "ego_state": scene.ego_state,
            "centerline": scene.centerline if line_row == row else scene.centerline[:0],
            "route_lanes": self.names.indices(scene.route_lane_ids),
            "polygons": self.polygons.indices(scene.map),
            "reference": scene.reference,
            "reference_v2": scene.reference_v2,
            "light_polygon": scene.lights.polygon,
            "light_status": scene.lights.status,
            "light_on_route": scene.lights.on_route,
            "past_states": scene.past_states,
            "past_time_us": scene.past_time_us,
            "human_future": scene.human_future,
            **self._tracks("track", scene.tracks, scene.tracks.valid),
            **self._tracks_v2(scene),
            "lanes": self.lanes.indices(scene.lanes),
            **self.polygons.take_new(),
            **self.lanes.take_new(),
        }
        for name, value in plain.items():
            self.plain[name].append(value)
        for name, array in ragged.items():
            self.ragged[name].append(array)
        self.new_names.append(self.names.take_new())

    def _tracks(self, prefix: str, tracks: Tracks, kept: NDArray[np.bool_]) -> dict[str, NDArray[Any] | None]:
        packed = pack_boxes(tracks.boxes, kept)
        return {
            f"{prefix}_names": self.names.indices(tracks.ids),
            f"{prefix}_type": tracks.type,
            f"{prefix}_valid": tracks.valid,
            f"{prefix}_current": tracks.current,
            f"{prefix}_size": packed.size,
            f"{prefix}_rows": packed.rows,
        }

    def _tracks_v2(self, scene: Scene) -> dict[str, NDArray[Any] | None]:
        tracks = scene.tracks_v2
        if tracks is None:
            return dict.fromkeys(name for name in RAGGED if name.startswith("track_v2_"))
        alias = find_aliases(scene.tracks, tracks)
        return {**self._tracks("track_v2", tracks, tracks.valid & (alias < 0)[:, None]), "track_v2_alias": alias}

    def batch(self) -> pa.RecordBatch:
        """Return the record batch of all scenes."""
        arrays: list[pa.Array] = []
        for field_ in SCHEMA:
            if field_.name in RAGGED:
                arrays.append(_list_array(RAGGED[field_.name], self.ragged[field_.name]))
            elif field_.name == "new_names":
                arrays.append(pa.array(self.new_names, field_.type))
            else:
                arrays.append(pa.array(self.plain[field_.name], field_.type))
        return pa.RecordBatch.from_arrays(arrays, schema=SCHEMA)


def _list_array(column: Ragged, rows: list[NDArray[Any] | None]) -> pa.Array:
    flat = [
        np.zeros(0, column.dtype) if row is None else row.astype(column.dtype, copy=False).reshape(-1) for row in rows
    ]
    offsets = np.zeros(len(rows) + 1, np.int64)
    np.cumsum([row.size // column.width for row in flat], out=offsets[1:])
    if offsets[-1] >= 2**31:
        raise StoreError(f"{offsets[-1]} values in one column of one log; split the log")
    values = pa.array(np.concatenate(flat))
    if column.width > 1:
        values = pa.FixedSizeListArray.from_arrays(values, column.width)
    missing = np.array([row is None for row in rows])
    mask = pa.array(missing) if missing.any() else None
    return pa.ListArray.from_arrays(pa.array(offsets.astype(np.int32)), values, column.arrow, mask=mask)


def _as_json(token: str, extras: Mapping[str, Any]) -> str:
    try:
        return json.dumps(dict(extras))
    except (TypeError, ValueError) as error:
        raise StoreError(f"extras of {token!r}: only what JSON can hold is kept: {error}") from error
