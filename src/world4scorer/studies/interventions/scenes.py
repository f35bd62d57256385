"""Twelve scenes in which own states find a best plan and a derangement does not keep the choice (Fig. 5).

Selection: own states choose a plan with the pool's best PDMS, at least `LEAST_BEST_PDMS`, and the one derangement that
planners are compared with changes the choice. In left and right turns the driver's heading changes by more than
`TURN_HEADING` within the plan's four seconds, in straight drives by less than `STRAIGHT_HEADING` over a length within
`STRAIGHT_LENGTH`. Of each kind four are shown: the strongest turns (the longest drives) of different logs, then of the
same logs.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from numpy.typing import NDArray

from world4scorer.datasets.store import SceneStore
from world4scorer.drawing import style
from world4scorer.drawing.charts import chart
from world4scorer.drawing.ego_frame import EgoFrame
from world4scorer.drawing.strokes import RampHandler, RampMark, draw_line, plot_style
from world4scorer.drawing.surroundings import draw_map, draw_tracks
from world4scorer.drawing.trajectories import draw_ego
from world4scorer.evaluation.pools.choices import framewise
from world4scorer.evaluation.pools.scored import ScoredPools
from world4scorer.studies.shared.reassignment import SINGLE_SEED, derangement

SCENES_PER_KIND: Final = 4
TURN_HEADING: Final = np.radians(20.0)
"""Heading that changes by more within a plan: a turn."""
STRAIGHT_HEADING: Final = np.radians(3.0)
"""Heading that changes by less: a straight drive."""
STRAIGHT_LENGTH: Final = (15.0, 42.0)
"""m of a straight drive, from and to; longer ones do not fit the picture."""
LEAST_BEST_PDMS: Final = 0.8
"""PDMS of the pool oracle: where even that fails there is nothing to choose."""
VIEW_BEHIND: Final = 8.0
VIEW_AHEAD: Final = 50.0
"""m of street in the picture."""
VIEW_HEIGHT: Final = 38.0
"""m from the lower to the upper edge of a picture."""
SWAPPED_STROKE: Final = style.Stroke(style.INK, 2.0, dashes=(2.4, 1.2), casing=0.6)
MEAN_STROKE: Final = style.Stroke(style.INK, 2.0, dashes=(1.0, 1.2), casing=0.6)
KINDS: Final = ("left", "straight", "right")
VIEW_CENTRE: Final = {"left": 9.0, "straight": 0.0, "right": -9.0}
"""m to the left of the ego at which pictures are centred."""


def pick_scenes(pools: ScoredPools) -> dict[str, list[int]]:
    """Indices of the scenes of each kind, at most `SCENES_PER_KIND`."""
    own = framewise(pools.utility_v1)
    swapped = framewise(pools.utility_v1[:, derangement(pools.plans.shape[1], SINGLE_SEED)])
    best = pools.pdms.max(1)
    fits = (pools.at(pools.pdms, own) == best) & (best >= LEAST_BEST_PDMS) & (own != swapped)
    heading = pools.human_plan[:, -1, 2]
    length = np.linalg.norm(pools.human_plan[:, -1, :2], axis=1)
    # Comparisons with NaN, where nobody drove, are False.
    rated = {
        "left": np.where(fits & (heading > TURN_HEADING), heading, -np.inf),
        "straight": np.where(
            fits & (np.abs(heading) < STRAIGHT_HEADING) & (length > STRAIGHT_LENGTH[0]) & (length < STRAIGHT_LENGTH[1]),
            length,
            -np.inf,
        ),
        "right": np.where(fits & (heading < -TURN_HEADING), -heading, -np.inf),
    }
    return {kind: _of_different_logs(rating, pools.log_names) for kind, rating in rated.items()}


def _of_different_logs(rating: NDArray[np.float64], log_names: tuple[str, ...]) -> list[int]:
    order = [int(index) for index in np.argsort(-rating, kind="stable") if np.isfinite(rating[index])]
    count: dict[str, int] = {}
    turn = []
    for index in order:  # how many better ones its log has
        count[log_names[index]] = count.get(log_names[index], 0) + 1
        turn.append(count[log_names[index]])
    return [index for _, index in sorted(zip(turn, order, strict=True), key=lambda one: one[0])][:SCENES_PER_KIND]


def draw_scenes(pools: ScoredPools, store: SceneStore) -> Figure | None:
    """Draw the picked scenes from above, forward to the right, all at one scale; None where the rule picks none."""
    picked = pick_scenes(pools)
    if not any(picked.values()):
        return None
    own = framewise(pools.utility_v1)
    swapped = framewise(pools.utility_v1[:, derangement(pools.plans.shape[1], SINGLE_SEED)])
    figure, axes = chart(SCENES_PER_KIND, len(KINDS), size=(15.2, 8.6), squeeze=False)
    for row, kind in enumerate(KINDS):
        for column in range(SCENES_PER_KIND):
            panel = axes[row, column]
            if column >= len(picked[kind]):
                panel.set_axis_off()
                continue
            index = picked[kind][column]
            _panel(panel, pools, store, index, int(own[index]), int(swapped[index]))
            panel.set_ylim(VIEW_CENTRE[kind] - VIEW_HEIGHT / 2, VIEW_CENTRE[kind] + VIEW_HEIGHT / 2)
        axes[row, 0].set_ylabel(kind, fontsize=11)
    first = axes[0, 0]
    first.plot(
        [VIEW_AHEAD - 13, VIEW_AHEAD - 3],
        [VIEW_CENTRE["left"] - VIEW_HEIGHT / 2 + 2] * 2,
        color=style.INK,
        lw=2,
        zorder=12,
    )
    first.text(
        VIEW_AHEAD - 8,
        VIEW_CENTRE["left"] - VIEW_HEIGHT / 2 + 2.6,
        "10 m",
        ha="center",
        va="bottom",
        fontsize=8,
        zorder=12,
    )
    handles = [
        Line2D([], [], **plot_style(style.CHOICE), marker="*", ms=10, label="own states"),
        Line2D([], [], **plot_style(style.DRIVEN), label="driver"),
        Line2D([], [], **plot_style(SWAPPED_STROKE), label="deranged states"),
        Line2D([], [], **plot_style(MEAN_STROKE), label="mean state"),
        RampMark(label=f"all {pools.plans.shape[1]} plans, dark is good"),
    ]
    figure.legend(
        handles=handles, handler_map={RampMark: RampHandler()}, loc="outside lower center", ncols=5, frameon=False,
        fontsize=10,
    )  # fmt: skip
    return figure


def _panel(axes: Axes, pools: ScoredPools, store: SceneStore, index: int, own: int, swapped: int) -> None:
    scene, plans = store[pools.tokens[index]], pools.plans[index]
    frame = EgoFrame.of(scene)
    draw_map(axes, scene, frame)
    draw_tracks(axes, scene.tracks, frame)
    utility = pools.utility_v1[index]
    colours, order = style.utility_colours(utility), np.argsort(utility, kind="stable")
    lines = [_path(plans[plan]) for plan in order]
    width = style.CANDIDATE.width
    axes.add_collection(
        LineCollection(lines, colors=[colours[plan] for plan in order], lw=width, alpha=0.9, zorder=6.5)
    )
    for chosen, stroke in ((swapped, SWAPPED_STROKE), (0, MEAN_STROKE)):
        draw_line(axes, _path(plans[chosen]), stroke, 7.0)
    path = _path(plans[own])
    draw_line(axes, path, style.CHOICE, 7.5)
    axes.plot(*path[-1], marker="*", ms=12, color=style.EGO, mec="white", mew=0.8, zorder=8.2)
    draw_line(axes, _path(pools.human_plan[index]), style.DRIVEN, 8.0)
    draw_ego(axes, frame, scene.ego_state)
    axes.set(xlim=(-VIEW_BEHIND, VIEW_AHEAD), aspect="equal", xticks=[], yticks=[], facecolor=style.GROUND)
    axes.grid(visible=False)
    for side in axes.spines.values():
        side.set_visible(False)
    score = pools.pdms[index]
    axes.set_title(f"PDMS own {score[own]:.2f}, deranged {score[swapped]:.2f}, mean {score[0]:.2f}", fontsize=8.5)


def _path(plan: NDArray[np.floating]) -> NDArray[np.floating]:
    """A plan's positions, from the ego on (T + 1, 2)."""
    return np.concatenate([np.zeros((1, 2)), plan[:, :2]])
