"""Annotated types of arguments: their metavars in help, from which shell completion also knows what to offer.

Commands annotate their parameters with these, so that a kind of argument has one metavar everywhere. The description of
an optional argument says what its absence means, so help does not print `(default: None)`.
"""

from __future__ import annotations

from dataclasses import field, fields, make_dataclass
from pathlib import Path
from typing import Annotated, Any, Final, Literal, get_type_hints

import tyro

from world4scorer.jobs.executor_options import ExecutorName, ExecutorOptions

FILE: Final = "FILE"
FOLDER: Final = "FOLDER"
PATH: Final = "PATH"


def _hint(default: str) -> str:
    return "" if default in ("", "None") else f"(default: {default})"


def metavar(name: str) -> Any:
    """Metavar of an argument; help omits a default of None."""
    return tyro.conf.arg(metavar=name, help_behavior_hint=_hint)


HIDE_DEFAULT: Final[Any] = tyro.conf.arg(help_behavior_hint=_hint)
"""For optional arguments with choices: help lists the choices and omits a default of None."""

File = Annotated[Path, metavar(FILE)]
Folder = Annotated[Path, metavar(FOLDER)]
AnyPath = Annotated[Path, metavar(PATH)]
Files = Annotated[tuple[Path, ...], metavar("FILE [FILE ...]")]
OptionalFile = Annotated[Path | None, metavar(FILE)]
OptionalFolder = Annotated[Path | None, metavar(FOLDER)]
OptionalPath = Annotated[Path | None, metavar(PATH)]

Encoder = Annotated[str, metavar("city|PATH")]
OptionalEncoder = Annotated[str | None, metavar("city|PATH")]
OptionalAddress = Annotated[str | None, metavar("ADDRESS")]
Split = Annotated[str, metavar("SPLIT")]
OptionalSplit = Annotated[str | None, metavar("SPLIT")]
OptionalCount = Annotated[int | None, metavar("N")]
Counts = Annotated[tuple[int, ...], metavar("N [N ...]")]
OptionalNumber = Annotated[float | None, metavar("NUMBER")]
OptionalSize = Annotated[tuple[int, int] | None, metavar("HEIGHT WIDTH")]

Run = Annotated[Path, tyro.conf.Positional, metavar("RUN")]
RunOrPools = Annotated[Path, tyro.conf.Positional, metavar("RUN|POOLS")]
PositionalFolder = Annotated[Path, tyro.conf.Positional, metavar(FOLDER)]
PositionalFile = Annotated[Path, tyro.conf.Positional, metavar(FILE)]
PositionalPath = Annotated[Path, tyro.conf.Positional, metavar(PATH)]
PositionalPaths = Annotated[tuple[Path, ...], tyro.conf.Positional, metavar("PATH [PATH ...]")]

Lqr = Literal["navsim", "corrected"]
Benchmark = Literal["pdms-v1.1", "epdms-v2.2", "epdms-pre151"]
OptionalBenchmark = Annotated[Benchmark | None, HIDE_DEFAULT]

METAVARS: Final[dict[Any, Any]] = {
    Path | None: OptionalFolder,
    int | None: OptionalCount,
    str | None: OptionalEncoder,
    tuple[int, ...]: Counts,
}
"""Arguments that fields of option dataclasses become, by the field's type."""


def flags(options: type[Any], **annotated: Any) -> Any:
    """Make a flag of every field of an option dataclass of the library, with metavars by type or as `annotated`."""
    hints = {name: METAVARS.get(kind, kind) for name, kind in get_type_hints(options).items()} | annotated
    columns = [(one.name, hints[one.name], field(default=one.default)) for one in fields(options)]
    constructor = make_dataclass(options.__name__, columns, bases=(options,), frozen=True)
    return tyro.conf.arg(name="", constructor=constructor)


OptionalExecutor = Annotated[ExecutorName | None, HIDE_DEFAULT]
ExecutorFlags = Annotated[
    ExecutorOptions, flags(ExecutorOptions, executor=OptionalExecutor, ray_address=OptionalAddress)
]
"""The same options for every command whose work is parallel."""
