"""How the study's folders are kept: a description in `about.json`, arrays in `.npz`, nothing ever half written."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, fields, is_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar, get_type_hints
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from world4scorer import __version__
from world4scorer.cube.errors import CubeError
from world4scorer.jobs.files import atomic_write

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

ABOUT: Final = "about.json"

_Config = TypeVar("_Config", bound="DataclassInstance")


def write_about(folder: Path, config: DataclassInstance, what: str, **made_from: Any) -> None:
    """Say what a folder holds and what it was made from, or check that it holds just that already.

    Raises:
        CubeError: It holds something else.
    """
    path = folder / ABOUT
    folder.mkdir(parents=True, exist_ok=True)
    described = json.loads(json.dumps({"what": what, "config": asdict(config), "made_from": made_from}, default=str))
    if path.exists():
        found = read_json(path)
        if any(found.get(key) != value for key, value in described.items()):
            raise CubeError(
                f"{folder} holds {found.get('what', 'something')} made with other settings, or from something else "
                f"({path}): give the same options as then, or delete the folder to make it anew"
            )
        return
    write_json(path, {**described, "version": __version__})


def read_about(folder: Path, config: type[_Config], what: str, remedy: str) -> _Config:
    """The configuration that a folder was made with; `remedy` says what makes one.

    Raises:
        CubeError: It holds no such thing.
    """
    path = folder / ABOUT
    if not path.exists():
        raise CubeError(f"{folder} holds no {what} ({path} is missing): {remedy}")
    found = read_json(path)
    names = {field.name for field in fields(config)}
    if found.get("what") != what or set(found.get("config", {})) != names:
        raise CubeError(f"{path} describes {found.get('what', 'something else')}, not {what} of this version")
    try:
        return _restored(config, found["config"])
    except (KeyError, TypeError, AttributeError) as error:
        raise CubeError(f"{path} does not describe {what} of this version: {error}") from error


def digest_of(path: Path) -> str:
    """What tells a file's content from another's.

    Raises:
        CubeError: There is no such file.
    """
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
    """What `write_arrays` wrote; `remedy` says what makes it anew.

    Raises:
        CubeError: It is missing, damaged or something else.
    """
    if not path.exists():
        raise CubeError(f"{path} is missing: {remedy}")
    try:
        with np.load(path, allow_pickle=False) as arrays:
            return {name: arrays[name] for name in names}
    except (OSError, EOFError, KeyError, ValueError, BadZipFile) as error:
        raise CubeError(f"{path} is damaged ({error}): delete it, and {remedy}") from error


def write_json(path: Path, content: Mapping[str, Any]) -> None:
    """Write JSON for people to read, whole or not at all."""
    with atomic_write(path) as stream:
        stream.write((json.dumps(content, indent=1) + "\n").encode())


def read_json(path: Path) -> dict[str, Any]:
    """What `write_json` wrote.

    Raises:
        CubeError: It cannot be read.
    """
    try:
        found = json.loads(path.read_text())
    except (ValueError, OSError) as error:
        raise CubeError(f"{path} cannot be read: {error}") from error
    if not isinstance(found, dict):
        raise CubeError(f"{path} is not a description")
    return found
