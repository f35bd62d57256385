from __future__ import annotations

import collections
import contextlib
import io
import os
import pickle
import pickletools
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from world4scorer.datasets.navsim.pickles import Shim, UnsafePickle, load_restricted

PLAIN: dict[str, Any] = {
    "matrix": np.arange(6.0).reshape(2, 3).T,
    "names": np.array(["vehicle", "bicycle"]),
    "empty": np.zeros((0, 7)),
    "objects": np.array([1, "a", None], object),
    "scalar": np.float64(3.5),
    "flag": np.bool_(True),
    "point": np.array(3.0),
    "containers": [{1, 2}, (3,), {"a": b"bytes"}, frozenset({4}), bytearray(b"5"), 2 + 3j],
    "ordered": collections.OrderedDict(a=1),
    "default": collections.defaultdict(list, {1: [2]}),
}


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_plain_data_comes_back(protocol: int) -> None:
    found = load_restricted(pickle.dumps(PLAIN, protocol))
    assert list(found) == list(PLAIN)
    for name, value in PLAIN.items():
        if isinstance(value, np.ndarray):
            assert found[name].dtype == value.dtype
            np.testing.assert_array_equal(found[name], value)
        else:
            assert found[name] == value


def test_names_of_older_numpy() -> None:
    old = pickle.dumps(np.arange(3.0), 2).replace(b"numpy._core.multiarray", b"numpy.core.multiarray")
    np.testing.assert_array_equal(load_restricted(old), np.arange(3.0))


def test_what_was_read_pickles_as_plain_numpy() -> None:
    again = pickle.dumps(load_restricted(pickle.dumps(np.arange(3.0), 4)), 4)
    assert b"world4scorer" not in again
    assert type(pickle.loads(again)) is np.ndarray


@given(hnp.arrays(st.sampled_from(["f8", "i4", "u1", "?", "<U3"]), hnp.array_shapes(min_dims=0, max_side=4)))
def test_any_array_comes_back(array: np.ndarray[Any, Any]) -> None:
    found = load_restricted(pickle.dumps(array, 4))
    assert found.dtype == array.dtype and found.shape == array.shape
    assert found.tobytes() == array.tobytes()


class Call:
    """Pickles as a call of something."""

    def __init__(self, function: Any, *arguments: Any) -> None:
        self.function, self.arguments = function, arguments

    def __reduce__(self) -> Any:
        return self.function, self.arguments


@pytest.mark.parametrize(
    ("function", "arguments", "name"),
    [
        (os.system, ("touch hacked",), f"{os.system.__module__}.system"),
        (eval, ("1 + 1",), "builtins.eval"),
        (getattr, (1, "real"), "builtins.getattr"),
        (np.load, ("x.npy",), "numpy.load"),
        (np.fromfile, ("x",), "numpy"),
        (type("Anything", (), {}), (), "Anything"),
    ],
)
def test_hostile_pickles_are_refused(tmp_path: Path, function: Any, arguments: Any, name: str) -> None:
    path = tmp_path / "log.pkl"
    if isinstance(function, type):  # a class that cannot be pickled by name: write the opcodes
        path.write_bytes(b"cevil.module\nAnything\n)R.")
    else:
        path.write_bytes(pickle.dumps([Call(function, *arguments)]))
    with pytest.raises(UnsafePickle) as error:
        load_restricted(path)
    assert str(path) in str(error.value) and name in str(error.value)


def test_functions_and_classes_cannot_be_changed() -> None:
    # BUILD on a global: (None, {"attribute": value}) asks for setattr on it
    for target in (b"cnumpy._core.multiarray\n_reconstruct\n", b"cnumpy\nndarray\n"):
        with pytest.raises(ValueError):
            load_restricted(target + b"(N}Vhacked\nK\x01stb.")
    assert not hasattr(np.ndarray, "hacked")


def test_array_state_is_not_trusted() -> None:
    """An object array given as raw bytes would make numpy follow made-up pointers."""
    honest = pickle.dumps(np.array([None], object), 2)
    opcodes = [opcode.name for opcode, _, _ in pickletools.genops(honest)]
    assert "BUILD" in opcodes
    stream = io.BytesIO()
    stream.write(
        b"\x80\x02cnumpy._core.multiarray\n_reconstruct\ncnumpy\nndarray\nK\x00\x85c_codecs\nencode\nX\x01\x00\x00\x00bX\x06\x00\x00\x00latin1\x86R\x87R"
    )
    stream.write(
        b"(K\x01K\x01\x85cnumpy\ndtype\nX\x02\x00\x00\x00O8\x89\x88\x87R(K\x03X\x01\x00\x00\x00|NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\x00tb\x89"
    )
    stream.write(b"c_codecs\nencode\nX\x08\x00\x00\x00AAAAAAAAX\x06\x00\x00\x00latin1\x86Rtb.")
    with pytest.raises(ValueError, match="damaged"):
        load_restricted(stream.getvalue())


def test_large_allocations_are_refused() -> None:
    with pytest.raises(ValueError):
        load_restricted(pickle.dumps(Call(bytearray, 10**12)))


@pytest.mark.parametrize("length", [0, 1, 40, 200, -1])
def test_truncated_pickle(tmp_path: Path, length: int) -> None:
    path = tmp_path / "log.pkl"
    path.write_bytes(pickle.dumps(PLAIN)[:length])
    with pytest.raises(ValueError, match="truncated or damaged") as error:
        load_restricted(path)
    assert str(path) in str(error.value)


@given(st.binary(max_size=60))
def test_noise_is_a_value_error_or_plain_data(noise: bytes) -> None:
    with contextlib.suppress(ValueError):
        load_restricted(noise)


def test_missing_file(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        load_restricted(tmp_path / "nothing.pkl")


class Point(Shim):
    x: float
    y: float


def test_shims_stand_in_for_classes() -> None:
    original = b"\x80\x02celsewhere\nPoint\n)\x81}(X\x01\x00\x00\x00xK\x01X\x01\x00\x00\x00yK\x02ub."
    found = load_restricted(original, {("elsewhere", "Point"): Point})
    assert isinstance(found, Point) and (found.x, found.y) == (1, 2)
    with pytest.raises(UnsafePickle, match=r"elsewhere\.Point"):
        load_restricted(original)


def test_unguarded_classes_are_not_accepted() -> None:
    with pytest.raises(TypeError, match="__setstate__"):
        load_restricted(b"N.", {("elsewhere", "Open"): type("Open", (), {})})


def test_object_array_with_too_few_objects() -> None:
    class Short:
        def __reduce__(self) -> Any:
            build = np._core.multiarray._reconstruct  # type: ignore[attr-defined]
            return build, (np.ndarray, (0,), b"b"), (1, (3,), np.dtype("O"), False, [1, 2])

    with pytest.raises(ValueError, match="as many objects as its shape"):
        load_restricted(pickle.dumps(Short(), 2))
