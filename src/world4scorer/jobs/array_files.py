"""NumPy files: written whole or not at all with a checksum, mapped after comparing it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from world4scorer.jobs.checksums import MAKE_AGAIN, UNSEALED, check_checksum
from world4scorer.jobs.files import atomic_write


@contextmanager
def write_array(
    path: str | os.PathLike[str], dtype: DTypeLike, shape: Sequence[int], durable: bool = True
) -> Iterator[Callable[[NDArray[Any]], Any]]:
    """A function that appends rows to a new array of this shape; the file appears whole, at the end."""
    kind = np.dtype(dtype)
    with atomic_write(path, durable, checksum=True) as stream:
        header = {"descr": kind.str, "fortran_order": False, "shape": tuple(shape)}
        np.lib.format.write_array_header_1_0(stream, header)
        yield lambda rows: stream.write(np.ascontiguousarray(rows, kind).tobytes())
        stream.write(UNSEALED)  # readers of NumPy files take no notice of what follows the numbers


def map_array(
    path: str | os.PathLike[str], error: type[ValueError] = ValueError, remedy: str = MAKE_AGAIN
) -> NDArray[Any]:
    """Map an array; a file that is damaged or no array raises `error`, a missing one FileNotFoundError."""
    has_checksum = check_checksum(path, error, remedy)
    try:
        mapped = np.load(path, mmap_mode="r", allow_pickle=False)
    except (ValueError, EOFError, OSError) as cause:
        raise error(f"{path}: cannot be read as an array ({cause}); {remedy}") from cause
    size = mapped.offset + mapped.nbytes + (len(UNSEALED) if has_checksum else 0)
    if os.path.getsize(path) != size:
        raise error(f"{path}: damaged: {os.path.getsize(path)} bytes instead of {size}; {remedy}")
    return np.asarray(mapped)  # plain arrays are indexed several times faster than memmaps
