"""How the numerical kernels are compiled: once per machine, cached, without the GIL, with the same numbers everywhere.

No kernel uses fast-math or calls the C library's transcendental functions (`rollout.angles` has our own), so a result
depends on IEEE arithmetic alone and not on the processor it was computed on.
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, cast

import numba
from numba.core import event

log = logging.getLogger("world4scorer")

Function = Callable[..., Any]


@cache
def _package_stamp() -> bytes:
    """Digest of every source file of the package.

    Numba refreshes a cached kernel when its own file changes, but not when a kernel that it calls changes in another
    file. Stamping each cache entry with the whole package closes that hole, also across upgrades.
    """
    digest = hashlib.sha256()
    for source in sorted(Path(__file__).parent.rglob("*.py")):
        digest.update(source.read_bytes())
    return digest.digest()


def kernel(function: Function) -> Function:
    """Compile `function` with Numba on first use and keep the machine code on disk."""
    return _compile(function)


def leaf(function: Function) -> Function:
    """Compile a kernel that allocates nothing: every array comes from the caller.

    Without allocation Numba's reference counting can be left out, and it must be in inner loops: counting the arrays
    of a named tuple up and down made the area tests six times slower.
    """
    return _compile(function, _nrt=False, no_cpython_wrapper=True)


def inlined(function: Function) -> Function:
    """Compile a small function straight into the kernels that call it, so that their loops can be vectorised."""
    return cast(Function, numba.njit(inline="always", error_model="numpy")(function))


def _compile(function: Function, **options: Any) -> Function:
    compiled: Any = numba.njit(cache=True, nogil=True, error_model="numpy", no_cfunc_wrapper=True, **options)(function)
    compiled._cache._cache_file._source_stamp = _package_stamp()
    return cast(Function, compiled)


class _AnnounceCompilation(event.Listener):  # type: ignore[misc]
    """Say once, before the first compilation, why the first call takes longer."""

    announced = False

    def on_start(self, event: event.Event) -> None:
        dispatcher = event.data["dispatcher"]
        if not self.announced and dispatcher.py_func.__module__.startswith("world4scorer."):
            self.announced = True
            log.warning("compiling kernels for this machine (once; under a minute) ...")

    def on_end(self, event: event.Event) -> None:
        pass


event.register("numba:compile", _AnnounceCompilation())
