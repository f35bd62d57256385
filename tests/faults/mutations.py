"""Ways in which disks, copies and attackers change bytes; seeded."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Final

SECTOR: Final = 512
"""Bytes that a disk loses at once."""
NUMBERS: Final = (b"-1", b"0", b"1e999", b"NaN", b"9" * 30, b"4294967296", b"0.5", b"null", b"[]", b"{}", b'""')
"""Values to put in the place of others, in text."""


def damage(content: bytes, rng: random.Random) -> bytes:
    """As a failing disk or an interrupted copy would."""
    return rng.choice((_cut, _flip, _flip, _flips, _zeros, _append))(content, rng)


def change(content: bytes, rng: random.Random, tokens: Sequence[bytes] = ()) -> bytes:
    """As somebody looking for a hole would; `tokens` are words of the format."""
    for _ in range(rng.choice((1, 1, 2, 4))):
        ways: list[Callable[[bytes, random.Random], bytes]] = [_cut, _flip, _flips, _zeros, _repeat, _move, _number]
        if tokens:
            ways += [lambda old, rng: _insert(old, rng, rng.choice(tokens))] * 3
        content = rng.choice(ways)(content, rng)
    return content


def _place(content: bytes, rng: random.Random) -> int:
    return rng.randrange(len(content)) if content else 0


def _cut(content: bytes, rng: random.Random) -> bytes:
    return content[: rng.choice((_place(content, rng), max(0, len(content) - 1), len(content) // 2))]


def _flip(content: bytes, rng: random.Random) -> bytes:
    changed = bytearray(content or b"\0")
    changed[_place(changed, rng)] ^= 1 << rng.randrange(8)
    return bytes(changed)


def _flips(content: bytes, rng: random.Random) -> bytes:
    for _ in range(8):
        content = _flip(content, rng)
    return content


def _zeros(content: bytes, rng: random.Random) -> bytes:
    begin = _place(content, rng)
    end = min(len(content), begin + rng.choice((1, 8, SECTOR)))
    return content[:begin] + bytes(end - begin) + content[end:]


def _append(content: bytes, rng: random.Random) -> bytes:
    return content + rng.randbytes(rng.choice((1, 34, 64)))


def _repeat(content: bytes, rng: random.Random) -> bytes:
    begin = _place(content, rng)
    end = begin + rng.choice((1, 4, 64))
    return content[:end] + content[begin:end] * rng.choice((1, 2, 50)) + content[end:]


def _move(content: bytes, rng: random.Random) -> bytes:
    first, second = sorted((_place(content, rng), _place(content, rng)))
    length = rng.choice((1, 4, 64))
    return content[:first] + content[second : second + length] + content[first + length :]


def _number(content: bytes, rng: random.Random) -> bytes:
    digits = [place for place, letter in enumerate(content[:4096]) if 48 <= letter <= 57]
    place = rng.choice(digits) if digits else _place(content, rng)
    return content[:place] + rng.choice(NUMBERS) + content[place + 1 :]


def _insert(content: bytes, rng: random.Random, token: bytes) -> bytes:
    place = _place(content, rng)
    return content[:place] + token + content[place + rng.choice((0, 0, len(token))) :]
