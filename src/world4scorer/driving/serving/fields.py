"""Strict reading of message fields: types, bounds and finiteness are checked, unknown fields refused."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import DTypeLike, NDArray

from world4scorer.driving.serving.protocol import Message
from world4scorer.engine.scene.checks import MAX_MAGNITUDE, as_array

MAX_TEXT_LENGTH: Final = 200
"""Longest text [characters]."""


class RequestError(ValueError):
    """A valid message with an invalid request; the connection stays open."""


class Fields:
    """Fields and arrays of a message, taken one by one."""

    def __init__(self, what: str, fields: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> None:
        """`what` names the message in errors."""
        self._what = what
        self._fields = dict(fields)
        self._arrays = dict(arrays)

    @classmethod
    def of(cls, frame: Message) -> Fields:
        """Fields and arrays of a message."""
        return cls(frame.kind.name.lower(), frame.fields, frame.arrays)

    def __contains__(self, name: str) -> bool:
        return name in self._fields or name in self._arrays

    def nested(self, name: str) -> Fields:
        """A nested object."""
        value = self._take(name)
        if not isinstance(value, dict):
            raise self._wrong(name, "an object is needed")
        return Fields(f"{self._what}: {name}", value, {})

    def text(self, name: str) -> str:
        """A short printable text."""
        value = self._take(name)
        if not isinstance(value, str) or not 0 < len(value) <= MAX_TEXT_LENGTH or not value.isprintable():
            raise self._wrong(name, f"a text of 1 to {MAX_TEXT_LENGTH} printable characters is needed")
        return value

    def choice(self, name: str, choices: Sequence[str]) -> str:
        """One of `choices`."""
        value = self._take(name)
        if value not in choices:
            raise self._wrong(name, f"one of {', '.join(choices)} is needed")
        return str(value)

    def flag(self, name: str) -> bool:
        """True or false."""
        value = self._take(name)
        if not isinstance(value, bool):
            raise self._wrong(name, "true or false is needed")
        return value

    def integer(self, name: str) -> int:
        """An integer."""
        value = self._take(name)
        if type(value) is not int:
            raise self._wrong(name, "a whole number is needed")
        return value

    def number(self, name: str, minimum: float = -MAX_MAGNITUDE, maximum: float = MAX_MAGNITUDE) -> float:
        """A number within bounds."""
        value = self._take(name)
        if isinstance(value, bool) or not isinstance(value, int | float) or not minimum <= value <= maximum:
            raise self._wrong(name, f"a number from {minimum:g} to {maximum:g} is needed")
        return float(value)

    def numbers(self, name: str, count: int) -> NDArray[np.float64]:
        """(count,) numbers."""
        value = self._take(name)
        plain = isinstance(value, list) and len(value) == count
        if not plain or any(isinstance(part, bool) or not isinstance(part, int | float) for part in value):
            raise self._wrong(name, f"a list of {count} numbers is needed")
        if not all(abs(part) <= MAX_MAGNITUDE for part in value):
            raise self._wrong(name, f"numbers of at most {MAX_MAGNITUDE:g} are needed")
        return np.array(value, np.float64)

    def array(self, name: str, dtype: DTypeLike, shape: Sequence[int | str], max_side: int) -> NDArray[Any]:
        """An array of a dtype and shape (letters are free dimensions), no side longer than `max_side`."""
        array = self._arrays.pop(name, None)
        if array is None:
            raise RequestError(f"{self._what}: array {name!r} is missing")
        if array.dtype != np.dtype(dtype):
            raise self._wrong(name, f"an array of {np.dtype(dtype)} is needed")
        if max(array.shape, default=0) > max_side:
            raise self._wrong(name, f"shape {array.shape}; sides of at most {max_side} are taken")
        try:
            return as_array(name, array, dtype, shape)
        except ValueError as error:
            raise RequestError(f"{self._what}: {error}") from error

    def images(self, names: Sequence[str], sides: tuple[int, int]) -> list[NDArray[np.uint8]]:
        """uint8 images (h, w, channels) by name, all of one shape with sides within bounds; not copied."""
        images = []
        for name in names:
            image = self._arrays.pop(name, None)
            if image is None:
                raise RequestError(f"{self._what}: image {name!r} is missing; {', '.join(names)} are needed")
            if (
                image.dtype != np.uint8
                or image.ndim != 3
                or not all(sides[0] <= s <= sides[1] for s in image.shape[:2])
            ):
                raise self._wrong(name, f"bytes (h, w, channels) with sides from {sides[0]} to {sides[1]} are needed")
            images.append(image)
        if len({image.shape for image in images}) > 1:
            raise RequestError(f"{self._what}: images of several shapes; one for all is needed")
        return images

    def finish(self) -> None:
        """Raise a RequestError for fields that were not taken, such as misspelt options."""
        left = sorted([*self._fields, *self._arrays])
        if left:
            raise RequestError(f"{self._what}: {', '.join(map(repr, left))}: no such field")

    def _take(self, name: str) -> Any:
        if name not in self._fields:
            raise RequestError(f"{self._what}: {name!r} is missing")
        return self._fields.pop(name)

    def _wrong(self, name: str, needed: str) -> RequestError:
        return RequestError(f"{self._what}: {name}: {needed}")
