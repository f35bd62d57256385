"""Compilation of the Numba kernels: cached on disk, without the GIL, with the same results on every machine.

No kernel uses fast-math or calls the C library's transcendental functions (`rollout.angles` has our own), so a result
depends on IEEE arithmetic alone and not on the processor it was computed on.
"""

from __future__ import annotations

import hashlib
import logging
import re
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, cast

import numba
from numba.core import event
from numba.core.caching import IndexDataCacheFile

log = logging.getLogger("world4scorer")

Function = Callable[..., Any]


PACKAGE = Path(__file__).parents[1]
IMPORT = re.compile(rf"^\s*(?:from|import) {PACKAGE.name}\.([\w.]+)(?: import (\([^)]*\)|.*))?", re.MULTILINE)


@cache
def _imported(source: Path) -> tuple[Path, ...]:
    """Files of this package that a source file imports."""
    files = []
    for module, names in IMPORT.findall(source.read_text("utf-8")):
        path = PACKAGE.joinpath(*module.split("."))
        inside = [path / f"{name}.py" for name in re.findall(r"\w+", names)]
        files += [path.with_suffix(".py"), path / "__init__.py", *inside]
    return tuple(path for path in files if path.is_file())


@cache
def _sources_stamp(source: Path) -> str:
    """Digest of all sources that kernels of a file can be made of: the file, and what it imports from this package.

    Numba refreshes a cached kernel when its own file changes, but not when a kernel that it calls changes in another
    file, and it fails on entries whose types have moved since. Naming each entry after the sources closes both holes,
    also across upgrades.
    """
    reached, new = {Path(__file__)}, {source}
    while new:
        reached |= new
        new = {path for known in new for path in _imported(known)} - reached
    digest = hashlib.sha256()
    for path in sorted(reached):
        digest.update(path.read_bytes())
    return digest.hexdigest()


def kernel(function: Function) -> Function:
    """Compile `function` with Numba on first use and cache the machine code on disk."""
    return _compile(function)


def leaf(function: Function) -> Function:
    """Compile a kernel that allocates nothing: every array comes from the caller.

    Without allocation Numba's reference counting can be left out, and it must be in inner loops: counting the arrays
    of a named tuple up and down made the area tests six times slower.
    """
    return _compile(function, _nrt=False, no_cpython_wrapper=True)


def inlined(function: Function) -> Function:
    """Inline a small function into the kernels that call it, so that their loops can be vectorised."""
    return cast(Function, numba.njit(inline="always", error_model="numpy")(function))


def _compile(function: Function, **options: Any) -> Function:
    options |= {"nogil": True, "error_model": "numpy", "no_cfunc_wrapper": True}
    try:
        compiled: Any = numba.njit(cache=True, **options)(function)
    except RuntimeError as error:  # neither the package's folder nor the user's cache can be written
        _warn_uncached(str(error))
        return cast(Function, numba.njit(**options)(function))
    _stamp(compiled._cache, Path(function.__code__.co_filename))
    return cast(Function, compiled)


def _stamp(store: Any, source: Path) -> None:
    """Cache a kernel's machine code under a name that changes with its sources."""
    stamp = _sources_stamp(source)
    store._cache_file = IndexDataCacheFile(
        cache_path=store._cache_path, filename_base=f"{store._impl.filename_base}.{stamp[:12]}", source_stamp=stamp
    )


@cache
def _warn_uncached(reason: str) -> None:
    log.warning("kernels are compiled anew in every process (%s); set NUMBA_CACHE_DIR to a writable folder", reason)


class _AnnounceCompilation(event.Listener):  # type: ignore[misc]
    """Log once, before the first compilation, why the first call takes longer."""

    announced = False

    def on_start(self, event: event.Event) -> None:
        dispatcher = event.data["dispatcher"]
        if not self.announced and dispatcher.py_func.__module__.startswith("world4scorer."):
            self.announced = True
            log.warning("compiling kernels for this machine (once; under a minute) ...")

    def on_end(self, event: event.Event) -> None:
        pass


event.register("numba:compile", _AnnounceCompilation())
