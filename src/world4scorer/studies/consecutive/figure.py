"""The figure of the consecutive plans: reductions, distance to what was driven, the plans of one stretch."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from world4scorer.drawing.charts import OURS, PAPER, chart, set_title
from world4scorer.drawing.style import HUMAN
from world4scorer.engine.scene.geometry import arc_length_hypot
from world4scorer.engine.scene.indices import PLAN_INTERVAL, PLAN_POSES
from world4scorer.evaluation.pools.choices import Chosen
from world4scorer.evaluation.pools.scored import ScoredPools
from world4scorer.evaluation.scores.bootstrap import Interval
from world4scorer.studies.consecutive.plan_change import PlanChange

EXAMPLE_FRAMES: Final = 6
"""Frames of the example."""
TIMES: Final = PLAN_INTERVAL * np.arange(PLAN_POSES + 1)
"""s of a plan's poses, from its ego's on."""


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
    """Draw all panels; the example is the stretch whose repaired pairs gain most in distance."""
    figure, axes = chart(4, size=(13.6, 3.7), width_ratios=(1.15, 0.85, 1.3, 1.3))
    _reductions(axes[0], reductions, reported)
    _to_log(axes[1], to_log, reported)
    frames = example(pools, np.where(repaired, before.distance - after.distance, 0.0))
    _over_time(axes[2], pools, frames, off, f"{len(frames)} framewise plans")
    _over_time(axes[3], pools, frames, on, f"{len(frames)} re-ranked plans")
    top = max(axis.get_ylim()[1] for axis in axes[2:])
    for axis in axes[2:]:
        axis.set_ylim(0, top)
    axes[2].legend(fontsize=7.5, frameon=False, loc="upper left")
    return figure


def example(pools: ScoredPools, gain: NDArray[np.float64]) -> NDArray[np.int64]:
    """Indices of at most `EXAMPLE_FRAMES` consecutive frames over whose pairs the gain (S,) is largest."""
    start = np.maximum.accumulate(np.where(pools.paired, 0, np.arange(len(pools))))
    first = np.maximum(start, np.arange(len(pools)) - EXAMPLE_FRAMES + 1)
    summed = np.concatenate([[0.0], np.cumsum(np.nan_to_num(gain))])
    last = int(np.argmax(summed[1:] - summed[first + 1]))
    return np.arange(first[last], last + 1)


def _reductions(axis: Axes, reductions: dict[str, Interval], reported: Any) -> None:
    values = [one.times(100) for one in reductions.values()]
    positions = np.arange(len(values))
    spread = [[v.value - v.low for v in values], [v.high - v.value for v in values]]
    axis.bar(positions, [v.value for v in values], 0.55, color=OURS)
    axis.errorbar(positions, [v.value for v in values], spread, fmt="none", ecolor="#333333", lw=1)
    theirs = [100 * reported[name] for name in ("heading_jitter_drop", "lateral_drop", "l2_drop")]
    axis.scatter(positions, theirs, marker="_", s=420, color="black", lw=1.6, zorder=4, label="paper, NAVSIM")
    axis.axhline(0, color="#333333", lw=0.8)
    axis.set_xticks(positions, ["heading", "lateral", "distance"])
    set_title(axis, "reduction, repaired pairs [%]")
    axis.legend(fontsize=8, frameon=False, loc="upper center", bbox_to_anchor=(0.5, -0.08))


def _to_log(axis: Axes, to_log: dict[str, Interval], reported: Any) -> None:
    for index, part, colour in ((0, "off", PAPER), (1, "on", OURS)):
        value = to_log[part]
        axis.bar(index, value.value, 0.6, color=colour)
        axis.errorbar(
            index, value.value, [[value.value - value.low], [value.high - value.value]], ecolor="#333333", lw=1
        )
        axis.scatter(index, reported["distance_to_log_m"][index], marker="_", s=420, color="black", lw=1.6, zorder=4)
    axis.set_xticks([0, 1], ["off", "on"])
    axis.set_xlabel("changed choices")
    set_title(axis, "to the logged plan [m]")


def _over_time(axis: Axes, pools: ScoredPools, frames: NDArray[np.int64], chosen: Chosen, title: str) -> None:
    """How far each of consecutive plans leads by when, the later the darker; what was driven behind them."""
    driven = arc_length_hypot(pools.ego_pose[frames, :2])
    since = (pools.time_us[frames] - pools.time_us[frames[0]]) * 1e-6
    for index in (0, len(frames) - 1):
        way = driven[index] + _way(pools.human_plan[frames[index]])
        label = "driven" if index == 0 else None
        axis.plot(since[index] + TIMES, way, color=HUMAN, lw=2.4, ls=":", zorder=1, label=label)
    for index, s in enumerate(frames):
        way = driven[index] + _way(pools.plans[s, chosen[s]])
        shade = 0.3 + 0.7 * index / max(1, len(frames) - 1)
        label = "plans, later ones darker" if index == len(frames) - 1 else None
        axis.plot(since[index] + TIMES, way, color=OURS, alpha=shade, lw=1.4, marker="o", ms=2, label=label)
    set_title(axis, title)
    axis.set_xlabel("time [s]")
    axis.set_ylabel("way [m]")


def _way(plan: NDArray[np.floating[Any]]) -> NDArray[np.float64]:
    """(T + 1,) metres along a plan (T, 3), from its ego on."""
    return arc_length_hypot(np.concatenate([np.zeros((1, 2)), plan[:, :2]]))
