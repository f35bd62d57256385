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
"""Bytes of a file hashed at a time, in a buffer that stays in the processor's cache. Files that are mapped anyway are
hashed where they are mapped (`check_content`), which saves copying them."""
DAMAGED_LIKENESS: Final = 12
"""Characters of the mark, of 18, that make bytes a damaged mark and not something else."""
MAKE_AGAIN: Final = "delete it and make it again"

Source = IO[bytes] | memoryview
"""A file open for reading, or its content."""

_DIGITS: Final = re.compile(rb"[0-9a-f]{%d}" % DIGITS)


class DamagedFile(ValueError):
    """The checksum of a file does not match its content."""


def seal(content: bytes) -> bytes:
    """The content with the digits of its mark filled in."""
    sealed = bytearray(content)
    for place, digits in _seals(memoryview(content)):
        sealed[place : place + DIGITS] = digits
    return bytes(sealed)


def seal_file(path: str | os.PathLike[str]) -> None:
    """Fill in the digits of the mark in a file that has not got its name yet."""
    with open(path, "r+b", buffering=0) as stream:
        for place, digits in _seals(stream):
            stream.seek(place)
            stream.write(digits)


def _seals(source: Source) -> list[tuple[int, bytes]]:
    """Where which digits must be filled in."""
    places = _marks(source).get(UNSEALED[len(MARK) :], [])
    assert places, "no mark within the first or last bytes of the file"
    digits = _digest(source, places)
    return [(place, digits) for place in places]


def is_intact(source: Source) -> bool | None:
    """Whether a file, open for reading, or its content matches its checksum; None if it has none."""
    marks = _marks(source)
    if not marks:
        return False if max(map(_likeness, _windows(source))) >= DAMAGED_LIKENESS else None
    return any(_digest(source, places) == digits for digits, places in marks.items())


def check_content(
    content: bytes | mmap.mmap | memoryview,
    path: str | os.PathLike[str],
    error: type[ValueError] = DamagedFile,
    remedy: str = MAKE_AGAIN,
) -> bool:
    """Raise an error that names the file and the remedy if the content is not what was written.

    Returns whether there was a checksum to compare.
    """
    with memoryview(content) as view:
        return _check(view, path, error, remedy)


def check_checksum(
    path: str | os.PathLike[str], error: type[ValueError] = DamagedFile, remedy: str = MAKE_AGAIN
) -> bool:
    """The same for a file, which is read once and not kept in memory."""
    with open(path, "rb", buffering=0) as stream:
        return _check(stream, path, error, remedy)


def _check(source: Source, path: str | os.PathLike[str], error: type[ValueError], remedy: str) -> bool:
    intact = is_intact(source)
    if intact is False:
        raise error(f"{path}: damaged or changed since it was written: its checksum does not match; {remedy}")
    return intact is True


def _marks(source: Source) -> dict[bytes, list[int]]:
    """Where digits of marks begin, by digits; a file may quote the mark of another."""
    found: dict[bytes, list[int]] = {}
    for start, window in _windows(source):
        mark = len(window)
        while (mark := window.rfind(MARK, 0, mark)) >= 0:  # several times as fast as `find` or a regular expression
            place = mark + len(MARK)
            if _DIGITS.match(window, place):
                found.setdefault(window[place : place + DIGITS], []).append(start + place)
    return found


def _windows(source: Source) -> list[tuple[int, bytes]]:
    """Both ends of a file, with their offsets; they do not overlap."""
    size = len(source) if isinstance(source, memoryview) else source.seek(0, os.SEEK_END)
    return [(begin, _window(source, begin)) for begin in (0, min(size, max(WINDOW, size - WINDOW)))]


def _window(source: Source, begin: int) -> bytes:
    if isinstance(source, memoryview):
        return bytes(source[begin : begin + WINDOW])
    source.seek(begin)
    return source.read(WINDOW)


def _digest(source: Source, places: list[int]) -> bytes:
    """The checksum of a file, with zeros in these places."""
    state, begin = xxhash.xxh3_64(), 0
    for part in _parts(source):
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


def _parts(source: Source) -> Iterator[memoryview]:
    """The bytes of a file: those in memory as they are, others in a buffer that is used again."""
    if isinstance(source, memoryview):
        yield source[:]
    else:
        buffer = bytearray(CHUNK)
        source.seek(0)
        while count := source.readinto(buffer):  # type: ignore[attr-defined]
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
