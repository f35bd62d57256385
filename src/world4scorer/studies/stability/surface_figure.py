"""The figure of two score surfaces: which plan they favour with outcomes alone, and with futures too."""

from __future__ import annotations

from typing import Final

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from numpy.typing import NDArray

from world4scorer.drawing import style
from world4scorer.drawing.charts import OTHER, OURS, chart, set_title
from world4scorer.drawing.ego_frame import EgoFrame
from world4scorer.drawing.strokes import draw_line, plot_style
from world4scorer.drawing.surroundings import draw_map, draw_tracks
from world4scorer.drawing.trajectories import draw_ego
from world4scorer.engine.scene.scene import Scene
from world4scorer.studies.stability.surfaces import ScoreSurfaces

SHOWN: Final = 10
"""Plans of highest score in the panels of surfaces."""
MARGIN: Final = 8.0
"""m around the plans."""
CHOICE: Final = style.Stroke(OURS, 3.2, casing=0.9)
RIVAL: Final = style.Stroke(OTHER, 3.2, casing=0.9)


def draw_surfaces(surfaces: ScoreSurfaces, scene: Scene, plans: NDArray[np.floating]) -> Figure:
    """Both pairs of surfaces over the best plans (N, 8, 3) of the scene, and these plans from above."""
    figure, (left, middle, right) = chart(3, size=(12.6, 4.2), width_ratios=(1.0, 1.0, 0.85))
    order = shown_plans(surfaces)
    _panel(left, surfaces, order, future=False)
    _panel(middle, surfaces, order, future=True)
    middle.sharey(left)
    set_title(left, "(a) outcome labels alone")
    set_title(middle, "(b) outcome labels and futures")
    _plans(right, surfaces, scene, plans, order)
    set_title(right, "(c) these plans")
    handles = [
        Line2D([], [], color=OURS, marker="o", ms=4, label="moved towards the choice"),
        Line2D([], [], color=OTHER, marker="o", ms=4, label="moved towards the rival"),
        Line2D([], [], color=style.INK, lw=0, marker="*", ms=11, label="favoured"),
        Line2D([], [], **plot_style(style.DRIVEN), label="executed"),
    ]
    figure.legend(handles=handles, loc="outside lower center", ncols=4, frameon=False, fontsize=8.5)
    return figure


def shown_plans(surfaces: ScoreSurfaces) -> NDArray[np.int64]:
    """Plans of highest score, the best first; choice, rival and whatever a surface favours are among them."""
    order = np.argsort(-np.array(surfaces.scores), kind="stable")
    favoured = {int(one.argmax()) for future in (False, True) for one in surfaces.surfaces(future)}
    wanted = favoured | {surfaces.choice, surfaces.rival} | {int(plan) for plan in order[:SHOWN]}
    return np.array([plan for plan in order.tolist() if plan in wanted], np.int64)


def _panel(axis: Axes, surfaces: ScoreSurfaces, order: NDArray[np.int64], future: bool) -> None:
    base = surfaces.scores[surfaces.choice]
    places = np.arange(len(order))
    for scores, colour, up in zip(surfaces.surfaces(future), (OURS, OTHER), (1, -1), strict=True):
        axis.plot(places, scores[order] - base, color=colour, lw=1.6, marker="o", ms=4, zorder=3)
        best = int(scores.argmax())
        at = int(np.flatnonzero(order == best)[0])
        axis.plot([at], [scores[best] - base], "*", ms=14, color=colour, mec=style.INK, mew=0.7, zorder=5 + up)
    axis.axhline(0.0, color=style.FAINT, lw=0.8, ls=":")
    words = ["choice" if plan == surfaces.choice else "rival" if plan == surfaces.rival else "" for plan in order]
    axis.set_xticks(places, [f"{number}\n{word}" for number, word in enumerate(words, 1)])
    axis.set_xlabel("plans of the pool by their score as trained")
    axis.set_ylabel("score, choice as trained = 0")
    axis.text(
        0.98, 0.97, f"loss may rise by {surfaces.epsilon**2 / 2:.1e}", ha="right", va="top", fontsize=8,
        color=style.FAINT, transform=axis.transAxes,
    )  # fmt: skip


def _plans(
    axis: Axes, surfaces: ScoreSurfaces, scene: Scene, plans: NDArray[np.floating], order: NDArray[np.int64]
) -> None:
    frame = EgoFrame.of(scene)
    draw_map(axis, scene, frame)
    draw_tracks(axis, scene.tracks, frame)
    lines = [np.concatenate([np.zeros((1, 2)), plans[plan][:, :2]]) for plan in order]
    for line in lines:
        axis.plot(*line.T, color=style.FAINT, lw=1.0, alpha=0.6, zorder=5)
    for plan, stroke, above in ((surfaces.rival, RIVAL, 7.0), (surfaces.choice, CHOICE, 7.2)):
        draw_line(axis, lines[int(np.flatnonzero(order == plan)[0])], stroke, above)
    if scene.human_future is not None:
        draw_line(axis, scene.human_future[:, :2], style.DRIVEN, 8.0)
    draw_ego(axis, frame, scene.ego_state)
    points = np.concatenate(lines)
    middle, half = (points.min(0) + points.max(0)) / 2, np.ptp(points, axis=0).max() / 2 + MARGIN
    axis.set(xlim=(middle[0] - half, middle[0] + half), ylim=(middle[1] - half, middle[1] + half))
    axis.set(aspect="equal", facecolor=style.GROUND)
    axis.set(xticks=[], yticks=[])
    axis.grid(visible=False)
    for side in axis.spines.values():
        side.set_visible(False)
