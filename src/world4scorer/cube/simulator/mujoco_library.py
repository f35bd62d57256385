"""MuJoCo's C functions, callable from kernels.

Kernels refer to them by name, so that compiled kernels can be kept on disk; the library that the `mujoco` package has
loaded is made known to the linker when this module is imported. Models and data are passed as addresses
(`model._address`), arrays as `array.ctypes.data`.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import mujoco
from llvmlite import binding
from numba import types


def _library() -> Path:
    """The library beside the `mujoco` package."""
    folder = Path(mujoco.__file__).parent
    found = sorted(folder.glob("libmujoco*"))
    if len(found) != 1:
        raise ImportError(f"{folder}: {len(found)} libmujoco, one expected; install mujoco from its wheel")
    return found[0]


_PATH = str(_library())
binding.load_library_permanently(_PATH)
_clock = ctypes.c_void_p.in_dll(ctypes.CDLL(_PATH), "mjcb_time")


@contextmanager
def untimed() -> Iterator[None]:
    """Steps within do not read the clock for `MjData.timer`, which takes a thirtieth of their time."""
    clock = _clock.value
    _clock.value = None
    try:
        yield
    finally:
        _clock.value = clock


_at, _number, _int, _nothing = types.uintp, types.float64, types.int32, types.void

mj_step = types.ExternalFunction("mj_step", _nothing(_at, _at))
mj_getState = types.ExternalFunction("mj_getState", _nothing(_at, _at, _at, _int))
mj_setState = types.ExternalFunction("mj_setState", _nothing(_at, _at, _at, _int))
mj_geomDistance = types.ExternalFunction("mj_geomDistance", _number(_at, _at, _int, _int, _number, _at))
mj_kinematics = types.ExternalFunction("mj_kinematics", _nothing(_at, _at))
mj_comPos = types.ExternalFunction("mj_comPos", _nothing(_at, _at))
mj_jacSite = types.ExternalFunction("mj_jacSite", _nothing(_at, _at, _at, _at, _int))
mj_integratePos = types.ExternalFunction("mj_integratePos", _nothing(_at, _at, _at, _number))
mju_mat2Quat = types.ExternalFunction("mju_mat2Quat", _nothing(_at, _at))
mju_negQuat = types.ExternalFunction("mju_negQuat", _nothing(_at, _at))
mju_mulQuat = types.ExternalFunction("mju_mulQuat", _nothing(_at, _at, _at))
mju_quat2Vel = types.ExternalFunction("mju_quat2Vel", _nothing(_at, _at, _number))
