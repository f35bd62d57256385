"""Read untrusted pickles without executing code.

A pickle is a program: it names callables and calls them. `load_restricted` resolves names only through a fixed table
(what numpy and the builtin containers need) plus the table of the caller, and every numpy name is answered by a
stand-in written here, because numpy's own restoring functions trust what they are given.

What a pickle can still do is use up memory in proportion to its size, or, with containers nested a hundred thousand
deep, end the process.

Example::

    frames = load_restricted("navsim_logs/mini/2021.05.12.pkl")
"""

from __future__ import annotations

import collections
import io
import math
import os
import pickle
import struct
from collections.abc import Callable, Collection, Mapping
from typing import Any, Final, NoReturn

import numpy as np

from world4scorer.datasets.navsim.errors import DatasetError
from world4scorer.jobs.files import read_bytes
from world4scorer.jobs.pickle_memo import check_memo

_IMMUTABLE_TYPE = 1 << 8  # Py_TPFLAGS_IMMUTABLETYPE: attributes of the class cannot be set
_PLAIN_KINDS = "biufcSUO"  # no structured, void or time types: the formats read here have none


class UnsafePickle(ValueError):
    """The pickle uses a name that is not allowed."""


class Shim:
    """Stand-in for a class of a missing package; keeps the pickled fields as attributes.

    Defining `__setstate__` here is what keeps a pickle from setting attributes on the class itself.
    """

    def __setstate__(self, state: Any) -> None:
        fields, slots = state if isinstance(state, tuple) and len(state) == 2 else (state, None)
        for part in (fields, slots):
            if part is None:
                continue
            if not isinstance(part, dict) or not all(isinstance(key, str) for key in part):
                raise TypeError(f"state of {type(self).__name__} is not a mapping of names")
            self.__dict__.update(part)


class InertObject(Shim):
    """Stand-in for an object of any class: what it was made with, and its fields."""

    def __init__(self, *arguments: Any) -> None:
        self.arguments = arguments


_NEEDED: Final = object()


def pickled_field(thing: Any, name: str, default: Any = _NEEDED) -> Any:
    """A field of an object of the devkits or its stand-in, stored with or without a leading underscore."""
    for key in (name, f"_{name}"):
        if hasattr(thing, key):
            return getattr(thing, key)
    if default is _NEEDED:
        raise DatasetError(f"{type(thing).__name__}: has no field {name!r}; the pickle is of another version")
    return default


class _Call:
    """A callable that a pickle may only call."""

    __slots__ = ("_function",)

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function

    def __call__(self, *arguments: Any) -> Any:
        return self._function(*arguments)

    def __setstate__(self, state: Any) -> NoReturn:
        raise UnsafePickle("a pickle may not change a function")


class _Dtype:
    """Element type of a pickled array: NumPy's dtype after its state has been checked."""

    __slots__ = ("dtype",)

    def __init__(self, name: str) -> None:
        dtype = np.dtype(name)
        if dtype.kind not in _PLAIN_KINDS:
            raise TypeError(f"arrays of type {name!r} are not supported")
        self.dtype = dtype

    def __setstate__(self, state: Any) -> None:
        # Only the byte order is taken over: flags and sizes in the state could make numpy read foreign memory.
        order = state[1]
        if order not in ("<", ">", "|", "="):
            raise ValueError(f"byte order {order!r}")
        if self.dtype.kind != "O":
            self.dtype = self.dtype.newbyteorder(order)


class _Array(np.ndarray[Any, Any]):
    """An array during and after unpickling."""

    def __setstate__(self, state: Any) -> None:
        _, shape, kind, fortran, data = state
        dtype = _checked(kind)
        if dtype.kind == "O":  # numpy trusts the list to be as long as the shape says
            if type(data) is not list or len(data) != math.prod(shape):
                raise ValueError("an array of objects needs as many objects as its shape has places")
            data = list(data)
        elif len(data) != math.prod(shape) * dtype.itemsize:  # before numpy takes memory for its shape
            raise ValueError("an array needs as many bytes as its shape has places")
        super().__setstate__((1, shape, dtype, bool(fortran), data))  # type: ignore[arg-type]

    def __reduce_ex__(self, protocol: Any) -> Any:
        return self.view(np.ndarray).__reduce_ex__(protocol)  # pickled again, it is a plain array


def _checked(kind: Any) -> np.dtype[Any]:
    if not isinstance(kind, _Dtype):
        raise TypeError("an array needs an element type")
    return kind.dtype


def _dtype(name: str, *_: Any) -> _Dtype:
    if not isinstance(name, str):
        raise TypeError("an element type is given by its name")
    return _Dtype(name)


def _reconstruct(subtype: Any, *_: Any) -> _Array:
    if subtype is not _Array:
        raise TypeError("only plain arrays can be restored")
    return _Array((0,), dtype=np.int8)


def _scalar(kind: Any, data: Any) -> Any:
    dtype = _checked(kind)
    if dtype.kind == "O" or not isinstance(data, bytes) or len(data) != dtype.itemsize:
        raise TypeError("a scalar needs exactly the bytes of its type")
    return np.frombuffer(data, dtype, 1)[0]


