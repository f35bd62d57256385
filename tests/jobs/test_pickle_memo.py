"""A pickle of ten bytes must not take gigabytes, and every other pickle is read as before."""

from __future__ import annotations

import pickle
import struct

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from world4scorer.datasets.navsim.pickles import load_restricted
from world4scorer.jobs.pickle_memo import check_memo

HOSTILE = {
    "long": b"\x80\x04]r" + struct.pack("<I", 2**31 - 1) + b".",
    "less long": b"\x80\x04]r" + struct.pack("<I", 2**28) + b".",
    "text": b"(lp999999999999\n.",
    "longer text": b"(lp" + b"9" * 400 + b"\n.",
    "underscores": b"(lp999_999_999_999\n.",
    "zero byte": b"(lp99999999\0x\n.",
    "spaces": b"(lp 99999999 \n.",
    "zeros": b"(lp" + b"0" * 30 + b"99999999\n.",
    "after a zero byte": b"]p0\0\nr" + struct.pack("<I", 2**30) + b".",
    "sign": b"(lp+999999999999\n.",
    "after data": b"\x80\x04X\x03\x00\x00\x00abc]r" + struct.pack("<I", 2**30) + b".",
    "after lines": b"(S'abc'\nVdef\nL12L\nI3\nF1.5\nlr" + struct.pack("<I", 2**30) + b".",
    "after a name": b"cbuiltins\nset\n]r" + struct.pack("<I", 2**30) + b".",
}


@pytest.mark.parametrize("name", HOSTILE)
def test_numbers_beyond_the_length_are_refused(name: str) -> None:
    with pytest.raises(ValueError, match=r"damaged pickle \(it numbers an object .+, (beyond its own length|which no)"):
        load_restricted(HOSTILE[name])


FRAME = b"\x80\x04\x95"
FRAMED = {
    "a frame within a frame": FRAME + struct.pack("<Q", 30) + b"\x95" + struct.pack("<Q", 25) + b"]" * 70,
    "a frame that ends within an instruction": FRAME + struct.pack("<Q", 4) + b"]r\x00\x00\x00\x00" + b"]" * 40,
    "a frame that ends within a text": FRAME + struct.pack("<Q", 3) + b"\x8c\x02ab]" + b"]" * 40,
    "a frame that ends within a line": FRAME + struct.pack("<Q", 3) + b"cab\nset\n" + b"]" * 40,
    "a frame longer than the pickle": FRAME + struct.pack("<Q", 2**62) + b"].",
}


@pytest.mark.parametrize("name", FRAMED)
def test_frames_that_the_unpickler_would_leave_elsewhere_are_refused(name: str) -> None:
    """Python's unpickler drops the rest of such a frame, so that it would meet numbers that the walk did not."""
    with pytest.raises(ValueError, match="ends within"):
        load_restricted(FRAMED[name])


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_sound_pickles_pass(protocol: int) -> None:
    """With more objects than small numbers, and data that looks like instructions."""
    lists = [[str(i), float(i)] for i in range(70_000)]
    content = {"lists": lists, "data": np.frombuffer(b"r\xff\xff\xff\x7fp9999999999\n" * 8, np.uint8), "none": None}
    data = pickle.dumps(content, protocol)
    check_memo(data)
    if protocol >= 2:
        assert load_restricted(data)["lists"] == lists


@given(st.binary(max_size=200))
def test_noise_is_walked_without_a_fault(noise: bytes) -> None:
    try:
        check_memo(noise)
    except ValueError as error:
        assert any(reason in str(error) for reason in ("beyond its own length", "which no program", "ends within"))


@pytest.mark.parametrize("code", [b"\x8e", b"\x96", b"\x8d"])
@pytest.mark.parametrize("length", [100, 2**40, 2**63, 2**64 - 1])
def test_lengths_beyond_the_file_are_refused_before_memory_is_taken(code: bytes, length: int) -> None:
    with pytest.raises(ValueError, match="truncated or damaged pickle"):
        load_restricted(b"\x80\x05" + code + struct.pack("<Q", length) + b"abc.")
