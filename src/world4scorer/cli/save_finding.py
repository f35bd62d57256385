"""The last step of every `w4s study`: write the files of a finding and print its tables."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from world4scorer.cli.command_line import command_line

if TYPE_CHECKING:
    from world4scorer.drawing.finding import Finding


def save_finding(function: Callable[..., int], finding: Finding, source: Path, out: Path | None, **given: Any) -> int:
    """Write a finding with the command that made it, and print its tables; returns the exit code."""
    from world4scorer.drawing.finding import STUDIES

    command = command_line(["w4s", "study", finding.name], function, source, given)
    path = finding.save(source / STUDIES if out is None else out, command)
    print(finding.markdown(command))
    print(f"written: {path}.json, .md, .png")
    return 0
