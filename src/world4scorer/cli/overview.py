"""What `w4s --help` prints: one line for each verb, in 80 columns."""

from __future__ import annotations

import inspect
import textwrap
from collections.abc import Callable, Iterable, Mapping
from itertools import groupby
from typing import Any, Final

from world4scorer.cli.command_table import VERBS, Verb, first_sentence

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
    """All verbs by what one wants."""
    width = max(len(verb.name) for verb in VERBS)
    lines = ["usage: w4s VERB ...", "", "Score driving plans that nobody executed.", ""]
    for group, verbs in groupby(VERBS, lambda verb: verb.group):
        lines += [f"{group}:", *_table(((verb.name, verb.summary) for verb in verbs), width), ""]
    lines += ["`w4s VERB --help` tells all about a verb; `w4s --version` the version.", *textwrap.wrap(CODES, WIDTH)]
    return "\n".join([*lines, "", EXAMPLE])


def family_overview(family: Verb) -> str:
    """All verbs of a family."""
    members = family.members()
    width = max(map(len, members))
    lines = [f"usage: w4s {family.name} VERB ...", "", family.summary, ""]
    lines += _table(((name, first_sentence(verb)) for name, verb in members.items()), width)
    lines += ["", f"`w4s {family.name} VERB --help` tells all about a verb.", ""]
    return "\n".join([*lines, *_examples(members), ""])


def description(function: Callable[..., Any]) -> str:
    """What a verb's help begins with: its docstring without the arguments, in 80 columns.

    Indented and without empty lines, because tyro joins lines that begin with a letter and doubles empty ones.
    """
    indent = "  "
    return "\n".join(
        textwrap.fill(paragraph, WIDTH, initial_indent=indent, subsequent_indent=indent, break_on_hyphens=False)
        for paragraph in _paragraphs(function)
    )


def _examples(members: Mapping[str, Callable[..., Any]]) -> list[str]:
    """The first example among a family's verbs."""
    told = [paragraph for verb in members.values() for paragraph in _paragraphs(verb)]
    return [paragraph for paragraph in told if paragraph.startswith("Example: ")][:1]


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
