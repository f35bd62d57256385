"""Results of the demo: the table, what its numbers mean, where to look; also written as files."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from world4scorer import __version__
from world4scorer.cli.demo.ledger import Ledger
from world4scorer.cli.demo.stages import STUDIES, DemoFolder, Preset, Stage
from world4scorer.drawing.finding import Finding, Table, save_result
from world4scorer.evaluation.scores.frames import CSV
from world4scorer.evaluation.scores.paper import paper

FILE: Final = "demo"
COLUMNS: Final = ("", "PDMS", "EPDMS", "extended comfort")
MEANINGS: Final = (
    "PDMS (NAVSIM v1.1), of 100: no collision at fault and no corner off the road, times progress, time to collision "
    "and comfort.",
    "EPDMS (NAVSIM v2.2), of 100: the same with driving direction, traffic lights, lane keeping, and extended comfort.",
    "Extended comfort, in % of frames with one before: does the plan continue the one chosen half a second ago?",
    "Framewise chooses the plan of highest utility in each frame on its own, for PDMS by the utility of v1, else of "
    "v2; re-ranked prefers plans that continue the last choice.",
    "The planner sees images and its own speed. The outcomes of its 64 plans are what it was trained to predict.",
)


COMMANDS: Final[Mapping[Preset, str]] = {
    "quick": "w4s demo",
    "tiny": "w4s demo --preset tiny",
    "ready": "w4s demo --ready",
}
FEW_LOGS: Final = 10
"""Below this number of logs the table says that it tells little."""


@dataclass(frozen=True)
class Row:
    """One way to drive; values of 100, None where there is none."""

    name: str
    pdms: float | None
    epdms: float | None
    comfort: float | None

    @property
    def cells(self) -> tuple[str, ...]:
        """As they are read."""
        return (
            self.name,
            *("" if value is None else f"{value:.1f}" for value in (self.pdms, self.epdms, self.comfort)),
        )


@dataclass(frozen=True)
class Summary:
    """The summary that is printed at the end."""

    frames: int
    logs: int
    rows: tuple[Row, ...]
    paper: tuple[Row, ...]
    """What the paper reports, on NAVSIM."""
    findings: Mapping[str, str]
    """By study: what it says first."""
    seconds: Mapping[str, float]
    """By stage."""
    command: str
    """That made it."""

    @classmethod
    def read(cls, stages: Sequence[Stage], ledger: Ledger, demo: DemoFolder) -> Summary:
        """Collect it from what the stages made."""
        evaluation = Finding.load(demo.run.evaluation_file).numbers
        agents = {row["agent"]: row for row in json.loads(demo.agents.with_suffix(".json").read_bytes())["agents"]}
        names = {stage.name for stage in stages}
        studies = {one: Finding.load(demo.run.study_file(one)) for one in STUDIES if f"study {one}" in names}
        return cls(
            frames=evaluation["frames"],
            logs=evaluation["logs"],
            rows=_rows(evaluation["means"], agents),
            paper=_paper(),
            findings={study: found.remarks[0] for study, found in studies.items()},
            seconds={stage.name: taken for stage in stages if (taken := ledger.seconds(stage)) is not None},
            command=COMMANDS[ledger.preset],
        )

    @property
    def minutes(self) -> float:
        """That all stages took together."""
        return sum(self.seconds.values()) / 60

    def table(self) -> Table:
        """Ours, then the paper's."""
        title = f"{self.frames:,} frames of {self.logs} logs, on streets never trained on"
        return Table(title, COLUMNS, tuple(row.cells for row in (*self.rows, *self.paper)))

    def text(self) -> str:
        """For the terminal."""
        table = self.table()
        widths = [max(len(row[column]) for row in (table.columns, *table.rows)) for column in range(len(COLUMNS))]
        lines = [f"{table.title}:", ""]
        for row in (table.columns, *table.rows):
            name, *values = (cell.rjust(width) for cell, width in zip(row, widths, strict=True))
            lines.append("  ".join(("", row[0].ljust(len(name)), *values)))
        lines += ["", *(f"  {text}" for text in self.meanings)]
        if self.findings:
            lines += ["", "What the studies say:", ""]
            lines += [f"  {study}: {text}" for study, text in self.findings.items()]
        return "\n".join(lines)

    @property
    def meanings(self) -> tuple[str, ...]:
        """What the numbers mean, and how much."""
        few = f"{self.logs} logs are few: these numbers show that it works, not how well. `make demo` has more."
        return (*MEANINGS, few) if self.logs < FEW_LOGS else MEANINGS

    def where(self, demo: DemoFolder) -> str:
        """Where to look next."""
        run = demo.run
        looks = (
            (f"{run.report_file}", "everything on one page: open it in a browser"),
            (f"{run.explorer_file}", "every frame with its plans, reasons of zeros, re-ranking live: in a browser too"),
            (f"{run.film_file}", "a drive with the plans and the choice of every frame"),
            (f"{run.evaluation / CSV}", "every frame with the plan taken and its scores"),
            *([(f"{run.studies}", "every study: numbers, tables, figure")] if self.findings else []),
            (f"{demo.out}/{FILE}.md", "the table above"),
        )
        width = max(len(path) for path, _ in looks)
        return "\n".join(["Look at", "", *(f"  {path.ljust(width)}  {what}" for path, what in looks)])

    def save(self, folder: Path) -> None:
        """Write FOLDER/demo.json and demo.md."""
        content = {
            "world4scorer": __version__,
            "command": self.command,
            "cores": os.cpu_count(),
            "seconds": self.seconds,
            "minutes": round(self.minutes, 1),
            "frames": self.frames,
            "logs": self.logs,
            "rows": [vars(row) for row in self.rows],
            "paper": [vars(row) for row in self.paper],
            "findings": self.findings,
        }
        save_result(folder / FILE, content, self.markdown())

    def markdown(self) -> str:
        """As a page."""
        table = self.table()
        times = Table("", ("stage", "seconds"), tuple((name, f"{taken:.0f}") for name, taken in self.seconds.items()))
        parts = [
            "# Demo\n",
            f"{table.title}. Made by `{self.command}`, whose stages took {self.minutes:.1f} minutes on "
            f"{os.cpu_count()} cores.\n",
            table.markdown(),
            *(f"- {text}" for text in self.meanings),
            *(["\n## Studies\n"] if self.findings else []),
            *(f"- `w4s study {study}`: {text}" for study, text in self.findings.items()),
            "\n## Time\n",
            times.markdown(),
        ]
        return "\n".join(parts)


