"""Typed arrays of the explorer's files, read as docs/frames.md describes them."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

import numpy as np


class TypedArrays(NamedTuple):
    header: dict[str, Any]
    arrays: dict[str, np.ndarray]

    def rows(self, name: str, frame: int) -> np.ndarray:
        """Rows of a frame in a column whose frames have different numbers of rows."""
        ends = self.arrays[f"{name}_ends"]
        return self.arrays[name][0 if frame == 0 else ends[frame - 1] : ends[frame]]


def read_typed(content: bytes) -> TypedArrays:
    assert content[:4] == b"W4SA"
    start = 8 + int.from_bytes(content[4:8], "little")
    assert start % 8 == 0
    header = json.loads(content[8:start])
    arrays = {}
    for name, (kind, shape, offset) in header["arrays"].items():
        assert offset % 8 == 0
        count = int(np.prod(shape))
        arrays[name] = np.frombuffer(content, np.dtype(kind), count, start + offset).reshape(shape)
    return TypedArrays(header, arrays)


def poses(start: np.ndarray, steps: np.ndarray) -> np.ndarray:
    """(K, T, 3) in metres and radians, from starts (K, 3) and second differences (K, T - 1, 3)."""
    ways = steps.astype(np.int64).cumsum(1)
    whole = np.concatenate([start[:, None], start[:, None] + ways.cumsum(1)], axis=1)
    return whole * [0.01, 0.01, 0.001]
