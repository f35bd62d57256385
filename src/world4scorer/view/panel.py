"""The column beside the picture: which scene, the plan's scores, what is behind each fault, and the key."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from world4scorer.outcomes.results import V1Outcome
from world4scorer.scene.scene import Scene
from world4scorer.view import style
from world4scorer.view.verdict import Fault, Outcome, forgiven_of, sub_scores

LINE = 0.042
"""Height of a line of text, as a share of the column."""


def draw_panel(
    axes: Axes, scene: Scene, outcome: Outcome | None, plan: int | None, faults: Sequence[Fault], key: Sequence[str]
) -> None:
    """Fill the column; `key` names the entries of the legend that the picture has."""
    axes.axis("off")
    axes.set(xlim=(0, 1), ylim=(0, 1))
    axes.text(0, 0.975, scene.token, fontsize=10, fontweight="bold", color=style.INK, va="top")
    axes.text(0, 0.93, _shortened(scene.log_name), fontsize=7, color=style.FAINT, va="top")
    if outcome is not None and plan is not None:
        _draw_scores(axes, outcome, plan, {fault.metric: fault for fault in faults})
    handles = [entry for name, entry in _entries().items() if name in key]
    axes.legend(
        handles=handles, loc="lower left", bbox_to_anchor=(-0.04, -0.01), frameon=False, fontsize=7.5,
        labelcolor=style.INK, handlelength=1.9, labelspacing=0.45, borderaxespad=0.2,
    )  # fmt: skip


def _draw_scores(axes: Axes, outcome: Outcome, plan: int, faults: dict[str, Fault]) -> None:
    name = "PDMS" if isinstance(outcome, V1Outcome) else "EPDMS"
    score = float(outcome.score[plan])
    axes.text(0, 0.86, f"{score:.3f}", fontsize=22, fontweight="bold", color=style.INK, va="top")
    axes.text(0.52, 0.825, f"{name}\nplan {plan}", fontsize=8, color=style.FAINT, va="center")
    forgiven = forgiven_of(outcome, plan)
    top = 0.745
    for row, (metric, value) in enumerate(sub_scores(outcome, plan).items()):
        y = top - row * LINE
        fault = faults.get(metric)
        colour = style.FAULT if fault else style.INK
        weight = "bold" if fault else "normal"
        axes.text(0, y, metric, fontsize=8.5, color=colour, fontweight=weight, va="center")
        shown = f"{value:.2f}" if metric not in forgiven else f"{value:.0f} \N{RIGHTWARDS ARROW} 1"
        axes.text(0.3, y, shown, fontsize=8.5, color=colour, fontweight=weight, va="center", ha="right")
        if fault:
            bubble = {"boxstyle": "circle,pad=0.18", "facecolor": style.FAULT, "edgecolor": "none"}
            axes.text(0.38, y, str(fault.number), fontsize=6.5, color="white", fontweight="bold", va="center",
                      ha="center", bbox=bubble)  # fmt: skip
            axes.text(0.45, y, fault.text, fontsize=7.2, color=colour, va="center")


def _shortened(name: str, longest: int = 36) -> str:
    return name if len(name) <= longest else f"{name[: longest - 3]}..."


def _entries() -> dict[str, Line2D | Patch]:
    return {
        "chosen": Line2D([], [], color=style.EGO, linewidth=2.6, label="rollout of the plan"),
        "plans": Line2D([], [], color="#3b6e8f", linewidth=1.2, label="other plans, darker is better"),
        "reference": Line2D([], [], color=style.REFERENCE, linewidth=1.8, dashes=(3, 1.5), label="reference planner"),
        "human": Line2D([], [], color=style.HUMAN, linewidth=0, marker="o", markersize=4, label="human"),
        "route": Patch(facecolor=style.ROUTE, label="route"),
        "red light": Patch(facecolor="none", edgecolor=style.RED_LIGHT, hatch="////", label="closed by a red light"),
        "vehicle": Patch(facecolor=style.TRACK_FILL[0], edgecolor=style.INK, label="vehicle"),  # type: ignore[index]
        "person": Patch(facecolor=style.TRACK_FILL[1], edgecolor=style.INK, label="pedestrian, bicycle"),  # type: ignore[index]
        "object": Patch(facecolor=style.TRACK_FILL[4], edgecolor=style.INK, label="object"),  # type: ignore[index]
    }
