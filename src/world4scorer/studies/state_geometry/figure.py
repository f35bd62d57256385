"""The figures of the geometry of states: four scenes, and how much nearest plans agree.

The four scenes are those with the most plans in their smallest group of outcomes, one of each log; of equals the first.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from numpy.typing import NDArray

from world4scorer.drawing import style
from world4scorer.drawing.charts import BAD, OTHER, OURS, PAPER, chart, set_title
from world4scorer.drawing.dots import DotRow, dot_legend, draw_dots
from world4scorer.studies.shared.bank_states import Outcome
from world4scorer.studies.state_geometry.tables import LABELS, OUTCOMES

if TYPE_CHECKING:
    from world4scorer.studies.state_geometry.study import StateGeometry

Floats = NDArray[np.float64]

SCENES: Final = 4
COLOURS: Final = {Outcome.SAFE: OURS, Outcome.COLLISION: BAD, Outcome.OFF_ROAD: OTHER}
MARKS: Final = {Outcome.SAFE: "o", Outcome.COLLISION: "X", Outcome.OFF_ROAD: "^"}
PAPER_KEYS: Final = {"states": "knn_state", "trajectories": "knn_trajectory", "chance": "knn_shuffled"}


def pick_scenes(groups_SG: NDArray[np.int64], log_names: tuple[str, ...]) -> list[int]:
    """At most `SCENES` scenes of different logs, those first whose smallest group is largest."""
    order = np.argsort(-groups_SG.min(1), kind="stable")
    first: dict[str, int] = {}
    for index in order:
        first.setdefault(log_names[index], int(index))
    return list(first.values())[:SCENES]


def two_components(states_KD: Any) -> tuple[Floats, float]:
    """States on their two directions of largest variance (K, 2), and the share of the variance that these hold."""
    states = np.asarray(states_KD, np.float64)
    left, values, _ = np.linalg.svd(states - states.mean(0), full_matrices=False)
    total = np.square(values).sum()
    return left[:, :2] * values[:2], float(np.square(values[:2]).sum() / total) if total else float("nan")


def draw_states(found: StateGeometry, reported: Any) -> Figure:
    """Above, states of four scenes on two components; below, the same plans as ways."""
    picked = pick_scenes(found.groups, found.scenes.samples.log_names)
    figure, axes = chart(SCENES, 2, size=(13.0, 6.6), squeeze=False)
    for column in range(SCENES):
        above, below = axes[:, column]
        if column < len(picked):
            _states(above, found, picked[column])
            _ways(below, found, picked[column])
        else:
            above.set_axis_off()
            below.set_axis_off()
    axes[0, 0].set_ylabel("second component")
    axes[1, 0].set_ylabel("forward [m]")
    low, high = reported["shown_two_components"]
    marks = [
        Line2D([], [], color=COLOURS[one], marker=MARKS[one], ls="-", lw=1.4, label=OUTCOMES[one]) for one in Outcome
    ]
    figure.legend(handles=marks, loc="outside lower center", ncols=3, frameon=False, fontsize=9.5)
    figure.suptitle(
        f"States of bank plans in four scenes, and the plans (two components in the paper: {100 * low:.0f} to "
        f"{100 * high:.0f} % of the variance)",
        fontsize=11,
        color=style.INK,
    )
    return figure


def _states(axes: Axes, found: StateGeometry, index: int) -> None:
    at, share = two_components(found.states["states"][index])
    for one in Outcome:
        x, y = at[found.outcome[index] == one].T
        axes.scatter(x, y, s=30, marker=MARKS[one], color=COLOURS[one], edgecolors="white", lw=0.5, zorder=3)
    agreed = found.agreements["states"][index], found.agreements["trajectories"][index]
    axes.set_xticks([])
    axes.set_yticks([])
    axes.grid(visible=False)
    axes.set_xlabel("first component")
    set_title(
        axes,
        f"{100 * share:.0f} % of the variance\nnearest agree: states {100 * agreed[0]:.0f} %, "
        f"plans {100 * agreed[1]:.0f} %",
    )


def _ways(axes: Axes, found: StateGeometry, index: int) -> None:
    for one in (Outcome.SAFE, Outcome.OFF_ROAD, Outcome.COLLISION):
        for plan in found.scenes.plans[index][found.outcome[index] == one]:
            way = np.concatenate([np.zeros((1, 2)), plan[:, :2]])
            axes.plot(way[:, 1], way[:, 0], color=COLOURS[one], lw=1.0, alpha=0.75)
            axes.plot(way[-1, 1], way[-1, 0], MARKS[one], color=COLOURS[one], ms=3.6, mec="white", mew=0.3)
    axes.invert_xaxis()  # left is left
    axes.set_xlabel("to the left [m], not to scale")
    set_title(
        axes,
        ", ".join(
            f"{count} {name}" for count, name in zip(found.groups[index], ("safe", "collide", "off"), strict=True)
        ),
    )


def draw_agreement(found: StateGeometry, reported: Any) -> Figure:
    """How often nearest plans share the outcome, on average and scene by scene."""
    figure, (left, right) = chart(2, size=(10.6, 4.0), width_ratios=(1.3, 1.0))
    rows = []
    for name in found.agreements:
        value = found.mean(name).times(100)
        theirs = 100 * reported[PAPER_KEYS[name]] if name in PAPER_KEYS else None
        rows.append(DotRow(LABELS[name], *value, paper=theirs, colour=OURS if name == "states" else PAPER))
    draw_dots(left, rows)
    set_title(left, "five nearest plans that share the outcome [%]")
    own, plans = (100 * found.agreements[name] for name in ("states", "trajectories"))
    lowest = min(own.min(), plans.min()) - 2
    right.plot([lowest, 101], [lowest, 101], color=style.FAINT, lw=1)
    right.scatter(plans, own, s=18, color=OURS, alpha=0.7, edgecolors="white", lw=0.4)
    right.set(xlim=(lowest, 101), ylim=(lowest, 101), aspect="equal")
    right.set_xlabel("nearest by trajectory")
    right.set_ylabel("nearest by state")
    above, _ = found.above("states", "trajectories")
    set_title(right, f"scene by scene [%]: {above} of {len(own)} above the line")
    figure.legend(handles=dot_legend(), loc="outside lower center", ncols=2, frameon=False, fontsize=8.5)
    return figure
