"""Learning curves of runs: score and ordering on validation, losses in training."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from world4scorer.drawing.charts import SERIES, chart
from world4scorer.drawing.style import FAINT

SMOOTHING_STEPS: Final = 15
"""Logged steps averaged per point of a training curve."""

VALIDATION: Final = (
    ("val/score", "PDMS of the selected plans", 100.0),
    ("val/ordering", "pairs in the true order [%]", 100.0),
)
TRAINING: Final = (("train/score", "outcome loss, training"), ("train/future", "future loss, training"))


class Curves(NamedTuple):
    """Training history of a run."""

    history: Sequence[Mapping[str, float]]
    """One line per validation."""
    losses: Mapping[str, tuple[NDArray[np.int64], NDArray[np.float64]]]
    """Steps and values by name."""


def draw_curves(runs: Mapping[str, Curves], rows: int = 1) -> Figure:
    """Draw the curves of runs over steps, one colour per run; `rows` rows of panels."""
    panels = len(VALIDATION) + len(TRAINING)
    columns = -(-panels // rows)
    figure, grid = chart(columns, rows, (4.0 * columns, 3.2 * rows))
    axes = grid.ravel()
    colours = dict(zip(runs, SERIES * len(runs), strict=False))
    for axis, (key, title, scale) in zip(axes, VALIDATION, strict=False):
        for name, (history, _) in runs.items():
            steps = [line["step"] for line in history]
            values = [scale * line[key] for line in history]
            axis.plot(steps, values, "o-", ms=4, color=colours[name], label=name)
        axis.set_title(title, fontsize=10)
    for axis, (key, title) in zip(axes[len(VALIDATION) :], TRAINING, strict=True):
        for name, (_, losses) in runs.items():
            if key in losses:
                at, loss = losses[key]
                axis.plot(_smooth(at), _smooth(loss), color=colours[name], lw=1.2)
        if not axis.lines:
            axis.text(0.5, 0.5, "not logged", transform=axis.transAxes, ha="center", color=FAINT)
        axis.set_title(title, fontsize=10)
    for axis in axes:
        axis.set_xlabel("steps")
        axis.set_xlim(left=0)
    oracle = 100 * max(line["val/oracle"] for history, _ in runs.values() for line in history)
    axes[0].axhline(oracle, color="0.5", ls=":", lw=1)
    axes[0].annotate("pool oracle", (0.02, oracle), xycoords=("axes fraction", "data"), fontsize=8, va="bottom")
    axes[0].margins(y=0.12)
    if len(runs) > 1:
        axes[0].legend(fontsize=7, loc="lower right")
    return figure


def _smooth(values: NDArray[Any]) -> NDArray[np.float64]:
    window = min(SMOOTHING_STEPS, len(values))
    return np.convolve(values.astype(np.float64), np.full(window, 1 / window), "valid")
