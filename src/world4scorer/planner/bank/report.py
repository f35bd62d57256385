"""Statistics of a bank as tables and as a file."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

from world4scorer.drawing.finding import Table
from world4scorer.jobs.files import atomic_write
from world4scorer.planner.bank.candidate_bank import CandidateBank
from world4scorer.planner.bank.statistics import BankStatistics


def statistics_table(found: BankStatistics) -> Table:
    """Name and value of each number."""
    rows = (
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
    )
    return Table("Candidates", ("", ""), rows)


def family_table(found: BankStatistics) -> Table:
    """Share, unsafe share and PDMS of each family."""
    rows = tuple(
        (name, f"{kind.share:.1%}", f"{kind.unsafe:.1%}", f"{100 * kind.pdms:.1f}")
        for name, kind in (found.families or {}).items()
    )
    return Table("Families", ("family", "share", "unsafe", "PDMS"), rows)


def write_statistics(pack: CandidateBank, found: BankStatistics, path: Path) -> None:
    """Write JSON or Markdown, by the ending of the name."""
    if path.suffix == ".json":
        text = json.dumps({"pack": pack.folder.name, **asdict(found), "notes": pack.notes}, indent=1)
    elif path.suffix == ".md":
        tables = [statistics_table(found), *([family_table(found)] if found.families else [])]
        text = "\n".join([f"# {pack.folder.name}\n", *(table.markdown() for table in tables)])
    else:
        raise ValueError(f"--out {path}: a report ends in .json or .md")
    with atomic_write(path) as stream:
        stream.write((text.rstrip() + "\n").encode())
