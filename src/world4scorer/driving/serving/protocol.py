"""Messages of the planner server: a header, a JSON object, then raw arrays; no executable content.

    bytes 0-3    magic, b"W4SP"
    bytes 4-5    version of the protocol
    bytes 6-7    kind of the message
    bytes 8-11   length of the JSON part
    bytes 12-15  length of the arrays
    then         the JSON object, UTF-8; its "arrays" lists name, dtype and shape of each array
    then         the arrays, one after the other, C order

All numbers are little-endian. The first six bytes are the same in every version. docs/agent.md lists the fields of
every kind.
"""

from __future__ import annotations

import json
import socket
import struct
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from math import prod
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import NDArray

MAGIC: Final = b"W4SP"
VERSION: Final = 1
HEADER: Final = struct.Struct("<4sHHII")
DTYPES: Final = {"uint8": "<u1", "int32": "<i4", "float32": "<f4", "float64": "<f8"}
"""Array dtypes, with NumPy's names of their encoding."""

MESSAGE_TIMEOUT: Final = 30.0
"""Time within which a message must be transferred once it has begun [s]."""

STALL_TIMEOUT: Final = 5.0
"""Time within which the next bytes of a message must come [s]: one that stops half-way holds a client's place."""
FIRST_ALLOCATION: Final = 2**20
"""Bytes of memory for a message before any of it has come; more is taken as it comes, whatever was announced."""

ErrorCode = Literal["version", "frame", "request", "busy", "internal"]
"""Protocol version, malformed message, invalid request, too many clients, server fault."""


class MessageKind(IntEnum):
    """Kind of a message: requests are odd, their answers one more."""

    HELLO = 1
    WELCOME = 2
    BEGIN = 3
    BEGUN = 4
    DECIDE = 5
    DECISION = 6
    END = 7
    ENDED = 8
    ERROR = 100


@dataclass(frozen=True)
class Limits:
    """Size limits of a message."""

    message: int = 64 * 2**20
    """Bytes of JSON and arrays together; four images of 1600 x 900 with four channels are 23 MB."""
    json: int = 64 * 2**10
    """Bytes of the JSON part."""
    depth: int = 6
    """Nesting depth of the JSON part."""
    arrays: int = 16
    """Number of arrays."""
    axes: int = 4
    """Dimensions of an array."""


HELLO_LIMITS: Final = Limits(message=4096, json=4096, arrays=0)
"""Limits of the first message of a client."""


class ProtocolError(ValueError):
    """A message that cannot be read; the connection is then unusable."""

    def __init__(self, message: str, code: ErrorCode = "frame") -> None:
        super().__init__(message)
        self.code: ErrorCode = code


@dataclass(frozen=True, eq=False)
class Message:
    """One message."""

    kind: MessageKind
    fields: Mapping[str, Any] = field(default_factory=dict)
    """The JSON object without its list of arrays."""
    arrays: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    """Arrays by name. uint8 arrays of a message that was read are views, valid until the reader's next message."""


def encode(frame: Message) -> list[bytes | memoryview]:
    """The bytes of a message in parts, so that images are not copied."""
    parts: list[bytes | memoryview] = []
    listed = []
    for name, array in frame.arrays.items():
        dtype = array.dtype.name
        if dtype not in DTYPES:
            raise ValueError(f"{name}: arrays of {dtype} are not sent; one of {', '.join(DTYPES)} is needed")
        listed.append({"name": name, "dtype": dtype, "shape": list(array.shape)})
        parts.append(np.ascontiguousarray(array, DTYPES[dtype]).reshape(-1).view(np.uint8).data)
    text = json.dumps({**frame.fields, "arrays": listed}, allow_nan=False, separators=(",", ":")).encode()
    header = HEADER.pack(MAGIC, VERSION, frame.kind, len(text), sum(len(part) for part in parts))
    return [header + text, *parts]


def send(connection: socket.socket, frame: Message, seconds: float = MESSAGE_TIMEOUT) -> None:
    """Send a message; raises TimeoutError after `seconds`."""
    until = time.monotonic() + seconds
    parts = encode(frame)
    if not hasattr(connection, "sendmsg"):  # Windows
        parts = [b"".join(parts)]
    while parts:
        connection.settimeout(max(1e-3, until - time.monotonic()))
        # In one call: the receiver should not wake up for each part.
        sent = connection.sendmsg(parts) if len(parts) > 1 else connection.send(parts[0])
        while parts and sent >= len(parts[0]):
            sent -= len(parts.pop(0))
        if sent:
            parts[0] = memoryview(parts[0])[sent:]


class MessageReader:
    """Reads messages from a connection into a reused buffer."""

    def __init__(self, connection: socket.socket, limits: Limits | None = None) -> None:
        self.limits: Limits = limits or Limits()
        """May be changed between messages."""
        self._connection = connection
        self._memory = bytearray()
        self._stall = STALL_TIMEOUT

    def read(
        self, patience: float | None = None, seconds: float = MESSAGE_TIMEOUT, stall: float = STALL_TIMEOUT
    ) -> Message | None:
        """The next message; None if the peer has closed the connection.

        Args:
            patience: Seconds to wait for a message to begin, then TimeoutError; no limit by default.
            seconds: Time within which it must be complete once it has begun.
            stall: Time within which more of it must come [s].
        """
        self._stall = stall
        self._connection.settimeout(patience)
        first = self._connection.recv(HEADER.size)
        if not first:
            return None
        until = time.monotonic() + seconds
        rest = self._receive(memoryview(bytearray(HEADER.size - len(first))), until, "its header")
        kind, text_bytes, array_bytes = read_header(first + bytes(rest), self.limits)
        body = self._receive_body(text_bytes + array_bytes, until)
        return read_body(kind, bytes(body[:text_bytes]), body[text_bytes:], self.limits)

    def _receive_body(self, size: int, until: float) -> memoryview:
        """The bytes after the header, in memory that grows with what has come."""
        filled = 0
        while filled < size:
            if filled == len(self._memory):
                # Arrays of an earlier frame may still hold the old memory, which then stays theirs.
                larger = bytearray(min(size, max(FIRST_ALLOCATION, 2 * filled)))
                larger[:filled] = self._memory
                self._memory = larger
            end = min(size, len(self._memory))
            self._receive(memoryview(self._memory)[filled:end], until, "its end")
            filled = end
        return memoryview(self._memory)[:size]

    def _receive(self, place: memoryview, until: float, what: str) -> memoryview:
        filled = 0
        while filled < len(place):
            left = until - time.monotonic()
            try:
                self._connection.settimeout(max(1e-3, min(left, self._stall)))
                count = self._connection.recv_into(place[filled:])
            except TimeoutError:
                raise ProtocolError(f"frame: {what} did not come in time; send frames in one go") from None
            if not count:
                raise ProtocolError(f"frame: the connection was closed before {what}")
            filled += count
        return place