def _frombuffer(data: Any, kind: Any, shape: Any, order: Any) -> np.ndarray[Any, Any]:
    if not isinstance(data, (bytes, bytearray)):
        raise TypeError("array data must be bytes")
    return np.frombuffer(data, _checked(kind)).reshape(shape, order="F" if order == "F" else "C")


def _encode(text: str, encoding: str = "latin1") -> bytes:
    """Bytes in protocol 2, which writes them as text."""
    if encoding not in ("latin1", "latin-1"):
        raise ValueError(f"encoding {encoding!r}")
    return text.encode("latin1")


def _bytes(data: Any = b"", encoding: str = "latin1") -> bytes:
    if isinstance(data, str):
        return _encode(data, encoding)
    if not isinstance(data, (bytes, bytearray)):
        raise TypeError("bytes from something else")  # bytes(10**12) would allocate that much
    return bytes(data)


def _bytearray(data: Any = b"", encoding: str = "latin1") -> bytearray:
    return bytearray(_bytes(data, encoding))


def _numpy_names() -> dict[tuple[str, str], Any]:
    names: dict[tuple[str, str], Any] = {("numpy", "ndarray"): _Array, ("numpy", "dtype"): _Call(_dtype)}
    for core in ("numpy.core", "numpy._core"):  # numpy 1 and numpy 2
        names[f"{core}.multiarray", "_reconstruct"] = _Call(_reconstruct)
        names[f"{core}.multiarray", "scalar"] = _Call(_scalar)
        names[f"{core}.numeric", "_frombuffer"] = _Call(_frombuffer)
    return names


def _builtin_names() -> dict[tuple[str, str], Any]:
    names: dict[tuple[str, str], Any] = {
        ("_codecs", "encode"): _Call(_encode),
        ("collections", "OrderedDict"): collections.OrderedDict,
        ("collections", "defaultdict"): collections.defaultdict,
        ("collections", "deque"): collections.deque,
    }
    for module in ("builtins", "__builtin__"):
        for kind in (set, frozenset, complex, list, dict, tuple, int, float, bool, str):
            names[module, kind.__name__] = kind
        names[module, "bytes"] = _Call(_bytes)
        names[module, "bytearray"] = _Call(_bytearray)
    return names


SAFE_NAMES: Mapping[tuple[str, str], Any] = {**_numpy_names(), **_builtin_names()}

_DAMAGE = (
    pickle.UnpicklingError,
    EOFError,
    ValueError,
    TypeError,
    AttributeError,
    IndexError,
    KeyError,
    ImportError,
    OverflowError,
    MemoryError,
    RecursionError,
    SyntaxError,  # NumPy, of names of types
    struct.error,
)


class _Unpickler(pickle.Unpickler):
    def __init__(self, stream: io.BufferedIOBase, names: Mapping[tuple[str, str], Any], inert: Collection[str]) -> None:
        super().__init__(stream)
        self._names = names
        self._inert = inert

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) in self._names:
            return self._names[module, name]
        if module.partition(".")[0] in self._inert:
            return InertObject
        raise UnsafePickle(f"{module}.{name}")


def load_restricted(
    source: str | os.PathLike[str] | bytes,
    allowed: Mapping[tuple[str, str], Any] | None = None,
    inert: Collection[str] = (),
) -> Any:
    """Unpickle an object made of NumPy arrays, builtin containers and the caller's `allowed` names.

    Args:
        source: path of the pickle, or its bytes.
        allowed: further names, (module, name) -> what to use in its place. A class must define `__setstate__`
            (see `Shim`); a function is wrapped so that the pickle can only call it.
        inert: packages whose other names become an `InertObject`, which keeps what it is given and does nothing.

    Raises:
        UnsafePickle: the pickle names something else; the message holds the file and `module.name`.
        ValueError: the file is truncated or damaged.
    """
    names = {**SAFE_NAMES, **{key: _guarded(value) for key, value in (allowed or {}).items()}}
    if isinstance(source, bytes):
        label, data = "pickle", source
    else:
        label, data = str(source), read_bytes(source)
    try:
        check_memo(data)
        return _Unpickler(io.BytesIO(data), names, inert).load()
    except UnsafePickle as error:
        raise UnsafePickle(
            f"{label}: the pickle asks for {error}, which is not allowed here. Nothing of it was run; "
            "get the file from its official source or have it written with plain numpy arrays."
        ) from None
    except _DAMAGE as error:
        raise ValueError(
            f"{label}: truncated or damaged pickle ({error or type(error).__name__}); fetch it again"
        ) from error


def _guarded(value: Any) -> Any:
    if isinstance(value, type):
        if not hasattr(value, "__setstate__") and not value.__flags__ & _IMMUTABLE_TYPE:
            raise TypeError(f"{value.__name__} needs __setstate__ before a pickle may name it; derive it from Shim")
        return value
    return _Call(value)
