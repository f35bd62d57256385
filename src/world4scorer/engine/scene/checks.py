"""Validation shared by the scene types: convert arguments to arrays, or raise an error."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any, Final

import numpy as np
from numpy.typing import DTypeLike, NDArray

MAX_MAGNITUDE: Final = 1e8
"""Maximum magnitude of any value, in its own unit: ten times the size of a map projection."""


class SceneError(ValueError):
    """A scene or plan that cannot be used; the message names the field and, where known, the token."""


def as_array(name: str, value: Any, dtype: DTypeLike, shape: Sequence[int | str], finite: bool = True) -> NDArray[Any]:
    """Return `value` as a C-contiguous array of `dtype`.

    `shape` holds an integer for each fixed axis and a letter for each free one, e.g. `("N", 8, 3)`.
    """
    try:
        given = np.asarray(value)
        with np.errstate(invalid="ignore"):  # NaN among codes is found below
            array: NDArray[Any] = np.ascontiguousarray(given, dtype=None if given.dtype.kind == "c" else dtype)
    except (TypeError, ValueError, OverflowError) as error:
        raise SceneError(f"{name}: cannot be read as an array of {np.dtype(dtype)}: {error}") from error
    if not array.flags.writeable:
        array = array.copy()  # Numba would compile every kernel once more for read-only arrays
    array = array.reshape(given.shape)  # ascontiguousarray lifts scalars to one axis
    whole = array.dtype.kind == "f" or given.dtype == array.dtype or np.array_equal(array, given)
    if given.dtype.kind == "c" or not whole:
        raise SceneError(f"{name}: holds values that an array of {np.dtype(dtype)} cannot keep")
    wanted = ", ".join(str(axis) for axis in shape)
    sizes: tuple[int, ...] = array.shape
    if len(sizes) != len(shape) or any(
        isinstance(axis, int) and axis != size for axis, size in zip(shape, sizes, strict=True)
    ):
        raise SceneError(f"{name}: expected shape ({wanted}), got {array.shape}")
    if finite and array.dtype.kind == "f" and not in_range(array).all():
        where = tuple(int(i) for i in np.argwhere(~in_range(array))[0])
        raise SceneError(
            f"{name}: value at {where} is {array[where]}; values must be finite and at most {MAX_MAGNITUDE:g}"
        )
    return array


def in_range(array: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Which values are finite and at most `MAX_MAGNITUDE`, within which kernels keep their precision."""
    return np.asarray(np.abs(array) <= MAX_MAGNITUDE)  # also false for NaN


def as_codes(name: str, value: Any, codes: type, length: int) -> NDArray[np.int8]:
    """Return `value` as an array of enum codes, one for each of `length` items."""
    array: NDArray[np.int8] = as_array(name, value, np.int8, (length,))
    known = _known(codes)[array.view(np.uint8)]
    if not known.all():
        index = int(np.argmin(known))
        listed = [int(code) for code in codes]  # type: ignore[attr-defined]
        raise SceneError(f"{name}: entry {index} is {array[index]}, which is not a {codes.__name__} code {listed}")
    return array


@cache
def _known(codes: type) -> NDArray[np.bool_]:
    """(256,) which bytes are codes of an enum."""
    known = np.zeros(256, np.bool_)
    known[[int(code) for code in codes]] = True  # type: ignore[attr-defined]
    return known
