"""Consecutive plans through a turn, from above in map coordinates, framewise and re-ranked (the figure of 3.5).

Selection: of the pairs of frames that re-ranking repairs while the driver turns by more than `TURN_HEADING` within four
seconds, in which driver and chosen plans all lead at least `MOVING` away, and whose re-ranked choice comes nearer to
the driver, the one over which the difference in heading of consecutive plans falls most.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Polygon
from numpy.typing import NDArray

from world4scorer.datasets.store import SceneStore
from world4scorer.drawing import style
from world4scorer.drawing.charts import chart, set_title
from world4scorer.drawing.ego_frame import EgoFrame
from world4scorer.drawing.strokes import draw_line, plot_style
from world4scorer.drawing.surroundings import draw_map
from world4scorer.drawing.trajectories import draw_scale
from world4scorer.engine.scene.geometry import to_global_axes
from world4scorer.evaluation.pools.choices import Chosen
from world4scorer.evaluation.pools.scored import ScoredPools

TURN_HEADING: Final = np.radians(20.0)
"""Heading that changes by more within a plan: a turn."""
MOVING: Final = 8.0
"""m within four seconds: headings of plans that stand say nothing."""
MARGIN: Final = 6.0
"""m around the plans."""
PANELS_WIDTH: Final = 10.4
WORDS_HEIGHT: Final = 0.7
"""Inches across both panels, and for title and legend."""
SHADES: Final = ("#b08fe0", "#3f2a8c")
"""Colours of plans, later ones darker."""


def pick_turn(pools: ScoredPools, off: Chosen, on: Chosen, gain: NDArray[np.float64]) -> list[int] | None:
    """Indices of two consecutive frames; `gain` (S,) is what repaired pairs gain, 0 for others."""
    turning = np.abs(pools.human_plan[:, -1, 2]) > TURN_HEADING  # False where nobody drove
    driven = (pools.human_plan, pools.at(pools.plans, off), pools.at(pools.plans, on))
    moving = np.all([np.hypot(*plans[:, -1, :2].T) >= MOVING for plans in driven], axis=0)
    both = moving & moving[pools.previous]  # of the last frame, and so of no use, where there is none before
    before, after = (np.linalg.norm(plans[..., :2] - driven[0][..., :2], axis=2).mean(1) for plans in driven[1:])
    rating = np.where(turning & both & pools.paired & (after < before), np.nan_to_num(gain), 0.0)
    second = int(np.argmax(rating))
    if rating[second] <= 0:
        return None
    return [second - 1, second]


def draw_turn(
    pools: ScoredPools, store: SceneStore, off: Chosen, on: Chosen, gain: NDArray[np.float64]
) -> Figure | None:
    """Draw the picked frames, framewise on the left and re-ranked on the right; None where the rule picks none."""
    frames = pick_turn(pools, off, on, gain)
    if frames is None:
        return None
    figure, axes = chart(2)
    for axis, chosen, title in ((axes[0], off, "(a) framewise"), (axes[1], on, "(b) re-ranked")):
        _panel(axis, pools, store, frames, chosen)
        set_title(axis, title)
    limits = np.array([[*axis.get_xlim(), *axis.get_ylim()] for axis in axes])
    for axis in axes:
        axis.set(xlim=(limits[:, 0].min(), limits[:, 1].max()), ylim=(limits[:, 2].min(), limits[:, 3].max()))
        draw_scale(axis)
    sides = limits[:, 1::2].max(0) - limits[:, ::2].min(0)
    figure.set_size_inches(PANELS_WIDTH, PANELS_WIDTH / 2 * sides[1] / sides[0] + WORDS_HEIGHT)
    since = (pools.time_us[frames] - pools.time_us[frames[0]]) * 1e-6
    handles = [
        Line2D([], [], color=SHADES[number], lw=2.4, marker="o", ms=3, label=f"plan at {moment:.1f} s")
        for number, moment in enumerate(since)
    ]
    handles.append(Line2D([], [], **plot_style(style.DRIVEN), label="driver, from 0.0 s on"))
    figure.legend(handles=handles, loc="outside lower center", ncols=3, frameon=False, fontsize=9)
    return figure


def _panel(axis: Axes, pools: ScoredPools, store: SceneStore, frames: list[int], chosen: Chosen) -> None:
    scene = store[pools.tokens[frames[0]]]
    frame = EgoFrame.of(scene)
    draw_map(axis, scene, frame)
    drawn = []
    for number, index in enumerate(frames):
        path = frame.local(_global_path(pools.plans[index, chosen[index]], pools.ego_pose[index]))
        axis.plot(*path.T, color=SHADES[number], lw=2.4, marker="o", ms=3, zorder=7 + 0.1 * number)
        drawn.append(path)
    driven = frame.local(_global_path(pools.human_plan[frames[0]], pools.ego_pose[frames[0]]))
    draw_line(axis, driven, style.DRIVEN, 6.8)
    outline = frame.ego_box(scene.ego_state)
    axis.add_patch(Polygon(outline, facecolor=style.EGO + "40", edgecolor=style.EGO, linewidth=1.4, zorder=6.5))
    points = np.concatenate([*drawn, driven[~np.isnan(driven[:, 0])]])
    low, high = points.min(0) - MARGIN, points.max(0) + MARGIN
    axis.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]), aspect="equal", xticks=[], yticks=[])
    axis.set_facecolor(style.GROUND)
    axis.grid(visible=False)
    for side in axis.spines.values():
        side.set_visible(False)


def _global_path(plan: NDArray[np.floating], pose: NDArray[np.float64]) -> NDArray[np.float64]:
    """Positions of a plan (T, 3), from its ego (3,) on, in map coordinates (T + 1, 2)."""
    points = np.concatenate([np.zeros((1, 2)), plan[:, :2]]).astype(np.float64)
    return to_global_axes(points, pose)
