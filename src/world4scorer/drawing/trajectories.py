"""The ego and its plans in a figure."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.patches import Polygon

from world4scorer.drawing import style
from world4scorer.drawing.ego_frame import EgoFrame
from world4scorer.drawing.strokes import draw_line
from world4scorer.engine.scene.geometry import Floats

TINT: Final = "30"
"""Opacity of filled boxes (hexadecimal)."""


def draw_plans(
    axes: Axes, frame: EgoFrame, rollouts: Floats, scores: Floats | None, skip: Collection[int] = ()
) -> None:
    """Draw rollouts (N, 41, 11) except those in `skip`, coloured by `scores` (N,), the best on top."""
    values = np.zeros(len(rollouts)) if scores is None else scores
    order = [int(plan) for plan in np.argsort(values, kind="stable") if plan not in skip]
    if order:
        colours = style.utility_colours(values)
        lines = [frame.local(rollouts[plan][:, :2]) for plan in order]
        width = style.CANDIDATE.width
        axes.add_collection(
            LineCollection(lines, colors=[colours[plan] for plan in order], linewidths=width, alpha=0.9, zorder=5)
        )


def draw_rollout(axes: Axes, frame: EgoFrame, rollout: Floats, stroke: style.Stroke, above: float) -> None:
    """Draw a rollout (41, 11) with the ego's box at each second."""
    draw_line(axes, frame.local(rollout[:, :2]), stroke, above)
    for step in style.BOX_STEPS:
        box = Polygon(frame.ego_box(rollout[step]), facecolor=stroke.colour + TINT, edgecolor=stroke.colour)
        box.set(linewidth=1.1, zorder=above - 0.2)
        axes.add_patch(box)


def draw_ego(axes: Axes, frame: EgoFrame, state: Floats) -> None:
    """Draw the current ego, with a mark at its front."""
    box = frame.ego_box(state)
    axes.add_patch(Polygon(box, facecolor=style.EGO, edgecolor=style.PAPER, linewidth=1.2, zorder=10))
    front, middle = box[[0, 3]].mean(axis=0), box.mean(axis=0)
    nose = np.stack([front, middle + (box[0] - box[3]) * 0.32, middle - (box[0] - box[3]) * 0.32])
    axes.add_patch(Polygon(nose, facecolor=style.PAPER, edgecolor="none", zorder=10.1))


def draw_scale(axes: Axes) -> None:
    """Draw a scale bar of ten metres in the lower left corner."""
    left, low = axes.get_xlim()[0] + 2.0, axes.get_ylim()[0] + 1.6
    axes.plot([left, left + 10], [low, low], color=style.INK, linewidth=2.0, zorder=12, solid_capstyle="butt")
    paper = {"facecolor": style.GROUND, "edgecolor": "none", "alpha": 0.75, "pad": 1.0}
    axes.text(left + 5, low + 0.5, "10 m", ha="center", va="bottom", fontsize=8, color=style.INK, zorder=12, bbox=paper)