def read_header(header: bytes, limits: Limits) -> tuple[MessageKind, int, int]:
    """Kind, JSON bytes and array bytes of a header."""
    magic, version, kind, text_bytes, array_bytes = HEADER.unpack(header)
    if magic != MAGIC:
        raise ProtocolError(f"frame: begins with {magic!r}, not {MAGIC!r}; this is the socket of a planner server")
    if version != VERSION:
        raise ProtocolError(
            f"protocol: {version} was spoken, {VERSION} is needed here; use agent and server of the same release "
            "(`w4s b2d agent` copies the agent out)",
            "version",
        )
    if kind not in MessageKind._value2member_map_:
        raise ProtocolError(f"frame: kind {kind} is not known")
    if text_bytes > limits.json:
        raise ProtocolError(f"frame: {text_bytes:,} bytes of JSON; at most {limits.json:,} are read")
    if text_bytes + array_bytes > limits.message:
        raise ProtocolError(f"frame: {text_bytes + array_bytes:,} bytes; at most {limits.message:,} are read")
    return MessageKind(kind), text_bytes, array_bytes


def read_body(kind: MessageKind, text: bytes, content: memoryview, limits: Limits) -> Message:
    """Parse a message from its parts."""
    fields = _read_json(text, limits)
    listed = fields.pop("arrays", [])
    if not isinstance(listed, list) or len(listed) > limits.arrays:
        raise ProtocolError(f"arrays: a list of at most {limits.arrays} is needed")
    arrays: dict[str, NDArray[Any]] = {}
    start = 0
    for entry in listed:
        name, dtype, shape = _read_entry(entry, limits)
        if name in arrays:
            raise ProtocolError(f"arrays: {name!r} is listed twice")
        size = prod(shape) * np.dtype(dtype).itemsize
        if start + size > len(content):
            raise ProtocolError(f"arrays: {name!r} of shape {shape} goes beyond the end of the frame")
        array: NDArray[Any] = np.frombuffer(content[start : start + size], dtype).reshape(shape)
        arrays[name] = array if dtype == DTYPES["uint8"] else array.copy()  # aligned for kernels
        start += size
    if start != len(content):
        raise ProtocolError(f"frame: {len(content) - start:,} bytes after the last array")
    return Message(kind, fields, arrays)


def nesting_depth(characters: Iterable[str]) -> int:
    """Nesting depth of a JSON text, which need not be valid; linear in its length."""
    depth = deepest = 0
    in_text = escaped = False
    for character in characters:
        if in_text:
            in_text = escaped or character != '"'
            escaped = character == "\\" and not escaped
        elif character == '"':
            in_text = True
        elif character in "[{":
            depth += 1
            deepest = max(deepest, depth)
        elif character in "]}":
            depth -= 1
    return deepest


def _read_json(text: bytes, limits: Limits) -> dict[str, Any]:
    def refuse(constant: str) -> None:
        raise ValueError(f"{constant} is no number")

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        if len({name for name, _ in pairs}) < len(pairs):
            raise ValueError("a name stands twice in an object")
        return dict(pairs)

    try:
        decoded = text.decode()
        deepest = nesting_depth(decoded)
        if deepest > limits.depth:
            raise ValueError(f"{deepest} lists and objects inside each other; at most {limits.depth}")
        read = json.loads(decoded, parse_constant=refuse, object_pairs_hook=unique)
    except ValueError as error:  # includes UnicodeDecodeError
        raise ProtocolError(f"JSON: {error}") from error
    if not isinstance(read, dict):
        raise ProtocolError("JSON: an object is needed")
    return read


def _read_entry(entry: Any, limits: Limits) -> tuple[str, str, tuple[int, ...]]:
    if not isinstance(entry, dict) or set(entry) != {"name", "dtype", "shape"}:
        raise ProtocolError("arrays: each needs name, dtype and shape, nothing else")
    name, dtype, shape = entry["name"], entry["dtype"], entry["shape"]
    if not isinstance(name, str) or not 0 < len(name) <= 64:
        raise ProtocolError("arrays: a name has 1 to 64 characters")
    if not isinstance(dtype, str) or dtype not in DTYPES:
        raise ProtocolError(f"arrays: {name!r} has a dtype that is not one of {', '.join(DTYPES)}")
    sides = isinstance(shape, list) and all(type(side) is int and 0 <= side <= limits.message for side in shape)
    if not sides or len(shape) > limits.axes:
        raise ProtocolError(f"arrays: {name!r} needs a shape of at most {limits.axes} sides that are not negative")
    return name, DTYPES[dtype], tuple(shape)
