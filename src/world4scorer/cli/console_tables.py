"""Tables on the terminal. The library builds rows of text, this file prints them with rich."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Final

from rich import box
from rich.console import Console
from rich.table import Table

if TYPE_CHECKING:
    from world4scorer.city.world.info import CityInfo
    from world4scorer.evaluation.scores.official_scores import OfficialComparison
    from world4scorer.evaluation.scores.published import PublishedName
    from world4scorer.evaluation.scores.score_table import ScoreTable
    from world4scorer.evaluation.scores.tables import TableText
    from world4scorer.planner.bank.candidate_bank import CandidateBank
    from world4scorer.planner.bank.statistics import BankStatistics
    from world4scorer.planner.model.config import ModelConfig
    from world4scorer.planner.profiling.profile import Profile
    from world4scorer.planner.profiling.profile_report import Measured

WIDTH: Final = 132
NARROW: Final = 100
"""Columns of tables that go into a file or a pipe."""


def console(width: int = WIDTH) -> Console:
    """Standard output; where it is no terminal, as wide as the tables need."""
    found = Console()
    return found if found.is_terminal else Console(width=width)


def print_tables(tables: Sequence[TableText], total: bool = False) -> None:
    """Print tables; with `total`, the last row of each is the sum of the others."""
    terminal = console()
    for table in tables:
        terminal.print(_table(*table, total=total))


def print_scores(table: ScoreTable, path: object) -> None:
    """Print the means of an official table."""
    print(f"{table.metric}, LQR {table.lqr}: {int(table.valid.sum()):,} of {len(table.tokens):,} tokens -> {path}")
    for name, mean in table.averages.items():
        if name != "pdm_score" and mean == mean:  # NaN where nothing is averaged
            print(f"  {name:32s} {mean:.4f}")


def print_official(found: OfficialComparison) -> None:
    """Print how our scores and official ones compare."""
    table = found.table()
    console().print(_table(table.title, table.columns, table.rows, left=("at token",), no_wrap=True))
    for tokens, where in ((found.only_ours, "there"), (found.only_official, "here")):
        if tokens:
            print(f"{len(tokens):,} tokens are missing {where}: {tokens[0]}, ...")
    print("both agree" if found.agrees else "they DIFFER")


def print_published(name: PublishedName) -> None:
    """Print a table of the paper, apart from ours."""
    from world4scorer.evaluation.scores.published import published_table

    table = published_table(name)
    print(f"\n{table.title}\n\n{table.markdown()}", end="")


def print_city(info: CityInfo, terminal: Console | None = None) -> None:
    """Print what a city dataset contains."""
    from world4scorer.city.world.info_report import TEXT_COLUMNS, headline, tables

    terminal = terminal or console()
    terminal.print(f"[bold]{info.root}[/bold]  {headline(info)}", highlight=False)
    terminal.print(info.state, style=None if info.complete else "bold red", highlight=False)
    for table in tables(info):
        terminal.print(_table(*table, left=TEXT_COLUMNS, no_wrap=True))
    terminal.print(info.attribution, style="dim", highlight=False)


def print_bank(pack: CandidateBank, found: BankStatistics) -> None:
    """Print the statistics of a candidate bank."""
    from world4scorer.planner.bank.report import family_table, statistics_table

    terminal = console(NARROW)
    made = pack.notes.get("source", {}).get("kind", "published")
    terminal.print(f"[bold]{pack.folder}[/bold]  {made}", highlight=False)
    terminal.print(_table(None, ("", ""), statistics_table(found).rows, header=False))
    if found.families:
        families = family_table(found)
        terminal.print(_table(None, families.columns, families.rows))


def print_profile(
    config: ModelConfig, profile: Profile, measured: Sequence[Measured], reranking: float | None = None
) -> None:
    """Print counts and times of a model; for the paper's model, with the paper's numbers beside them."""
    from world4scorer.planner.model.config import paper
    from world4scorer.planner.profiling.profile_report import REPORTED, as_rows

    terminal = console(NARROW)
    head = ("one frame", "here", *(["paper"] if config == paper() else []))
    rows = [(name, value, REPORTED.get(name, ""))[: len(head)] for name, value in as_rows(profile, measured, reranking)]
    table = _table(None, head, rows)
    table.box, table.pad_edge = (box.SIMPLE_HEAD if terminal.is_terminal else None), False
    terminal.print(table)


def _table(
    title: str | None,
    head: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    left: Collection[str] = (),
    header: bool = True,
    total: bool = False,
    no_wrap: bool = False,
) -> Table:
    """Names in the first column and in those of `left`, numbers in the others."""
    style = box.SIMPLE_HEAD if header else box.SIMPLE
    table = Table(title=title, title_justify="left", box=style, show_header=header)
    for column, name in enumerate(head):
        table.add_column(name, justify="left" if column == 0 or name in left else "right", no_wrap=no_wrap)
    for number, row in enumerate(rows, 1):
        last = total and number == len(rows)
        if last:
            table.add_section()
        table.add_row(*row, style="bold" if last else None)
    return table
