"""One reliability diagram for each score head."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from world4scorer.drawing import style
from world4scorer.drawing.charts import GOOD, OTHER, OURS, chart, set_title
from world4scorer.studies.calibration.measures import Bin, HeadMeasures

COLUMNS: Final = 3
EDGE: Final = 0.03
"""Space beyond 0 and 1."""


def draw(
    found: Mapping[str, HeadMeasures],
    scaled: Mapping[str, Sequence[Bin]],
    there: Mapping[str, HeadMeasures] | None,
    names: tuple[str, str],
) -> Figure:
    """Mean outcome against mean prediction of each bin, as predicted and with temperature; of both pools, as named."""
    rows = -(-len(found) // COLUMNS)
    figure, axes = chart(COLUMNS, rows, size=(3.4 * COLUMNS, 3.5 * rows))
    for axis, (name, head) in zip(axes.ravel(), found.items(), strict=True):
        axis.plot([0, 1], [0, 1], color=style.FAINT, lw=1.0, ls=":", label="calibrated")
        if there is not None:
            _curve(axis, there[name].bins, OTHER, "s", names[1])
        _curve(axis, scaled[name], GOOD, "^", f"{names[0]}, temperature of other logs", intervals=False)
        _curve(axis, head.bins, OURS, "o", names[0])
        axis.set_xlim(-EDGE, 1 + EDGE)
        axis.set_ylim(-EDGE, 1 + EDGE)
        axis.set_aspect("equal")
        set_title(axis, f"{name}: ECE {100 * head.ece.value:.1f} %")
    for axis in axes[-1]:
        axis.set_xlabel("mean prediction")
    for axis in axes[:, 0]:
        axis.set_ylabel("mean outcome")
    handles, labels = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, fontsize=8.5, ncols=len(labels), frameon=False, loc="outside lower center")
    return figure


def _curve(axis: Axes, bins: Sequence[Bin], colour: str, marker: str, label: str, intervals: bool = True) -> None:
    at, values = np.array([one.prediction for one in bins]), np.array([one.outcome for one in bins]).reshape(-1, 3)
    look: dict[str, Any] = {"color": colour, "marker": marker, "ms": 4, "lw": 1.3, "label": label}
    if intervals:
        # A draw without any plan of a bin leaves its interval on one side of the value.
        ends = np.nan_to_num(np.maximum([values[:, 0] - values[:, 1], values[:, 2] - values[:, 0]], 0.0))
        axis.errorbar(at, values[:, 0], ends, elinewidth=1.0, **look)
    else:
        axis.plot(at, values[:, 0], ls="--", **look)
