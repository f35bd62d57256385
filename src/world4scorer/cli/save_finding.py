"""How commands of studies end: with the files of a finding."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from world4scorer.cli.command_line import told

if TYPE_CHECKING:
    from world4scorer.drawing.finding import Finding


def keep(verb: Callable[..., int], finding: Finding, source: Path, out: Path | None, **given: Any) -> int:
    """Write the finding, with the command that led to it, and print its tables."""
    from world4scorer.drawing.finding import STUDIES

    command = told(["w4s", "study", finding.name], verb, source, given)
    path = finding.save(source / STUDIES if out is None else out, command)
    print(finding.markdown(command))
    print(f"written: {path}.json, .md, .png")
    return 0
