"""The figure of the consecutive plans: reductions, distance to what was driven, a stretch of a log on the ground."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from world4scorer.evaluation.bootstrap import Interval
from world4scorer.pools.choices import Chosen
from world4scorer.pools.scored import ScoredPools
from world4scorer.studies.plan_change import PlanChange, in_world
from world4scorer.view.charts import OURS, PAPER, chart
from world4scorer.view.style import FAINT, HUMAN

STRETCH: Final = 6
"""Frames of the example."""
MARGIN: Final = 2.0
"""m around it."""


def draw(
    pools: ScoredPools,
    off: Chosen,
    on: Chosen,
    before: PlanChange,
    after: PlanChange,
    repaired: NDArray[np.bool_],
    reductions: dict[str, Interval],
    to_log: dict[str, Interval],
    reported: Any,
) -> Figure:
    """Draw all panels; the example is the stretch whose repaired pairs gain most sideways."""
    figure, axes = chart(4, size=(12.6, 3.7), width_ratios=(1.15, 0.75, 1.3, 1.3))
    _reductions(axes[0], reductions, reported)
    _to_log(axes[1], to_log, reported)
    frames = example(pools, np.where(repaired, before.lateral - after.lateral, 0.0))
    _on_the_ground(axes[2], pools, frames, off, "framewise")
    _on_the_ground(axes[3], pools, frames, on, "re-ranked")
    low = np.min([axis.dataLim.min for axis in axes[2:]], axis=0) - MARGIN
    high = np.max([axis.dataLim.max for axis in axes[2:]], axis=0) + MARGIN
    for axis in axes[2:]:
        axis.set_xlim(low[0], high[0])
        axis.set_ylim(low[1], high[1])
        axis.set_aspect("equal", adjustable="datalim")
    axes[3].legend(fontsize=7.5, frameon=False, loc="best")
    return figure


def example(pools: ScoredPools, gain: NDArray[np.float64]) -> NDArray[np.int64]:
    """Places of consecutive frames, `STRETCH` or as many as there are, over whose pairs the gain (S,) is largest."""
    start = np.maximum.accumulate(np.where(pools.paired, 0, np.arange(len(pools))))
    first = np.maximum(start, np.arange(len(pools)) - STRETCH + 1)
    summed = np.concatenate([[0.0], np.cumsum(np.nan_to_num(gain))])
    last = int(np.argmax(summed[1:] - summed[first + 1]))
    return np.arange(first[last], last + 1)


def _reductions(axis: Axes, reductions: dict[str, Interval], reported: Any) -> None:
    values = [one.times(100) for one in reductions.values()]
    places = np.arange(len(values))
    spread = [[v.value - v.low for v in values], [v.high - v.value for v in values]]
    axis.bar(places, [v.value for v in values], 0.55, color=OURS)
    axis.errorbar(places, [v.value for v in values], spread, fmt="none", ecolor="#333333", lw=1)
    theirs = [100 * reported[name] for name in ("heading_jitter_drop", "lateral_drop", "l2_drop")]
    axis.scatter(places, theirs, marker="_", s=420, color="black", lw=1.6, zorder=4, label="paper, NAVSIM")
    axis.axhline(0, color="#333333", lw=0.8)
    axis.set_xticks(places, ["heading", "lateral", "distance"])
    axis.set_title("reduction on repaired pairs [%]")
    axis.legend(fontsize=7.5, frameon=False, loc="upper right")


def _to_log(axis: Axes, to_log: dict[str, Interval], reported: Any) -> None:
    for place, part, colour in ((0, "off", PAPER), (1, "on", OURS)):
        value = to_log[part]
        axis.bar(place, value.value, 0.6, color=colour)
        axis.errorbar(
            place, value.value, [[value.value - value.low], [value.high - value.value]], ecolor="#333333", lw=1
        )
        axis.scatter(place, reported["distance_to_log_m"][place], marker="_", s=420, color="black", lw=1.6, zorder=4)
    axis.set_xticks([0, 1], ["off", "on"])
    axis.set_title("changed choices:\nto the logged plan [m]")


def _on_the_ground(axis: Axes, pools: ScoredPools, frames: NDArray[np.int64], chosen: Chosen, title: str) -> None:
    """Plans of consecutive frames, the later the darker, seen from the first ego."""
    cos, sin = np.cos(pools.ego_pose[frames[0], 2]), np.sin(pools.ego_pose[frames[0], 2])
    turn = np.array([[cos, -sin], [sin, cos]])

    def drawn(plan: NDArray[np.floating], s: int) -> NDArray[np.float64]:
        return np.asarray((in_world(plan, pools.ego_pose[s])[:, :2] - pools.ego_pose[frames[0], :2]) @ turn)

    for shade, s in zip(np.linspace(0.25, 1.0, len(frames)), frames, strict=True):
        line = drawn(pools.plans[s, chosen[s]], s)
        axis.plot(
            *line.T, color=OURS, alpha=shade, lw=1.6, marker="o", ms=2.2, label="plans" if s == frames[-1] else None
        )
        axis.plot(*line[0], color=FAINT, marker="s", ms=3.5, zorder=5)
    for s in frames[[0, -1]]:
        human = drawn(pools.human_plan[s], s)
        axis.plot(*human.T, color=HUMAN, lw=1.1, ls="--", zorder=1, label="driven" if s == frames[-1] else None)
    axis.grid(True, color="#e6e6e3", lw=0.8)
    axis.set_title(f"{title}: {len(frames)} consecutive plans")
    axis.set_xlabel("forward [m]")
