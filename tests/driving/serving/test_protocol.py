"""Frames come out as they went in; broken ones are told apart."""

from __future__ import annotations

import json
import socket
import threading

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

from world4scorer.driving.serving.protocol import (
    DTYPES,
    FIRST_ALLOCATION,
    HEADER,
    MAGIC,
    VERSION,
    Limits,
    Message,
    MessageKind,
    MessageReader,
    ProtocolError,
    encode,
    nesting_depth,
    read_body,
    send,
)

NAMES = st.text(st.characters(codec="utf-8"), min_size=1, max_size=12)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**60), 2**60) | st.floats(allow_nan=False, allow_infinity=False) | NAMES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=6,
)
ARRAYS = st.sampled_from(sorted(DTYPES)).flatmap(
    lambda dtype: npst.arrays(dtype, npst.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=5))
)
DEEP = Limits(depth=40)


def over_a_socket(frame: Message, limits: Limits | None = None) -> Message | None:
    here, there = socket.socketpair()
    with here, there:
        thread = threading.Thread(target=send, args=(here, frame))
        thread.start()
        read = MessageReader(there, limits).read(5)
        thread.join()
        return read


@settings(max_examples=60, deadline=None)
@given(
    st.sampled_from(MessageKind),
    st.dictionaries(NAMES.filter(lambda name: name != "arrays"), VALUES, max_size=4),
    st.dictionaries(NAMES, ARRAYS, max_size=4),
)
def test_round_trip(kind, fields, arrays):
    read = over_a_socket(Message(kind, fields, arrays), DEEP)
    assert read is not None and read.kind is kind and read.fields == fields
    assert list(read.arrays) == list(arrays)
    for name, array in arrays.items():
        assert read.arrays[name].dtype == array.dtype
        np.testing.assert_array_equal(read.arrays[name], array)


def test_the_bytes_are_as_documented():
    frame = Message(MessageKind.BEGIN, {"name": "a"}, {"route": np.array([[1.0, 2.0]])})
    text = b'{"name":"a","arrays":[{"name":"route","dtype":"float64","shape":[1,2]}]}'
    written = b"".join(encode(frame))
    assert written[:16] == b"W4SP" + bytes([1, 0, 3, 0, len(text), 0, 0, 0, 16, 0, 0, 0])
    assert written[16:] == text + np.array([1.0, 2.0], "<f8").tobytes()


def test_arrays_of_other_types_are_not_sent():
    with pytest.raises(ValueError, match="arrays of object are not sent"):
        encode(Message(MessageKind.BEGIN, {}, {"x": np.array([None])}))


def test_numbers_lie_where_kernels_want_them():
    read = over_a_socket(Message(MessageKind.BEGIN, {"odd": "x"}, {"b": np.zeros(3, np.uint8), "a": np.arange(4.0)}))
    assert read is not None and read.arrays["a"].flags.aligned and read.arrays["a"].flags.writeable


def listed(**changes: object) -> bytes:
    return json.dumps({"arrays": [{"name": "a", "dtype": "uint8", "shape": [2], **changes}]}).encode()


@pytest.mark.parametrize(
    ("text", "content", "told"),
    [
        (b"", b"", "JSON: "),
        (b"{", b"", "JSON: "),
        (b"\xff{}", b"", "JSON: "),
        (b"[]", b"", "JSON: an object is needed"),
        (b'{"a": NaN}', b"", "NaN is no number"),
        (b'{"a": -Infinity}', b"", "-Infinity is no number"),
        (b'{"a": 1, "a": 2}', b"", "stands twice"),
        (b'{"a": ' + b"9" * 9000 + b"}", b"", "JSON: "),
        (b'{"a": ' + b"[" * 9 + b"]" * 9 + b"}", b"", "inside each other"),
        (b'{"a": ' + b"[" * 60000, b"", "inside each other"),
        (b'{"arrays": 3}', b"", "a list of at most"),
        (b'{"arrays": [{"name": "a", "shape": [2]}]}', b"xx", "name, dtype and shape"),
        (listed(offset=0), b"xx", "nothing else"),
        (listed(name=""), b"xx", "1 to 64 characters"),
        (listed(name=7), b"xx", "1 to 64 characters"),
        (listed(dtype="object"), b"xx", "'a' has a dtype that is not one of"),
        (listed(dtype=["uint8"]), b"xx", "'a' has a dtype that is not one of"),
        (listed(shape=[-1]), b"xx", "not negative"),
        (listed(shape=[True, 2]), b"xx", "not negative"),
        (listed(shape=[1, 1, 1, 1, 2]), b"xx", "at most 4 sides"),
        (listed(shape=[2**26, 2**26, 2**26, 2**26]), b"xx", "beyond the end"),
        (listed(shape=[2**40]), b"xx", "not negative"),
        (listed(shape=[3]), b"xx", "beyond the end"),
        (listed(shape=[1]), b"xx", "1 bytes after the last array"),
        (json.dumps({"arrays": [{"name": "a", "dtype": "uint8", "shape": [1]}] * 2}).encode(), b"xx", "listed twice"),
    ],
)
def test_broken_bodies(text, content, told):
    with pytest.raises(ProtocolError, match=told):
        read_body(MessageKind.BEGIN, text, memoryview(content), Limits())


