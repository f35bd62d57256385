"""NumPy files: written whole or not at all with a checksum, mapped after comparing it; archives of arrays."""

from __future__ import annotations

import math
import mmap
import os
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from tokenize import TokenError
from typing import IO, Any, Final

import numpy as np
from numpy.typing import DTypeLike, NDArray

from world4scorer.jobs.checksums import MAKE_AGAIN, UNSEALED, check_content
from world4scorer.jobs.files import atomic_write

MAX_UNPACKED: Final = 2**30
"""Bytes that an archive may unpack to, however small it is."""
MAX_EXPANSION: Final = 100
"""How many times its size a larger one may unpack to."""


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


@contextmanager
def open_archive(path: str | os.PathLike[str]) -> Iterator[Any]:
    """The arrays of an `.npz` file by name, without pickled objects; ZIP's checksums are compared as they are read.

    What they declare is compared with what the file holds before memory is taken: a ValueError for an array larger than
    its entry, and for a file that unpacks to more than `MAX_UNPACKED` bytes and `MAX_EXPANSION` times its size.
    """
    os.stat(path)  # a missing file is an OSError of its own
    if not zipfile.is_zipfile(path):
        raise ValueError("no .npz archive, or cut short")
    try:
        _check_sizes(path)
        with np.load(path, allow_pickle=False) as arrays:
            yield arrays
    except (EOFError, RuntimeError, struct.error, zipfile.BadZipFile, zlib.error) as error:
        raise ValueError(f"damaged .npz archive ({error})") from error  # RuntimeError: said to be encrypted


def _check_sizes(path: str | os.PathLike[str]) -> None:
    with zipfile.ZipFile(path) as archive:
        entries = archive.infolist()
        whole = sum(entry.file_size for entry in entries)
        if whole > max(MAX_UNPACKED, MAX_EXPANSION * os.path.getsize(path)):
            raise ValueError(f"it unpacks to {whole:,} bytes, which is more than any file of its size should")
        for entry in entries:
            with archive.open(entry) as member:
                _check_header(member, entry)


def _check_header(member: IO[bytes], entry: zipfile.ZipInfo) -> None:
    shape, _, dtype = _read_header(member)
    size = math.prod(shape) * dtype.itemsize
    if size > (there := entry.file_size - member.tell()):
        raise ValueError(f"{entry.filename}: an array of {size:,} bytes in {there:,}")


def _read_header(stream: IO[bytes]) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    """Shape, whether columns come first, and type of an array; the stream is then at its numbers."""
    version = np.lib.format.read_magic(stream)
    read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    try:
        return read(stream)
    except (SyntaxError, TokenError) as error:  # NumPy takes what is no literal for one of Python 2
        raise ValueError(f"no header of an array ({error})") from error


def _mapped(stream: IO[bytes]) -> mmap.mmap:
    """A file in memory. All pages at once, where the system can: the checksum needs them, and whoever reads later."""
    if not hasattr(mmap, "MAP_POPULATE"):
        return mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ)
    return mmap.mmap(stream.fileno(), 0, flags=mmap.MAP_SHARED | mmap.MAP_POPULATE, prot=mmap.PROT_READ)


def map_array(
    path: str | os.PathLike[str], error: type[ValueError] = ValueError, remedy: str = MAKE_AGAIN
) -> NDArray[Any]:
    """Map an array; a file that is damaged or no array raises `error`, a missing one FileNotFoundError."""
    try:
        with open(path, "rb") as stream:
            content = _mapped(stream)
            has_checksum = check_content(content, path, error, remedy)
            shape, fortran, dtype = _read_header(stream)
            offset = stream.tell()
    except FileNotFoundError:
        raise
    except (ValueError, EOFError, OSError) as cause:
        if isinstance(cause, error) and str(path) in str(cause):
            raise
        raise error(f"{path}: cannot be read as an array ({cause}); {remedy}") from cause
    size = offset + math.prod(shape) * dtype.itemsize + (len(UNSEALED) if has_checksum else 0)
    if dtype.hasobject or len(content) != size:
        why = "it holds pickled objects" if dtype.hasobject else f"{len(content):,} bytes instead of {size:,}"
        raise error(f"{path}: cannot be read as an array ({why}); {remedy}")
    if not math.prod(shape):
        return np.empty(shape, dtype)
    array: NDArray[Any] = np.frombuffer(content, dtype, math.prod(shape), offset)
    return array.reshape(shape, order="F" if fortran else "C")
