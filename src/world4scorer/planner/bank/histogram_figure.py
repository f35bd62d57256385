"""Figure of the histogram, with its numbers as JSON and Markdown."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Final

from matplotlib.figure import Figure

from world4scorer.drawing.charts import chart
from world4scorer.drawing.finding import Table, save_result
from world4scorer.drawing.style import EGO, FAINT, INK
from world4scorer.planner.bank.histogram import BankComparison
from world4scorer.planner.bank.statistics import HISTOGRAM_EDGES

GENERATED_COLOUR: Final = "#9ecae1"
BANK_COLOUR: Final = EGO
FIGURE_SUFFIXES: Final = (".png", ".pdf", ".svg")


def write_comparison(found: BankComparison, out: Path, command: str) -> None:
    """Write the figure, `<out>.json` and `<out>.md`; `command` is noted for reproduction."""
    if out.suffix not in FIGURE_SUFFIXES:
        raise ValueError(f"--out {out}: a figure ends in {', '.join(FIGURE_SUFFIXES)}")
    content = {**found.as_dict(), "command": command}
    save_result(out.with_suffix(""), content, as_markdown(found, out, command), {out: draw_histogram(found)})


def draw_histogram(found: BankComparison) -> Figure:
    """Light bars: generated; dark bars: the bank."""
    figure, axes = chart(size=(5.2, 3.2))
    width = (HISTOGRAM_EDGES[1] - HISTOGRAM_EDGES[0]) * 0.45
    middle = (HISTOGRAM_EDGES[1:] + HISTOGRAM_EDGES[:-1]) / 2
    for spread, colour, name, side in (
        (found.generated, GENERATED_COLOUR, "generated", -0.5),
        (found.bank, BANK_COLOUR, "bank", 0.5),
    ):
        axes.bar(middle + side * width, 100 * spread.shares, width, color=colour, label=name)
    axes.set_xlabel("PDMS of a candidate", color=INK)
    axes.set_ylabel("share of candidates [%]", color=INK)
    axes.set_title(f"{found.scenes:,} scenes", fontsize=9, color=FAINT, loc="right")
    axes.legend(frameon=False)
    return figure


def as_markdown(found: BankComparison, picture: Path, command: str) -> str:
    """A table of the two sets, then the histogram bin by bin."""
    sets = (("generated", found.generated), ("bank", found.bank))
    head = ("candidates", "number", "mean PDMS", "unsafe", "PDMS below 0.5")
    body = tuple(
        (name, f"{s.candidates:,}", f"{100 * s.pdms:.1f}", f"{s.unsafe:.1%}", f"{s.below_half:.1%}") for name, s in sets
    )
    bins = tuple(
        (f"{low:.2f} to {high:.2f}", *(f"{s.shares[i]:.1%}" for _, s in sets))
        for i, (low, high) in enumerate(pairwise(HISTOGRAM_EDGES))
    )
    parts = [
        f"# PDMS of generated plans and of the bank, {found.scenes:,} scenes\n",
        f"![Histogram]({picture.name})\n",
        Table("PDMS", head, body).markdown(),
        Table("Histogram", ("PDMS", "generated", "bank"), bins).markdown(),
        f"Made by `{command}`.\n",
    ]
    return "\n".join(parts)
