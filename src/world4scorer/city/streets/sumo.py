"""Access to SUMO's wheels: programs, networks, library.

Importing the wheels sets `PROJ_DATA`, which breaks other users of PROJ in the process. So folders are located without
importing them, and the library is loaded only in simulation processes.
"""

from __future__ import annotations

import contextlib
import ctypes
import importlib.util
import io
import os
import subprocess
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Final

from world4scorer.city.streets.errors import CityError

INSTALL: Final = "install it with `pip install 'world4scorer[city]'`"
SYSTEM_LIBRARIES: Final = {
    "libGL.so.1": "libgl1",
    "libX11.so.6": "libx11-6",
    "libXext.so.6": "libxext6",
    "libXrender.so.1": "libxrender1",
    "libatomic.so.1": "libatomic1",
}
"""Shared libraries that SUMO is linked against, with their Debian and Ubuntu packages. No display is used."""


@cache
def sumo_home() -> Path:
    """The folder of the `eclipse-sumo` wheel."""
    spec = importlib.util.find_spec("sumo")
    if spec is None or not spec.submodule_search_locations:
        raise CityError(f"SUMO (package eclipse-sumo) is not installed; {INSTALL}")
    return Path(spec.submodule_search_locations[0])


def missing_libraries() -> dict[str, str]:
    """System libraries that SUMO needs and this machine lacks, with their packages."""
    missing = {}
    for library, package in SYSTEM_LIBRARIES.items():
        try:
            ctypes.CDLL(library)
        except OSError:
            missing[library] = package
    return missing


def load_sumo() -> Any:
    """Load `libsumo`, which allows one simulation per process."""
    if importlib.util.find_spec("libsumo") is None:
        raise CityError(f"SUMO's library (package libsumo) is not installed; {INSTALL}")
    missing = missing_libraries()
    if missing:
        raise CityError(
            f"SUMO's library needs {', '.join(missing)}, which this system lacks; "
            f"on Debian or Ubuntu: apt-get install {' '.join(missing.values())}"
        )
    with sumo_environment(), contextlib.redirect_stdout(io.StringIO()):  # it prints advice on import
        import libsumo
    return libsumo


@contextlib.contextmanager
def sumo_environment() -> Iterator[None]:
    """Set SUMO's environment variables temporarily."""
    before = dict(os.environ)
    os.environ.update(_variables())
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


def netconvert(arguments: Sequence[str | os.PathLike[str]]) -> None:
    """Run SUMO's network builder; its error output becomes the message."""
    _run("netconvert", arguments)


def netgenerate(arguments: Sequence[str | os.PathLike[str]]) -> None:
    """Run SUMO's generator of abstract networks; its error output becomes the message."""
    _run("netgenerate", arguments)


def _run(program: str, arguments: Sequence[str | os.PathLike[str]]) -> None:
    command = [str(sumo_home() / "bin" / program), *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, **_variables()}, check=False)
    if done.returncode:
        complaint = [line for line in done.stderr.splitlines() if "Error" in line] or done.stderr.splitlines()[-1:]
        raise CityError(f"{program} cannot build the network: {' '.join(complaint) or f'exit {done.returncode}'}")


def _variables() -> dict[str, str]:
    projections = str(sumo_home() / "data" / "proj")
    return {"SUMO_HOME": str(sumo_home()), "PROJ_DATA": projections, "PROJ_LIB": projections}
