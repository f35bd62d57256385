"""Kinds of arguments: what help calls them, and what shell completion offers for them.

A verb annotates its parameters with these, so that the same kind is called the same everywhere. An option that may be
left out says in its description what happens then; `(default: None)` would add nothing.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Final, Literal

import tyro

FILE: Final = "FILE"
FOLDER: Final = "FOLDER"
PATH: Final = "PATH"


def _hint(default: str) -> str:
    return "" if default in ("", "None") else f"(default: {default})"


def called(name: str) -> Any:
    """What help calls an argument."""
    return tyro.conf.arg(metavar=name, help_behavior_hint=_hint)


UNSET: Final[Any] = tyro.conf.arg(help_behavior_hint=_hint)
"""For options with choices that may be left out: help lists the choices, and no default."""

File = Annotated[Path, called(FILE)]
Folder = Annotated[Path, called(FOLDER)]
AnyPath = Annotated[Path, called(PATH)]
Files = Annotated[tuple[Path, ...], called("FILE [FILE ...]")]
MaybeFile = Annotated[Path | None, called(FILE)]
MaybeFolder = Annotated[Path | None, called(FOLDER)]
MaybePath = Annotated[Path | None, called(PATH)]

Encoder = Annotated[str, called("city|PATH")]
MaybeEncoder = Annotated[str | None, called("city|PATH")]
MaybeAddress = Annotated[str | None, called("ADDRESS")]
Split = Annotated[str, called("SPLIT")]
MaybeSplit = Annotated[str | None, called("SPLIT")]
MaybeCount = Annotated[int | None, called("N")]
Counts = Annotated[tuple[int, ...], called("N [N ...]")]
MaybeNumber = Annotated[float | None, called("NUMBER")]
MaybeSize = Annotated[tuple[int, int] | None, called("HEIGHT WIDTH")]

Run = Annotated[Path, tyro.conf.Positional, called("RUN")]
RunOrPools = Annotated[Path, tyro.conf.Positional, called("RUN|POOLS")]
GivenFolder = Annotated[Path, tyro.conf.Positional, called(FOLDER)]
GivenFile = Annotated[Path, tyro.conf.Positional, called(FILE)]
GivenPath = Annotated[Path, tyro.conf.Positional, called(PATH)]
GivenPaths = Annotated[tuple[Path, ...], tyro.conf.Positional, called("PATH [PATH ...]")]

Executor = Literal["processes", "serial", "ray"]
Lqr = Literal["navsim", "corrected"]
Benchmark = Literal["pdms-v1.1", "epdms-v2.2", "epdms-pre151"]
MaybeBenchmark = Annotated[Benchmark | None, UNSET]
