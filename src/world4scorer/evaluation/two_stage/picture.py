"""Picture of a group: the recorded frame with its plan, and where follow-ups begin, the darker the more they count."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

from matplotlib.figure import Figure
from matplotlib.patches import Polygon

from world4scorer.datasets.store import SceneStore
from world4scorer.drawing import style
from world4scorer.drawing.birdseye import draw_scene
from world4scorer.drawing.ego_frame import EgoFrame
from world4scorer.engine.reactive.simulate import simulate_traffic
from world4scorer.evaluation.two_stage.evaluate import TwoStageResult
from world4scorer.evaluation.two_stage.explain import GroupCost
from world4scorer.evaluation.two_stage.groups import Frame
from world4scorer.evaluation.two_stage.weights import end_point

MIN_OPACITY: Final = 0.12
"""Opacity of a follow-up that does not count."""


def draw_group(store: SceneStore, result: TwoStageResult, cost: GroupCost, plan: Any, frame: Frame = "now") -> Figure:
    """Draw one frame of a group with its plan (8, 3), in the traffic that reacted to it."""
    token = cost.group.first(frame)
    scene, outcome = store[token], result.frames[token].outcome
    if result.traffic == "reactive":
        scene = replace(scene, tracks=simulate_traffic(scene, outcome.rollouts[0]).tracks, tracks_v2=None)
    figure = draw_scene(scene, [plan], outcome)
    axes, ego = figure.axes[0], EgoFrame.of(scene)
    weights = next(part.weights for part in cost.parts if part.frame == frame)
    for place, name in enumerate(cost.group.second(frame)):
        box = ego.ego_box(store[name].ego_state)
        share = float(weights.weights[place] / weights.weights.max())
        opacity = MIN_OPACITY + (1 - MIN_OPACITY) * share
        axes.add_patch(Polygon(box, fill=False, edgecolor=style.INK, linewidth=1.4, alpha=opacity, zorder=11))
        score = float(result.frames[name].row["score"])
        x, y = box.mean(axis=0)
        text = f"{weights.weights[place]:.2f} x {score:.2f}"
        axes.text(x, y, text, fontsize=6.5, alpha=opacity, zorder=11.2, ha="center", va="center", color=style.INK)
    end = ego.local(end_point(store[token], plan))
    axes.plot(*end, marker="x", color=style.FAULT, markersize=7, markeredgewidth=1.8, zorder=11.4)
    return figure
