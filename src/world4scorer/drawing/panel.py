"""Text panel of a figure: scene, scores of the plan, faults, legend; or a badge on a thumbnail."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.axes import Axes

from world4scorer.drawing import style
from world4scorer.drawing.faults import Fault, Outcome, forgiven_of, sub_scores
from world4scorer.drawing.strokes import RampHandler, RampMark, legend_mark
from world4scorer.engine.outcomes.results import V1Outcome
from world4scorer.engine.scene.scene import Scene

LINE_HEIGHT = 0.042
"""Height of a line of text, as a fraction of the panel."""
MAX_BADGE_FAULTS = 4
"""Maximum number of faults on a badge."""


def draw_panel(
    axes: Axes,
    scene: Scene,
    outcome: Outcome | None,
    chosen: int | None,
    shown: int | None,
    faults: Sequence[Fault],
    key: Sequence[str],
) -> None:
    """Fill the panel with the scores of the shown plan; `key` lists the legend entries."""
    axes.axis("off")
    axes.set(xlim=(0, 1), ylim=(0, 1))
    axes.text(0, 0.985, scene.token, fontsize=10, fontweight="bold", color=style.INK, va="top")
    axes.text(0, 0.938, _shortened(scene.log_name), fontsize=7, color=style.FAINT, va="top")
    if outcome is not None and shown is not None and chosen is not None:
        _draw_scores(axes, outcome, chosen, shown, {fault.metric: fault for fault in faults})
    axes.legend(
        handles=[legend_mark(style.LEGEND[name]) for name in key], handler_map={RampMark: RampHandler()},
        loc="lower left", bbox_to_anchor=(-0.04, -0.015), frameon=False, fontsize=7.5,
        labelcolor=style.INK, handlelength=2.3, labelspacing=0.36, borderaxespad=0.2,
    )  # fmt: skip


def draw_badge(axes: Axes, outcome: Outcome | None, plan: int | None, faults: Sequence[Fault]) -> None:
    """Write the score and the names of faults into the upper left corner."""
    if outcome is None or plan is None:
        return
    paper = {"facecolor": style.PAPER, "edgecolor": "none", "alpha": 0.88, "boxstyle": "round,pad=0.22"}
    axes.text(
        0.025, 0.965, f"{float(outcome.score[plan]):.2f}", transform=axes.transAxes, fontsize=16, fontweight="bold",
        color=style.INK, va="top", bbox=paper, zorder=20,
    )  # fmt: skip
    forgiven = forgiven_of(outcome, plan)
    names = [fault.metric for fault in faults if fault.metric not in forgiven]
    if names:
        rest = "" if len(names) <= MAX_BADGE_FAULTS else " ..."
        axes.text(
            0.025, 0.755, " ".join(names[:MAX_BADGE_FAULTS]) + rest, transform=axes.transAxes, fontsize=11,
            fontweight="bold", color=style.FAULT, va="top", bbox=paper, zorder=20,
        )  # fmt: skip


def _draw_scores(axes: Axes, outcome: Outcome, chosen: int, shown: int, faults: dict[str, Fault]) -> None:
    name = "PDMS" if isinstance(outcome, V1Outcome) else "EPDMS"
    axes.text(0, 0.877, f"{float(outcome.score[shown]):.3f}", fontsize=22, fontweight="bold", color=style.INK, va="top")
    words = f"{name} of plan {shown}"
    if shown != chosen:
        words += f"\nchosen: plan {chosen}, {float(outcome.score[chosen]):.3f}"
    axes.text(0.44, 0.842, words, fontsize=7.5, color=style.FAINT, va="center", linespacing=1.35)
    forgiven = forgiven_of(outcome, shown)
    top = 0.765
    for row, (metric, value) in enumerate(sub_scores(outcome, shown).items()):
        y = top - row * LINE_HEIGHT
        fault = faults.get(metric)
        colour = style.FAULT if fault else style.INK
        weight = "bold" if fault else "normal"
        axes.text(0, y, metric, fontsize=8.5, color=colour, fontweight=weight, va="center")
        text = f"{value:.2f}" if metric not in forgiven else f"{value:.0f} \N{RIGHTWARDS ARROW} 1"
        axes.text(0.3, y, text, fontsize=8.5, color=colour, fontweight=weight, va="center", ha="right")
        if fault:
            bubble = {"boxstyle": "circle,pad=0.18", "facecolor": style.FAULT, "edgecolor": "none"}
            axes.text(0.37, y, str(fault.number), fontsize=6.5, color="white", fontweight="bold", va="center",
                      ha="center", bbox=bubble)  # fmt: skip
            axes.text(0.43, y, fault.text, fontsize=7.2, color=colour, va="center")


def _shortened(name: str, longest: int = 36) -> str:
    return name if len(name) <= longest else f"{name[: longest - 3]}..."
