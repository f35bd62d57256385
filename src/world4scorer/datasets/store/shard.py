"""One log's Arrow file, memory-mapped: scenes by row.

Scenes come back without being checked again: what was written had been checked, and the checksum of the file, compared
when it is opened, tells whether it is still that. Files of 0.1.0 have none; theirs, of all values, is what
`Shard.verify` compares.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from world4scorer.datasets.store.boxes import unpack_boxes
from world4scorer.datasets.store.digest import digest
from world4scorer.datasets.store.lane_columns import LaneColumns
from world4scorer.datasets.store.polygons import PolygonColumns, gather
from world4scorer.datasets.store.schema import (
    META_CHECKSUM,
    META_LOG,
    META_PROVENANCE,
    META_SOURCES,
    META_VERSION,
    RAGGED,
    SCHEMA_VERSION,
    SCHEMAS,
    Ragged,
    StoreError,
)
from world4scorer.engine.scene.indices import STEPS
from world4scorer.engine.scene.lanes import Lanes
from world4scorer.engine.scene.map import PolygonMap
from world4scorer.engine.scene.scene import MAX_PAST_US, Scene
from world4scorer.engine.scene.tracks import Lights, Tracks
from world4scorer.jobs.arrow_files import check_mapped
from world4scorer.jobs.sources import Stamp

_Type = TypeVar("_Type")

PREPARE_AGAIN = "delete it and prepare the log again with `w4s prepare`"
CHECKED_METADATA = (META_VERSION, META_LOG, META_PROVENANCE)
"""Metadata under the checksum, in this order."""


INTEGER_COLUMNS = ("centerline_row", "track_steps", "track_v2_steps", "light_steps")
"""Columns with one integer per row."""


class RaggedColumn(NamedTuple):
    """A ragged column: row i is `values[offsets[i]:offsets[i + 1]]`, or null where `valid[i]` is False."""

    offsets: list[int]
    values: NDArray[Any]
    valid: NDArray[np.bool_] | None

    def view(self, row: int) -> NDArray[Any]:
        """Return a read-only view of a row."""
        return self.values[self.offsets[row] : self.offsets[row + 1]]

    def copy(self, row: int) -> NDArray[Any]:
        """Return a row as an ordinary array.

        What a scene holds is copied, since Numba would compile every kernel a second time for arrays that cannot be
        written to. What is large in a scene, boxes and vertices, is put together anew in any case.
        """
        return self.view(row).copy()


class Shard:
    """An open shard. Its file stays mapped, and only what a scene needs is read."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._batch = _open(path)
        self._metadata = _metadata(path, self._batch.schema)
        try:
            # Checks offsets and text, lest a bad one leads outside the file; numbers are not read.
            self._batch.validate(full=True)
            self.log_name = self._metadata[META_LOG].decode()
            self._read_columns(self._batch)
        except (pa.ArrowException, ValueError, IndexError) as error:
            raise StoreError(f"{path}: damaged: {error}; {PREPARE_AGAIN}") from error

    def _read_columns(self, batch: pa.RecordBatch) -> None:
        self.tokens: list[str] = batch.column("token").to_pylist()
        self.time_us: NDArray[np.int64] = batch.column("time_us").to_numpy()
        self._plain = {name: batch.column(name).to_numpy() for name in INTEGER_COLUMNS}
        if not ((self._plain["centerline_row"] >= 0) & (self._plain["centerline_row"] < len(self.tokens))).all():
            raise ValueError("a centreline is not in the file")
        self._extras = batch.column("extras")
        self._names: list[str] = batch.column("new_names").values.to_pylist()
        there = {name: column for name, column in RAGGED.items() if name in batch.schema.names}
        self._rows = {name: _rows(batch.column(name), column) for name, column in there.items()}
        pools = {name: self._rows[name].values for name in there if name.startswith("new_")}
        self._polygons = PolygonColumns.of(pools)
        self._lane_pool = LaneColumns.of(pools) if "lanes" in there else None

    def __len__(self) -> int:
        return len(self.tokens)

    @property
    def provenance(self) -> dict[str, Any]:
        """How the scenes were made."""
        return json.loads(self._metadata[META_PROVENANCE])  # type: ignore[no-any-return]

    @property
    def sources(self) -> dict[str, Stamp]:
        """Stamps of the files that the scenes were made from, by name; none in files of 0.1.0."""
        return json.loads(self._metadata.get(META_SOURCES, b"{}"))  # type: ignore[no-any-return]

    def extras(self, row: int) -> dict[str, Any]:
        """Return the extra values stored with the scene of a row."""
        return json.loads(self._extras[row].as_py())  # type: ignore[no-any-return]

    @property
    def version(self) -> int:
        """Version of the file's schema."""
        return int(self._metadata[META_VERSION])

    @property
    def checksum(self) -> str:
        """Checksum of the scenes."""
        return self._metadata[META_CHECKSUM].decode()

    def verify(self) -> None:
        """Read everything and raise a StoreError if the checksum does not match."""
        try:
            self._batch.validate(full=True)
            found = digest(self._batch, *(self._metadata[name] for name in CHECKED_METADATA))
        except (pa.ArrowException, ValueError, IndexError, UnicodeDecodeError) as error:
            raise StoreError(f"{self.path}: damaged: {error}; {PREPARE_AGAIN}") from error
        if found.encode() != self._metadata[META_CHECKSUM]:
            raise StoreError(f"{self.path}: damaged: the checksum does not match; {PREPARE_AGAIN}")

    def scene(self, row: int) -> Scene:
        """Return the scene of a row."""
        try:
            return self._scene(row)
        except (ValueError, IndexError) as error:
            raise StoreError(
                f"{self.path}: scene {self.tokens[row]!r} cannot be read: {error}; "
                "delete the file and prepare the log again"
            ) from error

    @staticmethod
    def _check_lights_and_past(scene: Scene) -> None:
        """Check values that kernels rely on; others are checked by `verify`."""
        lights = scene.lights.polygon
        if len(lights) and (lights.min() < -1 or lights.max() >= len(scene.map.ids)):
            raise ValueError("a light's polygon is not in its map")
        times = scene.past_time_us
        if times is not None and not (np.diff(times) > 0).all():
            raise ValueError("the time stamps of the past do not rise")
        if times is not None and times[-1] - times[0] > MAX_PAST_US:
            raise ValueError("the past is longer than a minute")
        if min(scene.tracks.steps, len(scene.reference)) < STEPS:
            raise ValueError("tracks or reference are too short")

    def _scene(self, row: int) -> Scene:
        rows = self._rows
        polygons = self._map(row)
        route = rows["route_lanes"].view(row)
        tracks = self._tracks(row)
        lights = rows["light_polygon"].copy(row)
        scene = _trusted(
            Scene,
            token=self.tokens[row],
            log_name=self.log_name,
            time_us=int(self.time_us[row]),
            ego_state=rows["ego_state"].copy(row),
            centerline=rows["centerline"].copy(int(self._plain["centerline_row"][row])),
            map=polygons,
            route_lane_ids=self._named(route),
            tracks=tracks,
            reference=rows["reference"].copy(row),
            lights=_trusted(
                Lights,
                polygon=lights,
                status=rows["light_status"].copy(row).reshape(len(lights), int(self._plain["light_steps"][row])),
                on_route=rows["light_on_route"].copy(row).view(np.bool_),
            ),
            past_states=self._optional("past_states", row),
            past_time_us=self._optional("past_time_us", row),
            human_future=self._optional("human_future", row),
            tracks_v2=self._tracks_v2(row, tracks),
            reference_v2=self._optional("reference_v2", row),
            lanes=self._lanes(row),
        )
        self._check_lights_and_past(scene)
        # By index instead of text: a lane is on the route if the index of its name is among the route's.
        named = np.zeros(len(self._names), np.bool_)
        named[route] = True
        indices = rows["polygons"].view(row)
        scene.__dict__["on_route"] = named[self._polygons.name[indices]] & self._polygons.lane[indices]
        return scene

    def _named(self, indices: NDArray[np.int32]) -> tuple[str, ...]:
        return tuple(map(self._names.__getitem__, indices.tolist()))

    def _optional(self, name: str, row: int) -> NDArray[Any] | None:
        """A copy of a row, or None where it is null or the file is too old to have the column."""
        column = self._rows.get(name)
        return None if column is None or (column.valid is not None and not column.valid[row]) else column.copy(row)

    def _lanes(self, row: int) -> Lanes | None:
        lanes = self._optional("lanes", row)
        if lanes is None or self._lane_pool is None:
            return None
        return _trusted(Lanes, ids=self._named(self._lane_pool.name[lanes]), **self._lane_pool.gather(lanes))

    def _map(self, row: int) -> PolygonMap:
        polygons = self._rows["polygons"].view(row)
        layer, vertices, ring_offsets, ring_polygon = gather(self._polygons, polygons)
        return _trusted(
            PolygonMap,
            ids=self._named(self._polygons.name[polygons]),
            layer=layer,
            vertices=vertices,
            ring_offsets=ring_offsets,
            ring_polygon=ring_polygon,
            bounds=self._polygons.bounds[polygons],  # a cached property, known here
        )

    def _tracks(self, row: int) -> Tracks:
        alone = np.full(len(self._rows["track_names"].view(row)), -1, np.int32)
        alone.flags.writeable = False  # as the references of `tracks_v2`, so that one compiled kernel does for both
        return self._unpacked("track", row, alone, np.zeros((0, 0, 0)))

    def _tracks_v2(self, row: int, tracks: Tracks) -> Tracks | None:
        if self._optional("track_v2_names", row) is None:
            return None
        return self._unpacked("track_v2", row, self._rows["track_v2_alias"].view(row), tracks.boxes)

    def _unpacked(self, prefix: str, row: int, alias: NDArray[np.int32], shared: NDArray[np.float64]) -> Tracks:
        names, types, valid, size, boxes = (
            self._rows[f"{prefix}_{part}"] for part in ("names", "type", "valid", "size", "rows")
        )
        ids = self._named(names.view(row))
        there = valid.copy(row).view(np.bool_).reshape(len(ids), int(self._plain[f"{prefix}_steps"][row]))
        unpacked = unpack_boxes(boxes.view(row), size.view(row), there, alias, shared)
        current = self._optional(f"{prefix}_current", row)
        if current is not None:
            current = current.view(np.bool_)
            if len(current) != len(ids):
                raise ValueError("the tracks of the current frame do not fit the others")
        return _trusted(Tracks, ids=ids, type=types.copy(row), boxes=unpacked, valid=there, current=current)


