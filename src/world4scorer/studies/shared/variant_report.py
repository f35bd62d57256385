"""Tables, figure and words that studies of variants share. Scores and shares are written in hundredths."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from matplotlib.figure import Figure

from world4scorer.drawing.charts import SERIES, chart
from world4scorer.drawing.dots import DotRow, dot_legend, draw_dots
from world4scorer.drawing.finding import Table
from world4scorer.evaluation.scores.bootstrap import Interval
from world4scorer.studies.shared.variant_scores import VariantScores

NO_VALUE = ""

Paper = Mapping[str, Mapping[str, float]]
"""What the paper reports in hundredths, by variant and measure."""


def tables(
    scores: VariantScores, names: Sequence[str], against: str, reported: Paper | None = None
) -> tuple[Table, ...]:
    """Means, changes against one variant and how small ones could be seen, and, if there are several, each seed."""
    known = reported or {}
    beside = [name for name in names if any(name in one for one in known.values())]
    columns = ("", *names, *(f"{name}; paper, NAVSIM" for name in beside))
    means, changes, smallest = [], [], []
    for variant in scores.measures:
        paper_cells = [_cell(known.get(variant, {}).get(name)) for name in beside]
        means.append((variant, *(scores.value(variant, name).times(100).text() for name in names), *paper_cells))
        if variant != against:
            found = [scores.change(variant, name, against).times(100).text(2, signed=True) for name in names]
            moved = [_cell(paper_change(known, variant, name, against), "+.2f") for name in beside]
            changes.append((variant, *found, *moved))
            smallest.append((variant, *(_cell(100 * scores.detectable(variant, name, against)) for name in names)))
    made = [
        Table("Means and 95 % intervals", columns, tuple(means)),
        Table(f"Change against {against}, paired by frame", columns, tuple(changes)),
        Table(
            f"Smallest change that would be seen with a power of 80 % ({_varied(scores)})",
            ("", *names),
            tuple(smallest),
        ),
    ]
    if len(scores.seeds) > 1:
        made.append(_seed_table(scores, names))
    return tuple(made)


def _varied(scores: VariantScores) -> str:
    """What the power takes into account."""
    seeds = len(scores.seeds)
    return "logs; one seed says nothing of trainings" if seeds == 1 else f"logs and {seeds} seeds"


def paper_change(reported: Paper, variant: str, name: str, against: str) -> float | None:
    """The change that the paper reports, in hundredths."""
    after, before = (reported.get(one, {}).get(name) for one in (variant, against))
    return None if after is None or before is None else after - before


def seeds_remark(scores: VariantScores) -> str:
    """What the intervals do not cover."""
    if len(scores.seeds) == 1:
        return "One seed: intervals say how results vary with the logs, not with the training (`--seeds` adds some)."
    return f"Means over {len(scores.seeds)} seeds; intervals say how they vary with the logs, the rings with the seed."


def figure(
    scores: VariantScores,
    names: Sequence[str],
    changed: Sequence[str],
    against: str,
    reported: Paper | None = None,
    labels: Mapping[str, str] | None = None,
) -> Figure:
    """A panel of values for each of `names`, and one of changes against a variant for all of `changed`."""
    known, called, variants = reported or {}, labels or {}, list(scores.measures)
    colours = dict(zip(variants, SERIES, strict=False))
    rows = max(len(variants), len(changed) * (len(variants) - 1))
    drawn, axes = chart(
        len(names) + 1, size=(3.1 * len(names) + 5.0, 1.4 + 0.3 * rows), width_ratios=[1.0] * len(names) + [1.35]
    )
    for axis, name in zip(axes, names, strict=False):
        draw_dots(
            axis,
            [
                _row(
                    called.get(variant, variant),
                    scores.value(variant, name),
                    scores.by_seed(variant, name),
                    known.get(variant, {}).get(name),
                    colours[variant],
                )
                for variant in variants
            ],
        )
        axis.set_title(name, fontsize=10)
        if axis is not axes[0]:
            axis.set_yticklabels([])
    others = [variant for variant in variants if variant != against]
    draw_dots(
        axes[-1],
        [
            _row(
                f"{name}: {called.get(variant, variant)}" if len(others) > 1 else name,
                scores.change(variant, name, against),
                scores.change_by_seed(variant, name, against),
                paper_change(known, variant, name, against),
                colours[variant],
            )
            for name in changed
            for variant in others
        ],
        zero=True,
        group=len(others) if len(others) > 1 else 0,
    )
    axes[-1].set_title(f"change against “{called.get(against, against)}”", fontsize=10)
    for axis in axes:
        axis.set_xlabel("points")
    drawn.legend(
        handles=dot_legend(seeds=len(scores.seeds) > 1, paper=bool(known)),
        loc="outside lower center",
        ncols=3,
        fontsize=8,
        frameon=False,
    )
    return drawn


def _row(label: str, found: Interval, single: Sequence[float], paper: float | None, colour: str) -> DotRow:
    value, low, high = found.times(100)
    return DotRow(label, value, low, high, [100 * one for one in single], paper, colour)


def _seed_table(scores: VariantScores, names: Sequence[str]) -> Table:
    rows: list[tuple[Any, ...]] = []
    for variant in scores.measures:
        columns = [scores.by_seed(variant, name) for name in names]
        for seed, values in zip(scores.seeds, zip(*columns, strict=True), strict=True):
            rows.append((f"{variant}, {seed}", *(f"{100 * value:.1f}" for value in values)))
    return Table("Each seed", ("", *names), tuple(rows))


def _cell(value: float | None, form: str = ".2f") -> str:
    return NO_VALUE if value is None else f"{value:{form}}"
