"""Figures of the study of counterfactual futures: who finds the true futures, and what replay says of plans."""

from __future__ import annotations

from typing import Final

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from world4scorer.drawing import style
from world4scorer.drawing.charts import BAD, GOOD, OTHER, OURS, PAPER, chart, set_title
from world4scorer.drawing.dots import DotRow, draw_dots
from world4scorer.evaluation.scores.bootstrap import Interval
from world4scorer.studies.counterfactual import measures as m
from world4scorer.studies.counterfactual.models import BEST_READER, LOCAL_READER, OWN, OWN_AMONG, READER, WHOLE, row
from world4scorer.studies.counterfactual.reactive_outcomes import COMPONENTS, Reactive
from world4scorer.studies.shared.variant_scores import VariantScores

COLOURS: Final = {OWN: OURS, OWN_AMONG: "#56b4e9", READER: OTHER, LOCAL_READER: "#cc79a7", BEST_READER: GOOD}
NAMES: Final = {
    OWN: "the planner's own readout, plan by plan",
    OWN_AMONG: "own readout, all plans of the pool together",
    READER: "linear reader fitted to executed plans",
    LOCAL_READER: "the same, of other logs of the branched scenes",
    BEST_READER: "linear reader fitted to true branches of other logs",
}
PANELS: Final = (
    (f"mean off: {m.PAIRWISE}", "pairs of futures in order [%]", 100.0, 50.0),
    (f"mean off: {m.PAIRWISE_ON_ROAD}", "the same, plans on the road [%]", 100.0, 50.0),
    (m.WITHIN_R2_ON_ROAD, "variation explained (R2), plans on the road", 1.0, 0.0),
)
"""Measure, title, factor, and what guessing gives."""


FIRST_VERSION: Final = sum(version == "v1" for version, _ in COMPONENTS.values())
"""Components of v1.1, which come first."""


def draw(scores: VariantScores) -> Figure:
    """Everybody's predictions by three measures, and what the whole method's own readouts are like."""
    rows = sorted(scores.measures, key=_order)
    figure, axes = chart(4, size=(17.0, 1.9 + 0.33 * len(rows)), width_ratios=(1.0, 1.0, 1.0, 0.85))
    for axis, (name, title, factor, guess) in zip(axes, PANELS, strict=False):
        draw_dots(axis, [_dot(scores, variant, name, factor) for variant in rows])
        axis.axvline(guess, color=style.FAINT, lw=1, ls=(0, (4, 3)), zorder=1)
        set_title(axis, title)
        if axis is not axes[0]:
            axis.set_yticklabels([])
    _alike(axes[3], scores)
    marks = [Line2D([], [], marker="o", color=COLOURS[how], lw=2, label=NAMES[how]) for how in COLOURS]
    marks.append(Line2D([], [], marker="o", color=PAPER, lw=2, label="the view now, unchanged"))
    marks.append(Line2D([], [], color=style.FAINT, lw=1, ls=(0, (4, 3)), label="guessing"))
    figure.legend(handles=marks, loc="outside lower center", ncols=3, fontsize=9, frameon=False)
    return figure


def _order(variant: str) -> int:
    ways = list(COLOURS)
    return ways.index(_how(variant)) if _how(variant) in ways else len(ways)


def _how(variant: str) -> str:
    return variant.partition(": ")[2]


def _dot(scores: VariantScores, variant: str, name: str, factor: float) -> DotRow:
    value, low, high = scores.value(variant, name).times(factor)
    single = [factor * one for one in scores.by_seed(variant, name)]
    whose = variant.partition(": ")[0]
    label = whose if _how(variant) else "view now"
    return DotRow(label, value, low, high, single, None, COLOURS.get(_how(variant), PAPER))


def _alike(axis: Axes, scores: VariantScores) -> None:
    """What the whole method's own readouts of unexecuted plans are like, by cosine."""
    rows = []
    for how in (OWN, OWN_AMONG):
        if row(how, WHOLE) in scores.measures:
            for name in m.AGAINST:
                found = scores.value(row(how, WHOLE), f"mean off: {name}")
                rows.append(DotRow(name, *found, (), None, COLOURS[how]))
    draw_dots(axis, rows, group=len(m.AGAINST))
    axis.yaxis.tick_right()
    set_title(axis, "cosine of own readouts with, mean off")


def draw_reactive(found: Reactive) -> Figure:
    """Component by component: agreement, misses, false alarms."""
    figure, axes = chart(3, size=(13.0, 5.2))
    names = list(found.components)
    for axis, part, title, colour in zip(
        axes,
        ("same", "missed", "false_alarms"),
        (
            "same label in replay and in reactive traffic [%]",
            "failures in reactive traffic that replay misses [%]",
            "passes in reactive traffic that replay fails [%]",
        ),
        (OURS, BAD, OTHER),
        strict=True,
    ):
        draw_dots(axis, [_reactive_dot(name, getattr(found.components[name], part), colour) for name in names])
        axis.axhline(FIRST_VERSION - 0.5, color="#e6e6e3", lw=0.8, zorder=0)
        set_title(axis, title)
        if axis is not axes[0]:
            axis.set_yticklabels([])
    return figure


def _reactive_dot(name: str, found: Interval, colour: str) -> DotRow:
    value, low, high = found.times(100)
    return DotRow(name, value, low, high, (), None, colour)
