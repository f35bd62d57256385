"""The command that led to a file, told again in the file: what differs from the defaults, paths by their names."""

from __future__ import annotations

import inspect
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any, Final

UNTOLD: Final = ("out", "store", "data", "threads", "accelerator", "devices")
"""Of the machine, and where things lie."""


def told(words: Sequence[str], verb: Callable[..., int], source: Path, given: Mapping[str, Any]) -> str:
    """A command line: its first words, the source, and the options of the verb that were given."""
    line = [*words, source.resolve().name]
    for flag, parameter in inspect.signature(verb).parameters.items():
        if flag in given:
            line += _words(flag, given[flag], parameter.default)
    return shlex.join(line)


def _words(flag: str, value: Any, usual: Any) -> list[str]:
    if is_dataclass(value):
        parts = [field.name for field in fields(value)]
        return [word for part in parts for word in _words(part, getattr(value, part), getattr(usual, part))]
    if value == usual or flag in UNTOLD:
        return []
    name = f"--{flag.replace('_', '-')}"
    if value is True:
        return [name]
    values = value if isinstance(value, tuple) else (value,)
    return [name, *(_short(one) for one in values)]


def _short(value: Any) -> str:
    """A path, or LABEL=PATH, without where it lies."""
    if not isinstance(value, str | Path):
        return str(value)
    label, equals, path = str(value).partition("=")
    if Path(value).exists() or not equals:
        return Path(value).name
    return f"{label}={Path(path).name}"
