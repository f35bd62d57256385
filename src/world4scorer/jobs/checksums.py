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
from typing import IO, Final

import xxhash

MARK: Final = b"xxh3-of-this-file:"
DIGITS: Final = 16
UNSEALED: Final = MARK + b"0" * DIGITS
"""A mark whose digits are to be filled in."""
WINDOW: Final = 16_384
"""Bytes at either end of a file in which the mark lies: formats keep their metadata there."""
DAMAGED_LIKENESS: Final = 12
"""Characters of the mark, of 18, that make bytes a damaged mark and not something else."""
MAKE_AGAIN: Final = "delete it and make it again"

_MARK: Final = re.compile(re.escape(MARK) + rb"([0-9a-f]{%d})" % DIGITS)

Buffer = bytes | bytearray | memoryview | mmap.mmap


class DamagedFile(ValueError):
    """The checksum of a file does not match its content."""


def seal(content: bytes) -> bytes:
    """The content with the digits of its mark filled in."""
    places = _unsealed_places(content)
    digits = _digest(content, places)
    filled = bytearray(content)
    for place in places:
        filled[place : place + DIGITS] = digits
    return bytes(filled)


def seal_file(path: str | os.PathLike[str]) -> None:
    """Fill in the digits of the mark in a file that has not got its name yet."""
    with open(path, "r+b") as stream, mmap.mmap(stream.fileno(), 0) as content:
        places = _unsealed_places(content)
        digits = _digest(content, places)
        for place in places:
            content[place : place + DIGITS] = digits


def is_intact(content: Buffer) -> bool | None:
    """Whether the content matches its checksum; None if it has none."""
    marks = _marks(content)
    if not marks:
        return False if max(map(_likeness, _windows(content))) >= DAMAGED_LIKENESS else None
    return any(_digest(content, places) == digits for digits, places in marks.items())


def check_content(
    content: Buffer,
    path: str | os.PathLike[str],
    error: type[ValueError] = DamagedFile,
    remedy: str = MAKE_AGAIN,
) -> bool:
    """Raise an error that names the file and the remedy if the content is not what was written.

    Returns whether there was a checksum to compare.
    """
    intact = is_intact(content)
    if intact is False:
        raise error(f"{path}: damaged or changed since it was written: its checksum does not match; {remedy}")
    return intact is True


def check_checksum(
    path: str | os.PathLike[str], error: type[ValueError] = DamagedFile, remedy: str = MAKE_AGAIN
) -> bool:
    """The same for a file, which is mapped and not copied."""
    if not os.path.getsize(path):
        return False
    with open(path, "rb") as stream, _mapped(stream) as content:
        return check_content(content, path, error, remedy)


def _mapped(stream: IO[bytes]) -> mmap.mmap:
    """A file in memory, with all its pages at once where the system can: one by one they take longer than hashing."""
    if hasattr(mmap, "MAP_POPULATE"):
        return mmap.mmap(stream.fileno(), 0, mmap.MAP_SHARED | mmap.MAP_POPULATE, mmap.PROT_READ)
    return mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ)


def _marks(content: Buffer) -> dict[bytes, list[int]]:
    """Where digits of marks begin, by digits; a file may quote the mark of another."""
    found: dict[bytes, list[int]] = {}
    for start, window in _windows(content):
        for match in _MARK.finditer(window):
            found.setdefault(match[1], []).append(start + match.start(1))
    return found


def _windows(content: Buffer) -> list[tuple[int, bytes]]:
    """Both ends of a file, with their offsets; they do not overlap."""
    second = max(WINDOW, len(content) - WINDOW)
    return [(0, bytes(content[:WINDOW])), (second, bytes(content[second:]))]


def _unsealed_places(content: Buffer) -> list[int]:
    places = _marks(content).get(UNSEALED[len(MARK) :], [])
    assert places, "no mark within the first or last bytes of the file"
    return places


def _digest(content: Buffer, places: list[int]) -> bytes:
    state = xxhash.xxh3_64()
    with memoryview(content) as view:
        begin = 0
        for place in places:
            _update(state, view[begin:place])
            state.update(b"0" * DIGITS)
            begin = place + DIGITS
        _update(state, view[begin:])
    return state.hexdigest().encode()


def _update(state: xxhash.xxh3_64, part: memoryview) -> None:
    with part:
        state.update(part)


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
