"""The last step of every `w4s study`: write the files of a finding and print its tables."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from world4scorer.cli.command_line import command_line
from world4scorer.jobs.run_folder import RunFolder

if TYPE_CHECKING:
    from world4scorer.drawing.finding import Finding


def save_finding(function: Callable[..., int], finding: Finding, source: Path, out: Path | None, **given: Any) -> int:
    """Write a finding with the command that made it, and print its tables; returns the exit code."""
    command = command_line(["w4s", "study", finding.name], function, source, given)
    path = finding.save(RunFolder(source).studies if out is None else out, command)
    print(finding.markdown(command))
    print(f"written: {path}.json, .md, .png")
    return 0
