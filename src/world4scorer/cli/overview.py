"""What `w4s --help` prints: one line for each command, in 80 columns."""

from __future__ import annotations

import inspect
import textwrap
from collections.abc import Callable, Iterable, Mapping
from itertools import groupby
from typing import Any, Final

from world4scorer.cli.command_table import COMMANDS, Command, first_sentence

WIDTH: Final = 80
EXAMPLE: Final = """\
Without any data, all of it at once, or step by step:
  w4s demo
  w4s city make --preset tiny --out city
  w4s prepare --data city --split city_val --store scenes
  w4s evaluate --agents human constant-velocity --store scenes --out agents.csv
"""
CODES: Final = "Exit codes: 0 done, 1 an input could not be used, 2 wrong command line, 130 interrupted."


def overview() -> str:
    """All commands by group."""
    width = max(len(command.name) for command in COMMANDS)
    lines = ["usage: w4s COMMAND ...", "", "Score driving plans that nobody executed.", ""]
    for group, commands in groupby(COMMANDS, lambda command: command.group):
        lines += [f"{group}:", *_table(((command.name, command.summary) for command in commands), width), ""]
    lines += [
        "`w4s COMMAND --help` describes a command; `w4s --version` prints the version.",
        *textwrap.wrap(CODES, WIDTH),
    ]
    return "\n".join([*lines, "", EXAMPLE])


def subcommand_overview(command: Command) -> str:
    """All subcommands of a command."""
    subcommands = command.subcommands()
    width = max(map(len, subcommands))
    lines = [f"usage: w4s {command.name} COMMAND ...", "", command.summary, ""]
    lines += _table(((name, first_sentence(function)) for name, function in subcommands.items()), width)
    lines += ["", f"`w4s {command.name} COMMAND --help` describes a command.", ""]
    return "\n".join([*lines, *_examples(subcommands), ""])


def description(function: Callable[..., Any]) -> str:
    """First part of a command's help: its docstring without the arguments, in 80 columns.

    Indented and without empty lines, because tyro joins lines that begin with a letter and doubles empty ones.
    """
    indent = "  "
    return "\n".join(
        textwrap.fill(paragraph, WIDTH, initial_indent=indent, subsequent_indent=indent, break_on_hyphens=False)
        for paragraph in _paragraphs(function)
    )


def _examples(subcommands: Mapping[str, Callable[..., Any]]) -> list[str]:
    """The first example among subcommands."""
    paragraphs = [paragraph for function in subcommands.values() for paragraph in _paragraphs(function)]
    return [paragraph for paragraph in paragraphs if paragraph.startswith("Example: ")][:1]


def _paragraphs(function: Callable[..., Any]) -> list[str]:
    text = (inspect.getdoc(function) or "").partition("\nArgs:")[0]
    return [" ".join(paragraph.split()) for paragraph in text.strip().split("\n\n")]


def _table(rows: Iterable[tuple[str, str]], width: int) -> list[str]:
    return [f"  {name:{width}s}  {_fitting(summary, WIDTH - width - 4)}" for name, summary in rows]


def _fitting(summary: str, room: int) -> str:
    """A summary, or where it is too long its part before a colon, a semicolon or an opening bracket."""
    if len(summary) <= room:
        return summary
    for mark in (" (", ";", ":", ","):
        part = summary.partition(mark)[0]
        if len(part) < min(room, len(summary)):
            return f"{part}."
    return textwrap.shorten(summary, room, placeholder=" ...")
