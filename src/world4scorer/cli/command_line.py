"""The command line that result files name: options that differ from their defaults, paths without folders."""

from __future__ import annotations

import inspect
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any, Final

MACHINE_OPTIONS: Final = (
    "out",
    "store",
    "data",
    "threads",
    "accelerator",
    "devices",
    "executor",
    "workers",
    "ray_address",
)
"""Options left out: they depend on the machine and do not change results."""


def command_line(words: Sequence[str], command: Callable[..., int], source: Path, given: Mapping[str, Any]) -> str:
    """The command line from its first words, the source, and the options given to the command."""
    line = [*words, source.resolve().name]
    for flag, parameter in inspect.signature(command).parameters.items():
        if flag in given:
            line += _words(flag, given[flag], parameter.default)
    return shlex.join(line)


def _words(flag: str, value: Any, default: Any) -> list[str]:
    if is_dataclass(value):
        parts = [field.name for field in fields(value)]
        return [word for part in parts for word in _words(part, getattr(value, part), getattr(default, part))]
    if value == default or flag in MACHINE_OPTIONS:
        return []
    name = f"--{flag.replace('_', '-')}"
    if value is True:
        return [name]
    values = value if isinstance(value, tuple) else (value,)
    return [name, *(_short(one) for one in values)]


def _short(value: Any) -> str:
    """A path, or LABEL=PATH, without its folders."""
    if not isinstance(value, str | Path):
        return str(value)
    label, equals, path = str(value).partition("=")
    if Path(value).exists() or not equals:
        return Path(value).name
    return f"{label}={Path(path).name}"
