"""Index of tokens by shard: a small file that avoids opening all shards.

The shards are the truth. The index remembers size and time of each shard file; a shard that it does not know, or knows
differently, is opened and read again, so an index that is missing or old costs time and nothing else.
"""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pyarrow as pa

from world4scorer.datasets.store.digest import digest
from world4scorer.datasets.store.schema import StoreError
from world4scorer.datasets.store.shard import Shard
from world4scorer.datasets.store.shard_writer import SUFFIX, shard_path
from world4scorer.jobs.files import atomic_write

INDEX_NAME: Final = "index"
INDEX_VERSION: Final = b"index of schema 2"
INDEX_CHECKSUM: Final = b"world4scorer.checksum"
_SCHEMA: Final = pa.schema(
    [
        pa.field("log_name", pa.string()),
        pa.field("bytes", pa.int64()),
        pa.field("changed_ns", pa.int64()),
        pa.field("checksum", pa.string()),
        pa.field("tokens", pa.list_(pa.string())),
        pa.field("time_us", pa.list_(pa.int64())),
    ]
)


@dataclass(frozen=True)
class ShardEntry:
    """Index entry of one shard."""

    log_name: str
    bytes: int
    changed_ns: int
    checksum: str
    """Of the scenes."""
    tokens: list[str]
    """In time order."""
    time_us: list[int]


def read_entries(folder: Path) -> list[ShardEntry]:
    """Return the entries of all shards in the folder, by log name, and update the index file."""
    known = {entry.log_name: entry for entry in _read(folder / INDEX_NAME)}
    entries = []
    stale = False
    for log_name, size, changed_ns in _list(folder):
        entry = known.pop(log_name, None)
        if entry is None or (entry.bytes, entry.changed_ns) != (size, changed_ns):
            entry = _look(shard_path(folder, log_name), log_name, size, changed_ns)
            stale = True
        entries.append(entry)
    if stale or known:
        _write(folder / INDEX_NAME, entries)
    return entries


def shard_names(folder: Path) -> list[str]:
    """Return the names of the logs that have a shard."""
    return [name for name, _, _ in _list(folder)]


def _list(folder: Path) -> list[tuple[str, int, int]]:
    found = []
    with os.scandir(folder) as items:
        for item in items:
            # A leading dot marks a temporary file.
            if item.name.endswith(SUFFIX) and not item.name.startswith("."):
                status = item.stat()
                found.append((item.name.removesuffix(SUFFIX), status.st_size, status.st_mtime_ns))
    return sorted(found)


def _look(path: Path, log_name: str, size: int, changed_ns: int) -> ShardEntry:
    shard = Shard(path)
    if shard.log_name != log_name:
        raise StoreError(f"{path}: holds log {shard.log_name!r}; rename it to {shard.log_name}{SUFFIX}")
    return ShardEntry(log_name, size, changed_ns, shard.checksum, shard.tokens, shard.time_us.tolist())


def _read(path: Path) -> list[ShardEntry]:
    """Return the entries of the index file; none if it is missing or invalid."""
    try:
        with pa.memory_map(str(path)) as source:
            batch = pa.ipc.open_file(source).get_batch(0)
            batch.validate(full=True)
        notes = batch.schema.metadata or {}
        if not batch.schema.equals(_SCHEMA) or notes.get(INDEX_CHECKSUM) != digest(batch, INDEX_VERSION).encode():
            return []
    except (pa.ArrowException, OSError, ValueError):  # ValueError: buffers whose size does not fit their type
        return []
    columns: list[list[Any]] = [column.to_pylist() for column in batch.columns]
    return [ShardEntry(*row) for row in zip(*columns, strict=True)]


def _write(path: Path, entries: list[ShardEntry]) -> None:
    columns = [
        pa.array([getattr(entry, name) for entry in entries], _SCHEMA.field(name).type) for name in _SCHEMA.names
    ]
    batch = pa.RecordBatch.from_arrays(columns, schema=_SCHEMA)
    schema = _SCHEMA.with_metadata({INDEX_CHECKSUM: digest(batch, INDEX_VERSION).encode()})
    # A store on a full or read-only disk works without an index.
    with suppress(OSError), atomic_write(path) as stream, pa.ipc.new_file(stream, schema) as writer:
        writer.write_batch(batch)
