"""Files of the study: `about.json` with the settings of a folder, and arrays in `.npz`."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import asdict, fields, is_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar, get_type_hints
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from world4scorer import __version__
from world4scorer.cube.errors import CubeError
from world4scorer.jobs.array_files import open_archive
from world4scorer.jobs.files import atomic_write, read_json
from world4scorer.jobs.resumable import Settings

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

ABOUT: Final = "about.json"

_Config = TypeVar("_Config", bound="DataclassInstance")


def about(folder: Path, config: DataclassInstance, what: str, **made_from: Any) -> Settings:
    """What a folder holds and what it is made from."""
    content = {"what": what, "config": asdict(config), "made_from": made_from, "version": __version__}
    return Settings(folder / ABOUT, content, ignored=("version",))


def read_about(folder: Path, config: type[_Config], what: str, remedy: str) -> _Config:
    """The configuration that a folder was made with; raises CubeError with the `remedy` if there is none."""
    path = folder / ABOUT
    if not path.exists():
        raise CubeError(f"{folder} holds no {what} ({path} is missing): {remedy}")
    found = read_json(path, CubeError)
    names = {field.name for field in fields(config)}
    if found.get("what") != what or set(found.get("config", {})) != names:
        raise CubeError(f"{path} describes {found.get('what', 'something else')}, not {what} of this version")
    try:
        return _restored(config, found["config"])
    except (KeyError, TypeError, AttributeError) as error:
        raise CubeError(f"{path} does not describe {what} of this version: {error}") from error


def by_file(unit: str, show: bool) -> dict[str, Any]:
    """Options of `run_missing` for tasks with a `path`, which are done once it exists, and a `size` in units."""
    return {"is_done": lambda task: task.path.exists(), "unit": unit, "size": lambda task: task.size, "show": show}


def digest_of(path: Path) -> str:
    """What tells a file's content from another's; raises CubeError if there is no such file."""
    if not path.exists():
        raise CubeError(f"{path} is missing: run the stage that makes it first")
    with open(path, "rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()[:16]


def _restored(config: type[_Config], values: Mapping[str, Any]) -> _Config:
    """A configuration from its JSON, in which tuples are lists and configurations within are objects."""
    kinds = get_type_hints(config)
    restored = {}
    for name, value in values.items():
        if is_dataclass(kinds[name]):
            restored[name] = _restored(kinds[name], value)
        else:
            restored[name] = tuple(value) if isinstance(value, list) else value
    return config(**restored)


def write_arrays(path: Path, arrays: Mapping[str, NDArray[Any]]) -> None:
    """Write arrays as one `.npz`, whole or not at all."""
    with atomic_write(path, durable=False) as stream:
        np.savez(stream, allow_pickle=False, **arrays)


def read_arrays(path: Path, names: Iterable[str], remedy: str) -> dict[str, NDArray[Any]]:
    """What `write_arrays` wrote; `remedy` says what makes it anew; raises CubeError if it is missing or damaged."""
    if not path.exists():
        raise CubeError(f"{path} is missing: {remedy}")
    try:
        with open_archive(path) as arrays:
            return {name: arrays[name] for name in names}
    except (OSError, EOFError, KeyError, ValueError, BadZipFile) as error:
        raise CubeError(f"{path} is damaged ({error}): delete it, and {remedy}") from error
