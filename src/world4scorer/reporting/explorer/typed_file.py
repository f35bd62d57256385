"""Typed arrays with a JSON header in one block of bytes, which a browser reads without copying.

    4 bytes   W4SA
    4 bytes   length of the header in bytes, little-endian
    header    JSON, padded with spaces so that the arrays begin at a multiple of 8
    arrays    little-endian, C order, each padded to a multiple of 8

The header's `arrays` gives type, shape and offset (from the first array) of each by name.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

MAGIC: Final = b"W4SA"
ALIGNMENT: Final = 8
TYPES: Final = ("uint8", "int16", "uint16", "int32", "uint32", "float32", "float64")


def pack(header: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> bytes:
    """Bytes of a header and its arrays."""
    described, parts, offset = {}, [], 0
    for name, array in arrays.items():
        if array.dtype.name not in TYPES:
            raise TypeError(f"{name}: {array.dtype}; one of {', '.join(TYPES)} is needed")
        content = np.ascontiguousarray(array, array.dtype.newbyteorder("<")).tobytes()
        described[name] = [array.dtype.name, list(array.shape), offset]
        parts.append(content + b"\0" * (-len(content) % ALIGNMENT))
        offset += len(parts[-1])
    words = json.dumps({**header, "arrays": described}, separators=(",", ":"), allow_nan=False).encode()
    words += b" " * (-(len(words) + 2 * len(MAGIC)) % ALIGNMENT)
    return b"".join([MAGIC, len(words).to_bytes(4, "little"), words, *parts])