def _trusted(kind: type[_Type], **fields: Any) -> _Type:
    """Make a frozen dataclass without checking its fields again."""
    made = object.__new__(kind)
    made.__dict__.update(fields)
    return made


def _open(path: Path) -> pa.RecordBatch:
    try:
        # Closing releases the file descriptor; the mapping lives as long as its arrays.
        with pa.memory_map(str(path)) as source:
            check_mapped(source, path, StoreError, PREPARE_AGAIN)
            reader = pa.ipc.open_file(source)
            version = _check_version(path, reader.schema)
            if reader.num_record_batches != 1:
                raise StoreError(f"{path}: {reader.num_record_batches} record batches; not a shard of a scene store")
            batch = reader.get_batch(0)
    except FileNotFoundError:
        raise StoreError(f"{path}: no such shard") from None
    except (pa.ArrowException, OSError) as error:
        raise StoreError(
            f"{path}: not a readable shard (cut short, damaged or another kind of file): {error}; {PREPARE_AGAIN}"
        ) from error
    if not batch.schema.equals(SCHEMAS[version]):
        raise StoreError(f"{path}: its columns are not those of a scene shard; {PREPARE_AGAIN}")
    return batch


def _check_version(path: Path, schema: pa.Schema) -> int:
    """Return the version of a shard's schema."""
    found = (schema.metadata or {}).get(META_VERSION)
    if found is None:
        raise StoreError(f"{path}: an Arrow file, but not a shard of a scene store; move it out of the folder")
    if found not in {str(version).encode() for version in SCHEMAS}:
        raise StoreError(
            f"{path}: written with schema version {found.decode(errors='replace')}, this world4scorer reads versions "
            f"up to {SCHEMA_VERSION}; prepare the store again or use the release that wrote it"
        )
    return int(found)


def _metadata(path: Path, schema: pa.Schema) -> dict[bytes, bytes]:
    metadata = dict(schema.metadata or {})
    missing = [name.decode() for name in (*CHECKED_METADATA, META_CHECKSUM) if name not in metadata]
    if missing:
        raise StoreError(f"{path}: {missing[0]} is missing from its metadata; {PREPARE_AGAIN}")
    return metadata


def _rows(array: pa.ListArray, column: Ragged) -> RaggedColumn:
    values = array.values
    if column.width > 1:
        values = values.flatten()
    flat = values.to_numpy(zero_copy_only=True)
    if column.width > 1:
        flat = flat.reshape(-1, column.width)
    valid = array.is_valid().to_numpy(zero_copy_only=False) if array.null_count else None
    return RaggedColumn(array.offsets.to_numpy().tolist(), flat, valid)