def test_brackets_in_texts_do_not_count():
    text = json.dumps({"name": '[[[[[[[[[["\\'}).encode()
    assert read_body(MessageKind.BEGIN, text, memoryview(b""), Limits()).fields["name"] == '[[[[[[[[[["\\'


@given(VALUES)
def test_nesting_is_that_of_the_value(value):
    def depth(part: object) -> int:
        inner = part.values() if isinstance(part, dict) else part if isinstance(part, list) else None
        return 0 if inner is None else 1 + max(map(depth, inner), default=0)

    assert nesting_depth(json.dumps(value)) == nesting_depth(json.dumps(value, ensure_ascii=False)) == depth(value)


def test_each_character_is_looked_at_once():
    """A text without an end, full of quotes that do not end it: whoever starts anew at each of them never finishes."""
    hostile = '{"a": "' + '\\"[' * (Limits().json // 3)
    once = iter(hostile)
    assert nesting_depth(once) == 1 and next(once, None) is None
    with pytest.raises(ProtocolError, match="JSON: Unterminated string"):
        read_body(MessageKind.BEGIN, hostile.encode(), memoryview(b""), Limits())


@pytest.mark.parametrize(
    ("header", "code", "told"),
    [
        ((b"GET ", VERSION, 1, 2, 0), "frame", "begins with b'GET '"),
        ((MAGIC, 2, 1, 2, 0), "version", "protocol: 2 was spoken, 1 is needed"),
        ((MAGIC, VERSION, 99, 2, 0), "frame", "kind 99"),
        ((MAGIC, VERSION, 1, 70_000, 0), "frame", "70,000 bytes of JSON; at most 65,536"),
        ((MAGIC, VERSION, 1, 2, 2**32 - 1), "frame", "4,294,967,297 bytes; at most 67,108,864"),
    ],
)
def test_broken_headers(header, code, told):
    here, there = socket.socketpair()
    with here, there:
        here.sendall(HEADER.pack(*header))
        with pytest.raises(ProtocolError, match=told) as error:
            MessageReader(there).read(5)
        assert error.value.code == code


def test_a_frame_that_stops_in_the_middle():
    whole = b"".join(encode(Message(MessageKind.HELLO, {"client": "x"})))
    for size in (1, 15, 16, len(whole) - 1):
        here, there = socket.socketpair()
        with here, there:
            here.sendall(whole[:size])
            here.shutdown(socket.SHUT_WR)
            with pytest.raises(ProtocolError, match="closed before"):
                MessageReader(there).read(5)


def test_a_frame_that_takes_too_long():
    here, there = socket.socketpair()
    with here, there:
        here.sendall(b"W4")
        with pytest.raises(ProtocolError, match="in time"):
            MessageReader(there).read(5, seconds=0.05)


def test_hanging_up_between_frames_is_no_error():
    here, there = socket.socketpair()
    with there:
        here.close()
        assert MessageReader(there).read(5) is None


def test_memory_is_taken_as_bytes_come_and_not_as_announced() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        reader = MessageReader(ours)
        theirs.sendall(HEADER.pack(MAGIC, VERSION, MessageKind.DECIDE, 60, 60 * 2**20) + bytes(1000))
        with pytest.raises(ProtocolError, match="its end did not come in time"):
            reader.read(stall=0.05)
        assert len(reader._memory) <= FIRST_ALLOCATION


def test_a_message_larger_than_the_first_allocation_is_whole() -> None:
    image = np.arange(5 * FIRST_ALLOCATION, dtype=np.uint8)
    ours, theirs = socket.socketpair()
    with ours, theirs:
        sender = threading.Thread(target=send, args=(theirs, Message(MessageKind.DECIDE, {}, {"image": image})))
        sender.start()
        message = MessageReader(ours).read()
        sender.join()
    assert message is not None
    np.testing.assert_array_equal(message.arrays["image"], image)


def test_half_a_header_holds_no_place_for_long() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        theirs.sendall(MAGIC)
        with pytest.raises(ProtocolError, match="its header did not come in time"):
            MessageReader(ours).read(seconds=30.0, stall=0.05)
