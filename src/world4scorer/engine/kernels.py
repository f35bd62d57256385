"""Compilation of the Numba kernels: cached on disk, without the GIL, with the same results on every machine.

No kernel uses fast-math or calls the C library's transcendental functions (`rollout.angles` has our own), so a result
depends on IEEE arithmetic alone and not on the processor it was computed on.

A wheel may bring kernels compiled ahead (`.ci/compile_kernels.py` adds them): entries of Numba's own cache, for a
baseline processor of each kind of machine. They are taken where Python, Numba, machine and every source they were made
of are the same; else, and for all other kernels, Numba compiles as without them.
"""

from __future__ import annotations

import hashlib
import logging
import platform
import re
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, Final, cast

import numba
from llvmlite import binding
from numba.core import event
from numba.core.caching import Cache, IndexDataCacheFile, NullCache
from numba.core.compiler import CompileResult

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
    stamp = _sources_stamp(Path(function.__code__.co_filename))
    try:
        compiled: Any = numba.njit(cache=True, **options)(function)
    except RuntimeError:  # neither the package's folder nor the user's cache can be written
        compiled = numba.njit(**options)(function)
        compiled._cache = _ReadOnlyCache(function, _CacheFile(AHEAD, function, stamp))
        return cast(Function, compiled)
    store = compiled._cache
    store._cache_file = _CacheFile(store._cache_path, function, stamp)
    return cast(Function, compiled)


AHEAD: Final = Path(__file__).parent / "compiled_ahead" / f"{sys.platform}-{platform.machine().lower()}"
"""Kernels compiled ahead for this kind of machine, if any."""
BASELINES: Final = {
    "x86_64": (
        "x86-64-v3",
        ("avx2", "bmi", "bmi2", "cx16", "f16c", "fma", "lzcnt", "movbe", "popcnt", "sahf", "sse4.2"),
    ),
    "aarch64": ("generic", ()),
}
"""By machine: LLVM's name of the processor that kernels are compiled ahead for, and what it can do."""


@cache
def baseline() -> str | None:
    """Name of the processor whose kernels run here; None if none were brought along or this one cannot run them."""
    name, needed = BASELINES.get(platform.machine().lower(), (None, ()))
    if name is None or not AHEAD.is_dir():
        return None
    able = binding.get_host_cpu_features()
    return name if all(able.get(feature) for feature in needed) else None


class _CacheFile(IndexDataCacheFile):  # type: ignore[misc]
    """Machine code of one kernel under a name that changes with its sources; then, that compiled ahead."""

    def __init__(self, folder: str | Path, function: Function, stamp: str) -> None:
        code, version = function.__code__, f"py{sys.version_info[0]}{sys.version_info[1]}{getattr(sys, 'abiflags', '')}"
        name = f"{Path(code.co_filename).stem}.{function.__qualname__}-{code.co_firstlineno}.{version}.{stamp[:12]}"
        super().__init__(cache_path=str(folder), filename_base=name, source_stamp=stamp)
        self._ahead = IndexDataCacheFile(cache_path=str(AHEAD), filename_base=name, source_stamp=stamp)

    def load(self, key: Any) -> Any:
        """The entry of a signature, processor and code; None if there is none."""
        found = super().load(key)
        if found is None and baseline() is not None:
            signature, (triple, _, _), code = key
            found = self._ahead.load((signature, (triple, baseline(), ""), code))
        return found


class _ReadOnlyCache(NullCache):  # type: ignore[misc]
    """Kernels compiled ahead alone, where no folder can be written."""

    _index_key = Cache._index_key

    def __init__(self, function: Function, file: _CacheFile) -> None:
        self._py_func, self._file = function, file

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """The compiled kernel of a signature, or None."""
        target_context.refresh()
        found = self._file.load(self._index_key(sig, target_context.codegen()))
        if found is None:
            _warn_uncached()
            return None
        return CompileResult._rebuild(target_context, *found)


@cache
def _warn_uncached() -> None:
    log.warning(
        "kernels are compiled anew in every process: neither the package's folder nor a cache in HOME can be written; "
        "set NUMBA_CACHE_DIR to a writable folder"
    )


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
