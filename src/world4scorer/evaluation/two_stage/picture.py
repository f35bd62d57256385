"""Picture of a group: the recorded frame with its plan, and where follow-ups begin, the darker the more they count."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Polygon

from world4scorer.datasets.store import SceneStore
from world4scorer.drawing import style
from world4scorer.drawing.birdseye import draw_scene
from world4scorer.drawing.ego_frame import EgoFrame
from world4scorer.engine.reactive.simulate import simulate_traffic
from world4scorer.engine.scene.geometry import Floats
from world4scorer.evaluation.two_stage.evaluate import TwoStageResult
from world4scorer.evaluation.two_stage.explain import GroupCost
from world4scorer.evaluation.two_stage.groups import Frame
from world4scorer.evaluation.two_stage.weights import end_point

MIN_OPACITY: Final = 0.12
"""Opacity of a follow-up that does not count."""
LABEL_GAP: Final = 1.0
"""From the follow-ups to their weights and scores [m]."""
LABEL_HEIGHT: Final = 1.8
"""m"""
LABEL_ROOM: Final = 12.0
"""Room for the labels beyond the follow-ups [m]."""


def draw_group(store: SceneStore, result: TwoStageResult, cost: GroupCost, plan: Any, frame: Frame = "now") -> Figure:
    """Draw one frame of a group with its plan (8, 3), in the traffic that reacted to it."""
    token = cost.group.first(frame)
    scene, outcome = store[token], result.frames[token].outcome
    if result.traffic == "reactive":
        scene = replace(scene, tracks=simulate_traffic(scene, outcome.rollouts[0]).tracks, tracks_v2=None)
    figure = draw_scene(scene, [plan], outcome)
    axes, ego = figure.axes[0], EgoFrame.of(scene)
    weights = next(part.weights for part in cost.parts if part.frame == frame)
    names = cost.group.second(frame)
    boxes = np.stack([ego.ego_box(store[name].ego_state) for name in names])
    _widen(axes, boxes.reshape(-1, 2))
    right, middle = boxes[..., 0].max() + LABEL_GAP, boxes[..., 1].mean()
    for place, name in enumerate(names):
        weight, score = float(weights.weights[place]), float(result.frames[name].row["score"])
        opacity = MIN_OPACITY + (1 - MIN_OPACITY) * weight / float(weights.weights.max())
        outline = Polygon(boxes[place], fill=False, edgecolor=style.INK, linewidth=1.4, alpha=opacity, zorder=11)
        axes.add_patch(outline)
        y = middle + (len(names) / 2 - place) * LABEL_HEIGHT
        text = f"{weight:.2f} x {score:.2f}"
        axes.text(right, y, text, fontsize=7, alpha=opacity, zorder=11.2, va="top", color=style.INK, clip_on=True)
    end = ego.local(end_point(store[token], plan))
    axes.plot(*end, marker="x", color=style.FAULT, markersize=7, markeredgewidth=1.8, zorder=11.4)
    return figure


def _widen(axes: Axes, points: Floats) -> None:
    """Extend the view, in its own proportions, so that it holds points (n, 2) and the labels beside them."""
    (left, right), (low, high) = axes.get_xlim(), axes.get_ylim()
    width, height, middle = right - left, high - low, (low + high) / 2
    reach = 2 * float(np.abs(points[:, 1] - middle).max()) + LABEL_ROOM
    scale = max(1.0, (float(points[:, 0].max()) + LABEL_ROOM - left) / width, reach / height)
    axes.set(xlim=(left, left + scale * width), ylim=(middle - scale * height / 2, middle + scale * height / 2))
