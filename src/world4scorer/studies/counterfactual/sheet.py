"""Scenes with plans that nobody drove, and the true views two seconds later.

Selection: of each log the scene whose true futures differ most; of these the first `SHOWN_SCENES`. The plans shown are
those that were chosen first: the planner's own, then always the one furthest from all before.
"""

from __future__ import annotations

import io
from typing import Any, Final

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from numpy.typing import NDArray
from PIL import Image

from world4scorer.datasets.store import SceneStore
from world4scorer.drawing import style
from world4scorer.drawing.charts import SERIES, chart
from world4scorer.drawing.ego_frame import EgoFrame
from world4scorer.drawing.strokes import draw_line, plot_style
from world4scorer.drawing.surroundings import draw_map, draw_tracks
from world4scorer.drawing.trajectories import draw_ego
from world4scorer.studies.branches.records import FIRST_PLAN, LOGGED_PLAN
from world4scorer.studies.counterfactual.branched_scenes import BranchedScenes
from world4scorer.studies.counterfactual.measures import spread
from world4scorer.studies.shared.future_match import cosines, retrieval, unit

SHOWN_SCENES: Final = 6
"""Scenes."""
PLANS: Final = 5
"""Plans of each."""
BEHIND, AHEAD, ASIDE = 8.0, 44.0, 17.0
"""m around the ego."""


def pick(scenes: BranchedScenes) -> list[int]:
    """Indices of the scenes that are shown."""
    wide = spread(scenes)
    best: dict[str, int] = {}
    for index, log in enumerate(scenes.log_names):
        if log not in best or wide[index] > wide[best[log]]:
            best[log] = index
    return sorted(best.values(), key=lambda index: -wide[index])[:SHOWN_SCENES]


def draw_sheet(scenes: BranchedScenes, store: SceneStore, predicted: Any) -> Figure:
    """One row per scene: bird's-eye view, logged view two seconds later, those of the plans; `predicted` (S, K, E)."""
    picked, count = pick(scenes), min(PLANS, scenes.chosen.shape[1])
    similarity = cosines(unit(unit(predicted) - scenes.mean), unit(scenes.true - scenes.mean))
    rank = retrieval(similarity).rank
    width = 2.5 * (count + 1) + 3.6
    figure, axes = chart(count + 2, len(picked), size=(width, 1.62 * len(picked) + 0.7), squeeze=False,
                         width_ratios=[1.45, *[1.0] * (count + 1)])  # fmt: skip
    for line, index in zip(axes, picked, strict=True):
        _from_above(line[0], scenes, store, index, count)
        _picture(line[1], scenes.views[index][LOGGED_PLAN], style.HUMAN, "logged plan")
        for plan in range(count):
            words = (
                f"{scenes.distance[index, plan]:.1f} m off, own future ranks {rank[index, plan]:.0f} of {rank.shape[1]}"
            )
            _picture(line[2 + plan], scenes.views[index][FIRST_PLAN + plan], SERIES[plan], words)
    handles = [Line2D([], [], **plot_style(style.DRIVEN), label="logged plan")]
    handles += [
        Line2D([], [], color=SERIES[plan], lw=3, label="the planner's choice" if plan == 0 else f"plan {plan + 1}")
        for plan in range(count)
    ]
    figure.legend(handles=handles, loc="outside lower center", ncols=count + 1, frameon=False, fontsize=9)
    return figure


def _from_above(axes: Axes, scenes: BranchedScenes, store: SceneStore, index: int, count: int) -> None:
    scene = store[scenes.tokens[index]]
    frame = EgoFrame.of(scene)
    draw_map(axes, scene, frame)
    draw_tracks(axes, scene.tracks, frame)
    for plan in reversed(range(count)):
        way = _path(scenes.pool[index, scenes.chosen[index, plan]])
        draw_line(axes, way, style.Stroke(SERIES[plan], 2.6, casing=0.7), 7.0)
    assert scene.human_future is not None
    draw_line(axes, _path(scene.human_future), style.DRIVEN, 8.0)
    draw_ego(axes, frame, scene.ego_state)
    axes.set(xlim=(-BEHIND, AHEAD), ylim=(-ASIDE, ASIDE), aspect="equal", xticks=[], yticks=[], facecolor=style.GROUND)
    axes.grid(visible=False)
    for side in axes.spines.values():
        side.set_visible(False)


def _picture(axes: Axes, file: bytes, colour: str, words: str) -> None:
    axes.imshow(np.asarray(Image.open(io.BytesIO(file))), interpolation="lanczos")
    axes.set(xticks=[], yticks=[])
    axes.grid(visible=False)
    for side in axes.spines.values():
        side.set(visible=True, color=colour, linewidth=2.6)
    axes.set_title(words, fontsize=7.5, color=style.INK, pad=3)


def _path(plan: NDArray[np.floating]) -> NDArray[np.floating]:
    """A plan's positions, from the ego on (T + 1, 2)."""
    return np.concatenate([np.zeros((1, 2)), plan[:, :2]])
