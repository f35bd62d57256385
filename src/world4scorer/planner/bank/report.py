"""Statistics of a bank as rows of text and as a file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Final

from world4scorer.jobs.files import atomic_write
from world4scorer.planner.bank.candidate_bank import CandidateBank
from world4scorer.planner.bank.statistics import BankStatistics

FAMILY_HEAD: Final = ("family", "share", "unsafe", "PDMS")


def statistics_rows(found: BankStatistics) -> list[tuple[str, ...]]:
    """Name and value of each number."""
    return [
        ("scenes", f"{found.scenes:,}"),
        ("scenes without candidates", f"{found.without:,}"),
        ("candidates", f"{found.candidates:,}"),
        ("candidates per scene that has any", f"{found.valid:.1f}"),
        ("seen by one step of training", f"{found.seen:.1%}"),
        ("unsafe candidates", f"{found.unsafe:.1%}"),
        ("... in a collision at fault", f"{found.collisions:.1%}"),
        ("... off the drivable area", f"{found.off_road:.1%}"),
        ("scenes short of the draw's quota", f"{found.short:.1%}"),
        ("... of unsafe candidates", f"{found.short_unsafe:.1%}"),
        ("... of other candidates", f"{found.short_other:.1%}"),
        ("mean PDMS", f"{100 * found.pdms:.1f}"),
    ]


def family_rows(found: BankStatistics) -> list[tuple[str, ...]]:
    """Name, share, unsafe share and PDMS of each family."""
    return [
        (name, f"{kind.share:.1%}", f"{kind.unsafe:.1%}", f"{100 * kind.pdms:.1f}")
        for name, kind in (found.families or {}).items()
    ]


def write_statistics(pack: CandidateBank, found: BankStatistics, path: Path) -> None:
    """Write JSON or Markdown, by the ending of the name."""
    if path.suffix == ".json":
        text = json.dumps({"pack": pack.folder.name, **found.as_dict(), "notes": pack.notes}, indent=1)
    elif path.suffix == ".md":
        text = "\n".join([f"# {pack.folder.name}", "", *markdown(("", ""), statistics_rows(found))])
        if found.families:
            text += "\n" + "\n".join(markdown(FAMILY_HEAD, family_rows(found)))
    else:
        raise ValueError(f"--out {path}: a report ends in .json or .md")
    with atomic_write(path) as stream:
        stream.write((text.rstrip() + "\n").encode())


def markdown(head: tuple[str, ...], body: list[tuple[str, ...]]) -> list[str]:
    """Lines of a table, and an empty one."""
    marks = ("---", *("---:" for _ in head[1:]))
    return [*(f"| {' | '.join(row)} |" for row in (head, marks, *body)), ""]
