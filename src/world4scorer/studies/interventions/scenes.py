"""Twelve scenes in which own states find a best plan and a derangement does not keep the choice (Fig. 5).

The rule that picks them: own states choose a plan with the pool's best PDMS, which is at least `WORTHY`, and the one
derangement that planners are compared with changes the choice. Left and right turns are those in which the driver's
heading changes by more than `TURN` within the plan's four seconds, straight ways those with less than `STRAIGHT` and
of a length within `FAR`. Of each kind four are shown: the strongest turns (the longest ways) of different logs, then
of the same logs.
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

EACH: Final = 4
TURN: Final = np.radians(20.0)
"""Heading that changes by more within a plan: a turn."""
STRAIGHT: Final = np.radians(3.0)
"""By less: straight on."""
FAR: Final = (15.0, 42.0)
"""m of a straight way: long enough to be a drive, short enough for the picture."""
WORTHY: Final = 0.8
"""PDMS: where even the best plan of a pool fails there is nothing to choose."""
BEHIND: Final = 8.0
AHEAD: Final = 50.0
"""m of street in the picture."""
TALL: Final = 38.0
"""m from the lower to the upper edge of a picture."""
SWAPPED: Final = style.Stroke(style.INK, 2.0, dashes=(2.4, 1.2), casing=0.6)
MEAN: Final = style.Stroke(style.INK, 2.0, dashes=(1.0, 1.2), casing=0.6)
KINDS: Final = ("left", "straight", "right")
MIDDLE: Final = {"left": 9.0, "straight": 0.0, "right": -9.0}
"""m to the left of the ego at which pictures are centred."""


def pick_scenes(pools: ScoredPools) -> dict[str, list[int]]:
    """Places of the scenes of each kind, at most `EACH`."""
    own = framewise(pools.utility_v1)
    swapped = framewise(pools.utility_v1[:, derangement(pools.plans.shape[1], SINGLE_SEED)])
    best = pools.pdms.max(1)
    fits = (pools.at(pools.pdms, own) == best) & (best >= WORTHY) & (own != swapped)
    heading = pools.human_plan[:, -1, 2]
    way = np.linalg.norm(pools.human_plan[:, -1, :2], axis=1)
    # Comparisons with NaN, where nobody drove, are False.
    rated = {
        "left": np.where(fits & (heading > TURN), heading, -np.inf),
        "straight": np.where(fits & (np.abs(heading) < STRAIGHT) & (way > FAR[0]) & (way < FAR[1]), way, -np.inf),
        "right": np.where(fits & (heading < -TURN), -heading, -np.inf),
    }
    return {kind: _of_different_logs(rating, pools.log_names) for kind, rating in rated.items()}


def _of_different_logs(rating: NDArray[np.float64], log_names: tuple[str, ...]) -> list[int]:
    order = [int(place) for place in np.argsort(-rating, kind="stable") if np.isfinite(rating[place])]
    seen: dict[str, int] = {}
    turn = []
    for place in order:  # how many better ones its log has
        seen[log_names[place]] = seen.get(log_names[place], 0) + 1
        turn.append(seen[log_names[place]])
    return [place for _, place in sorted(zip(turn, order, strict=True), key=lambda one: one[0])][:EACH]


def draw_scenes(pools: ScoredPools, store: SceneStore) -> Figure | None:
    """Draw the picked scenes from above, forward to the right, all at one scale; None where the rule picks none."""
    picked = pick_scenes(pools)
    if not any(picked.values()):
        return None
    own = framewise(pools.utility_v1)
    swapped = framewise(pools.utility_v1[:, derangement(pools.plans.shape[1], SINGLE_SEED)])
    figure, axes = chart(EACH, len(KINDS), size=(15.2, 8.6), squeeze=False)
    for row, kind in enumerate(KINDS):
        for column in range(EACH):
            panel = axes[row, column]
            if column >= len(picked[kind]):
                panel.set_axis_off()
                continue
            place = picked[kind][column]
            _panel(panel, pools, store, place, int(own[place]), int(swapped[place]))
            panel.set_ylim(MIDDLE[kind] - TALL / 2, MIDDLE[kind] + TALL / 2)
        axes[row, 0].set_ylabel(kind, fontsize=11)
    first = axes[0, 0]
    first.plot([AHEAD - 13, AHEAD - 3], [MIDDLE["left"] - TALL / 2 + 2] * 2, color=style.INK, lw=2, zorder=12)
    first.text(AHEAD - 8, MIDDLE["left"] - TALL / 2 + 2.6, "10 m", ha="center", va="bottom", fontsize=8, zorder=12)
    handles = [
        Line2D([], [], **plot_style(style.CHOICE), marker="*", ms=10, label="own states"),
        Line2D([], [], **plot_style(style.DRIVEN), label="driver"),
        Line2D([], [], **plot_style(SWAPPED), label="deranged states"),
        Line2D([], [], **plot_style(MEAN), label="mean state"),
        RampMark(label=f"all {pools.plans.shape[1]} plans, dark is good"),
    ]
    figure.legend(
        handles=handles, handler_map={RampMark: RampHandler()}, loc="outside lower center", ncols=5, frameon=False,
        fontsize=10,
    )  # fmt: skip
    return figure


def _panel(axes: Axes, pools: ScoredPools, store: SceneStore, place: int, own: int, swapped: int) -> None:
    scene, plans = store[pools.tokens[place]], pools.plans[place]
    frame = EgoFrame.of(scene)
    draw_map(axes, scene, frame)
    draw_tracks(axes, scene.tracks, frame)
    utility = pools.utility_v1[place]
    colours, order = style.utility_colours(utility), np.argsort(utility, kind="stable")
    lines = [_path(plans[plan]) for plan in order]
    width = style.CANDIDATE.width
    axes.add_collection(
        LineCollection(lines, colors=[colours[plan] for plan in order], lw=width, alpha=0.9, zorder=6.5)
    )
    for chosen, stroke in ((swapped, SWAPPED), (0, MEAN)):
        draw_line(axes, _path(plans[chosen]), stroke, 7.0)
    way = _path(plans[own])
    draw_line(axes, way, style.CHOICE, 7.5)
    axes.plot(*way[-1], marker="*", ms=12, color=style.EGO, mec="white", mew=0.8, zorder=8.2)
    draw_line(axes, _path(pools.human_plan[place]), style.DRIVEN, 8.0)
    draw_ego(axes, frame, scene.ego_state)
    axes.set(xlim=(-BEHIND, AHEAD), aspect="equal", xticks=[], yticks=[], facecolor=style.GROUND)
    axes.grid(visible=False)
    for side in axes.spines.values():
        side.set_visible(False)
    score = pools.pdms[place]
    axes.set_title(f"PDMS own {score[own]:.2f}, deranged {score[swapped]:.2f}, mean {score[0]:.2f}", fontsize=8.5)


def _path(plan: NDArray[np.floating]) -> NDArray[np.floating]:
    """A plan's positions, from the ego on (T + 1, 2)."""
    return np.concatenate([np.zeros((1, 2)), plan[:, :2]])
