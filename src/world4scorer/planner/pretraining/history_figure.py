"""Curves of a pretraining run: terms of the loss, and IoU on validation streets."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from world4scorer.drawing.birdseye import save
from world4scorer.drawing.charts import chart, set_title

COLOURS: Final = 10
"""Of Matplotlib's cycle."""


def save_curves(history: Mapping[str, Any], path: Path) -> None:
    """Draw what `TrainingRun.history` returned."""
    figure, axes = chart(2, size=(11, 4.2))
    colours: dict[str, Any] = {}
    for number, (name, curve) in enumerate(history["curves"].items()):
        style = "-" if number < COLOURS else "--"
        (line,) = axes[0].plot(*zip(*curve, strict=True), label=name, lw=1, ls=style)
        colours[name] = line.get_color()
    axes[0].set(xlabel="step", ylabel="loss", yscale="log")
    axes[0].legend(fontsize=6, ncols=2)
    set_title(axes[0], "terms of the loss")
    measured = history["measured"]
    for name in measured[0]["iou"]["near"] if measured else ():
        values = [math.nan if one["iou"]["near"][name] is None else one["iou"]["near"][name] for one in measured]
        colour = colours.setdefault(name, f"C{len(colours)}")
        axes[1].plot([one["step"] for one in measured], values, label=name, color=colour)
    axes[1].set(xlabel="step", ylabel="IoU", ylim=(0, 1))
    if measured:
        axes[1].legend(fontsize=6, loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False)
    set_title(axes[1], "near cells of validation streets")
    save(figure, path, 130)