def _rows(means: Mapping[str, Mapping[str, float]], agents: Mapping[str, Mapping[str, Any]]) -> tuple[Row, ...]:
    def mean(name: str) -> float | None:
        return 100 * means[name]["value"] if name in means else None

    def agent(name: str, title: str) -> Row:
        columns = ("pdms-v1.1/score", "epdms-v2.2/score", "epdms-v2.2/two_frame_extended_comfort")
        values = [agents[name][column] for column in columns]
        return Row(title, *(None if value is None else 100 * value for value in values))

    return (
        Row("pool oracle, 64 plans", mean("best_PDMS"), None, None),
        agent("human", "expert"),
        Row("World4Scorer, re-ranked", None, mean("reranked_EPDMS"), mean("reranked_EC")),
        Row("World4Scorer, framewise", mean("v1_PDMS"), mean("v2_EPDMS"), mean("v2_EC")),
        agent("constant-velocity", "constant velocity"),
        agent("stationary", "stationary"),
        Row("random plan of the pool", mean("random_PDMS"), None, None),
    )


def _paper() -> tuple[Row, ...]:
    reported = paper("navsim")
    columns = [reported["columns"].index(name) for name in ("PDMS", "EPDMS", "EC")]
    names = {"ours_reranked": "paper, on NAVSIM: re-ranked", "ours_framewise": "paper, on NAVSIM: framewise"}
    return tuple(Row(title, *(reported[key][column] for column in columns)) for key, title in names.items())
