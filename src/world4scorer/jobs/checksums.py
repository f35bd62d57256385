"""One checksum for every file that we write, inside the file, compared when the file is read.

A file holds the mark `xxh3-of-this-file:` with 16 hexadecimal digits: the XXH3 (64 bits) of its bytes with these digits
as zeros. Writers put `UNSEALED` where their format has room, and `seal` or `seal_file` fills in the digits before the
file gets its name, so that file and checksum cannot disagree. Where it lies:

| format      | place                                                           | helper                           |
|-------------|-----------------------------------------------------------------|----------------------------------|
| JSON        | the last field, `checksum`; in JSON Lines, of every line        | `files.write_json`, `read_json`  |
| Arrow       | the schema's metadata, which such a file holds twice            | `arrow_files`                    |
| NumPy       | behind the numbers                                              | `array_files`                    |
| safetensors | `checksum` in `__metadata__`                                    | `tensor_files`                   |
| checkpoint  | the comment of the ZIP archive                                  | `tensor_files`                   |

Files without a mark, of other programs or of earlier versions, are read without. ZIP archives of arrays (`.npz`) need
none: NumPy compares the CRC-32 that ZIP keeps of every array.
"""

from __future__ import annotations

import io
import mmap
import os
import re
from collections.abc import Iterator
from typing import IO, Final

import xxhash

MARK: Final = b"xxh3-of-this-file:"
DIGITS: Final = 16
UNSEALED: Final = MARK + b"0" * DIGITS
"""A mark whose digits are to be filled in."""
WINDOW: Final = 65_536
"""Bytes at either end of a file in which the mark lies: formats keep their metadata there."""
CHUNK: Final = 1 << 18
"""Bytes hashed at a time. Reading into a buffer that stays in the processor's cache is several times as fast as
hashing a mapped file, unless its pages are needed anyway and made at once (`array_files.map_array`)."""
DAMAGED_LIKENESS: Final = 12
"""Characters of the mark, of 18, that make bytes a damaged mark and not something else."""
MAKE_AGAIN: Final = "delete it and make it again"

Stream = IO[bytes] | mmap.mmap
"""A file, open for reading or mapped."""

_MARK: Final = re.compile(re.escape(MARK) + rb"([0-9a-f]{%d})" % DIGITS)


class DamagedFile(ValueError):
    """The checksum of a file does not match its content."""


def seal(content: bytes) -> bytes:
    """The content with the digits of its mark filled in."""
    stream = io.BytesIO(content)
    _seal(stream)
    return stream.getvalue()


def seal_file(path: str | os.PathLike[str]) -> None:
    """Fill in the digits of the mark in a file that has not got its name yet."""
    with open(path, "r+b", buffering=0) as stream:
        _seal(stream)


def _seal(stream: Stream) -> None:
    places = _marks(stream).get(UNSEALED[len(MARK) :], [])
    assert places, "no mark within the first or last bytes of the file"
    digits = _digest(stream, places)
    for place in places:
        stream.seek(place)
        stream.write(digits)


def is_intact(stream: Stream) -> bool | None:
    """Whether a file, open for reading, matches its checksum; None if it has none."""
    marks = _marks(stream)
    if not marks:
        return False if max(map(_likeness, _windows(stream))) >= DAMAGED_LIKENESS else None
    return any(_digest(stream, places) == digits for digits, places in marks.items())


def check_content(
    content: bytes | mmap.mmap,
    path: str | os.PathLike[str],
    error: type[ValueError] = DamagedFile,
    remedy: str = MAKE_AGAIN,
) -> bool:
    """Raise an error that names the file and the remedy if the content is not what was written.

    Returns whether there was a checksum to compare.
    """
    return _check(content if isinstance(content, mmap.mmap) else io.BytesIO(content), path, error, remedy)


def check_checksum(
    path: str | os.PathLike[str], error: type[ValueError] = DamagedFile, remedy: str = MAKE_AGAIN
) -> bool:
    """The same for a file, which is read once and not kept in memory."""
    with open(path, "rb", buffering=0) as stream:
        return _check(stream, path, error, remedy)


def _check(stream: Stream, path: str | os.PathLike[str], error: type[ValueError], remedy: str) -> bool:
    intact = is_intact(stream)
    if intact is False:
        raise error(f"{path}: damaged or changed since it was written: its checksum does not match; {remedy}")
    return intact is True


def _marks(stream: Stream) -> dict[bytes, list[int]]:
    """Where digits of marks begin, by digits; a file may quote the mark of another."""
    found: dict[bytes, list[int]] = {}
    for start, window in _windows(stream):
        for match in _MARK.finditer(window):
            found.setdefault(match[1], []).append(start + match.start(1))
    return found


def _windows(stream: Stream) -> list[tuple[int, bytes]]:
    """Both ends of a file, with their offsets; they do not overlap."""
    stream.seek(0, os.SEEK_END)
    size = stream.tell()
    found = []
    for begin in (0, min(size, max(WINDOW, size - WINDOW))):
        stream.seek(begin)
        found.append((begin, stream.read(WINDOW)))
    return found


def _digest(stream: Stream, places: list[int]) -> bytes:
    """The checksum of a file, with zeros in these places."""
    state, begin = xxhash.xxh3_64(), 0
    for part in _parts(stream):
        with part:
            end = begin + len(part)
            done = begin
            for place in sorted(places):
                first, last = max(place, done), min(place + DIGITS, end)
                if first < last:
                    state.update(part[done - begin : first - begin])
                    state.update(b"0" * (last - first))
                    done = last
            state.update(part[done - begin :])
            begin = end
    return state.hexdigest().encode()


def _parts(stream: Stream) -> Iterator[memoryview]:
    """The bytes of a file: those in memory as they are, others in a buffer that is used again."""
    if isinstance(stream, mmap.mmap):
        yield memoryview(stream)
    elif isinstance(stream, io.BytesIO):
        yield stream.getbuffer()
    else:
        buffer = bytearray(CHUNK)
        stream.seek(0)
        while count := stream.readinto(buffer):  # type: ignore[attr-defined]
            yield memoryview(buffer)[:count]


def _likeness(window: tuple[int, bytes]) -> int:
    """The most characters of the mark that agree anywhere in a window: many if it was a mark before it was damaged."""
    import numpy as np  # here, as only files without a mark come here and commands start faster without it

    numbers = np.frombuffer(window[1], np.uint8)
    count = len(numbers) - len(MARK) + 1
    if count < 1:
        return 0
    agreeing = np.zeros(count, np.int8)
    for offset, letter in enumerate(MARK):
        agreeing += numbers[offset : offset + count] == letter
    return int(agreeing.max())
