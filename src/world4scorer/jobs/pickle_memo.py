"""Refuse pickles that number their memo beyond their own length.

An unpickler keeps objects by number, in an array as long as the largest number: ten bytes can ask for gigabytes. A
pickle that some program wrote numbers its objects one after the other, so no number exceeds its length in bytes.

The instructions must be walked to find the numbers. Runs of instructions of fixed length are skipped by one regular
expression, which takes a fraction of the time of unpickling.

Frames must hold whole instructions and no other frames, as those of every program do: where one ends within an
instruction, Python's unpickler goes on elsewhere, and would not follow the walk.
"""

from __future__ import annotations

import pickletools
import re
from functools import lru_cache
from typing import Final

MAX_DIGITS: Final = 20
"""Of a number; more than any memory has places."""
SMALL_NUMBER: Final = 65_536
"""Numbers below need no memory to speak of."""
SHORT_DATA: Final = 40
"""Bytes of data below which an instruction is part of a run: names and tokens."""
PUT: Final = b"p"
LONG_PUT: Final = b"r"
STOP: Final = b"."
FRAME: Final = b"\x95"
FRAME_LENGTH_BYTES: Final = 8
LENGTH_BYTES: Final = {
    pickletools.TAKEN_FROM_ARGUMENT1: 1,
    pickletools.TAKEN_FROM_ARGUMENT4: 4,
    pickletools.TAKEN_FROM_ARGUMENT4U: 4,
    pickletools.TAKEN_FROM_ARGUMENT8U: 8,
}
"""Size of the length that precedes the data of an instruction."""


def _instructions() -> tuple[list[bytes], dict[bytes, int]]:
    """Patterns of instructions of fixed length or with short data, and the size of the length of those with more."""
    fixed, sized = [], {}
    for instruction in pickletools.opcodes:
        code, argument = instruction.code.encode("latin-1"), instruction.arg
        if code in (PUT, LONG_PUT, STOP, FRAME):
            continue
        if argument is None:
            fixed.append(re.escape(code))
        elif argument.n == pickletools.UP_TO_NEWLINE:
            lines = 2 if argument.name.endswith("pair") else 1
            fixed.append(re.escape(code) + rb"[^\n]*+\n" * lines)
        elif argument.n >= 0:
            fixed.append(re.escape(code) + rb".{%d}" % argument.n)
        else:
            size = sized[code] = LENGTH_BYTES[argument.n]
            lengths = (re.escape(length.to_bytes(size, "little")) + rb".{%d}" % length for length in range(SHORT_DATA))
            fixed.append(re.escape(code) + rb"(?:" + b"|".join(lengths) + rb")")
    return fixed, sized


_FIXED, _SIZED = _instructions()


@lru_cache(8)
def _run(most: int) -> re.Pattern[bytes]:
    """A run of such instructions, with numbers of the memo up to `most` times 65,536."""
    numbers = re.escape(LONG_PUT) + rb"..[\x00-\x%02x]\x00" % most
    return re.compile(rb"(?:" + b"|".join([*_FIXED, numbers]) + rb")*+", re.DOTALL)


def check_memo(data: bytes) -> None:
    """Raise a ValueError for a number of the memo beyond the length of the pickle; other faults are left alone."""
    run = _run(min(255, len(data) // SMALL_NUMBER))
    place = frame_end = 0
    while place < len(data):
        in_frame = place < frame_end
        end = frame_end if in_frame else len(data)
        found = run.match(data, place, end)
        assert found is not None  # it may match nothing
        place = found.end()
        code = data[place : place + 1]
        if place == end:
            continue
        if code in _SIZED or code in (PUT, LONG_PUT):
            place = _after(code, data, place, end)
        elif code == FRAME and not in_frame:
            start = place + 1 + FRAME_LENGTH_BYTES
            place, frame_end = start, start + int.from_bytes(data[place + 1 : start], "little")
            end = len(data) - (frame_end - place)
        elif in_frame and code != STOP:
            raise ValueError("a frame ends within an instruction, or holds another")
        else:
            return  # the end, or something that the unpickler names
        if place > end:  # memory may be taken before the unpickler sees it
            raise ValueError("it ends within a frame, text, number or array")


def _after(code: bytes, data: bytes, place: int, end: int) -> int:
    """Where an instruction ends that is not part of a run; beyond `end` if it has no end before."""
    if code in _SIZED:
        start = place + 1 + _SIZED[code]
        return start + int.from_bytes(data[place + 1 : start], "little")
    if code == LONG_PUT:
        _check(int.from_bytes(data[place + 1 : place + 5], "little"), data)
        return place + 5
    line_end = data.find(b"\n", place, end)
    if line_end < 0:
        return end + 1
    digits = data[place + 1 : line_end]
    if not digits.isdigit() or len(digits) > MAX_DIGITS:
        # The unpickler takes signs, spaces, underscores, and what precedes a zero byte.
        raise ValueError(f"it numbers an object {digits[:SHORT_DATA]!r}, which no program does")
    _check(int(digits), data)
    return line_end + 1


def _check(number: int, data: bytes) -> None:
    if number >= max(len(data), SMALL_NUMBER):
        raise ValueError(f"it numbers an object {number:,}, beyond its own length")
