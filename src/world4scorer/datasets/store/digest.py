"""Checksum of a shard, over the values of its columns, so that the file itself can hold it."""

from __future__ import annotations

import hashlib

import numpy as np
import pyarrow as pa


def digest(batch: pa.RecordBatch, *notes: bytes) -> str:
    """Return a checksum of all values of the batch and the metadata: 32 hexadecimal digits."""
    state = hashlib.blake2b(digest_size=16)
    for note in notes:
        state.update(len(note).to_bytes(8, "little"))
        state.update(note)
    for name, column in zip(batch.schema.names, batch.columns, strict=True):
        state.update(name.encode())
        _add(state, column)
    return state.hexdigest()


def _add(state: hashlib.blake2b, array: pa.Array) -> None:
    state.update(str(array.type).encode())
    state.update(len(array).to_bytes(8, "little"))
    if array.null_count:
        state.update(np.packbits(array.is_valid().to_numpy(zero_copy_only=False)).tobytes())
    if pa.types.is_fixed_size_list(array.type):
        _add(state, array.flatten())
    elif pa.types.is_list(array.type):
        state.update(array.offsets.to_numpy())
        _add(state, array.values)
    elif pa.types.is_string(array.type) and len(array):
        _validity, offsets, data = array.buffers()
        ends = np.frombuffer(offsets, np.int32)[: len(array) + 1]
        state.update(ends.tobytes())
        if data is not None:
            state.update(memoryview(data)[: int(ends[-1])])
    elif len(array):
        state.update(array.to_numpy(zero_copy_only=True))
