"""Refuse pickles that number their memo beyond their own length.

An unpickler keeps objects by number, in an array as long as the largest number: ten bytes can ask for gigabytes. A
pickle that some program wrote numbers its objects one after the other, so no number exceeds its length in bytes.

The instructions must be walked to find the numbers. Runs of instructions of fixed length are skipped by one regular
expression, which takes a fraction of the time of unpickling.
"""

from __future__ import annotations

import pickletools
import re
from functools import lru_cache
from typing import Final

MAX_NUMBER: Final = 10**20
"""More than any memory has places."""
SMALL_NUMBER: Final = 65_536
"""Numbers below need no memory to speak of."""
SHORT_DATA: Final = 40
"""Bytes of data below which an instruction is part of a run: names and tokens."""
PUT: Final = b"p"
LONG_PUT: Final = b"r"
STOP: Final = b"."
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
        if code in (PUT, LONG_PUT, STOP):
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
    place, run = 0, _run(min(255, len(data) // SMALL_NUMBER))
    while True:
        found = run.match(data, place)
        assert found is not None  # it may match nothing
        place = found.end()
        code = data[place : place + 1]
        if code in _SIZED:
            start = place + 1 + _SIZED[code]
            place = start + int.from_bytes(data[place + 1 : start], "little")
            if place > len(data):
                raise ValueError("it ends within a text, number or array")  # memory may be taken before that is seen
        elif code == LONG_PUT:
            _check(int.from_bytes(data[place + 1 : place + 5], "little"), data)
            place += 5
        elif code == PUT:
            end = data.find(b"\n", place)
            if end < 0:
                return
            try:
                number = int(data[place + 1 : end])  # as the unpickler: with spaces, signs and underscores
            except ValueError:
                return
            _check(min(number, MAX_NUMBER), data)
            place = end + 1
        else:
            return  # the end, or something that the unpickler names


def _check(number: int, data: bytes) -> None:
    if number >= max(len(data), SMALL_NUMBER):
        raise ValueError(f"it numbers an object {number:,}, beyond its own length")
