"""Where NAVSIM v1 and v2 would choose different plans of the same pools, and why (appendix B.2).

Utilities are computed from simulated outcomes, so that the rule is looked at and not the planner's errors. Both take
the sub-scores of v1.1; the rules differ in their weights and in extended comfort (EC): whether a plan continues the one
that the planner chose framewise in the frame before.

Population. The paper counts over all its 12,146 scenes, of which 10,040 have a frame before, and so does `all`: frames
without one are judged without EC, as the benchmark does. What EC itself is needed for (gains, failures, plans that both
get far and pass EC) is counted over frames with a frame before. Only so do the paper's numbers fit together: 43 % of
12,146 scenes are 52 % of 10,040, and where choices differ nearly every v1 choice fails EC (99.7 %) and nearly every v2
choice passes, so that 50.4 points of EC gained are gained over the frames with a frame before. `paired` leaves out the
other frames everywhere.

Shapes: S frames, N plans, K of these frames.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import NDArray

from world4scorer.drawing.finding import Finding
from world4scorer.engine.outcomes.results import epdms_of_table
from world4scorer.engine.selection.utility import ADDED, OUTCOMES
from world4scorer.evaluation.pools.choices import framewise
from world4scorer.evaluation.pools.scored import ScoredPools
from world4scorer.evaluation.scores.bootstrap import Interval, LogBootstrap, plain
from world4scorer.evaluation.scores.paper import paper
from world4scorer.studies.disagreement.figure import draw
from world4scorer.studies.disagreement.objectives import gap_parts, objective, outcomes_of
from world4scorer.studies.disagreement.tables import remarks, tables
from world4scorer.studies.shared.row_correlation import correlation, rank_correlation

Floats = NDArray[np.float64]
Intervals = dict[str, Interval]
Population = Literal["all", "paired"]

UPPER_QUARTER: Final = 0.75


@dataclass(frozen=True, eq=False)
class Frames:
    """What the study knows of the frames."""

    outcomes: Floats
    """(S, N, 6)"""
    v2: Floats
    """(S, N, 10)"""
    pdms: Floats
    """(S, N)"""
    continues: Floats
    """(S, N) extended comfort against the planner's choice in the frame before: 1 or 0; 1 without a frame before"""
    paired: NDArray[np.bool_]
    """(S,) which frames have a frame before"""
    change: Floats
    """(S,) of the view within two seconds; NaN where it is not known"""

    @property
    def progress(self) -> Floats:
        """(S, N)"""
        return self.outcomes[..., OUTCOMES.index("EP")]

    def at(self, table: Floats, chosen: NDArray[np.int64]) -> Floats:
        """Entries (S, ...) of the chosen plans in a table (S, N, ...)."""
        return np.asarray(table[np.arange(len(table)), chosen])


def disagreement(
    pools: ScoredPools, scene_change: Floats | None = None, draws: int = 10_000, population: Population = "all"
) -> Finding:
    """Compare the two rules; `scene_change` (frames of the pools,) says how much each scene's view changes."""
    where = np.arange(len(pools)) if population == "all" else np.flatnonzero(pools.paired)
    if not pools.paired.any():
        raise ValueError("pools: no frame has one before it; extended comfort needs consecutive frames of a log")
    frames = frames_of(pools, where, scene_change)
    bootstrap = LogBootstrap([pools.log_names[index] for index in where], draws)
    first, alone = (objective(frames.outcomes, benchmark) for benchmark in ("v1", "v2"))
    second = objective(frames.outcomes, "v2", frames.continues)
    rule = compare(bootstrap, frames, first, second, alone)
    comfort = np.where(frames.paired[:, None], frames.continues, np.nan)
    native = compare(bootstrap, frames, frames.pdms, epdms_of_table(frames.v2, comfort), epdms_of_table(frames.v2))
    gap = gap_shares(bootstrap, frames, framewise(first), framewise(second))
    progress, thresholds = progress_and_comfort(bootstrap, frames)
    reported = paper("disagreement")
    return Finding(
        name="disagreement",
        title="Two objectives",
        question="How often would NAVSIM v1 and v2 choose different plans of the same pools, and because of what?",
        data=pools.describe(),
        weights=pools.weights,
        numbers={
            "population": population,
            "frames": len(where),
            "pairs": int(frames.paired.sum()),
            "utilities": {name: plain(one) for name, one in rule.items()},
            "native": {name: plain(one) for name, one in native.items()},
            "gap_share": {name: plain(one) for name, one in gap.items()},
            "progress_and_comfort": {name: plain(one) for name, one in progress.items()},
            "progress_thresholds": thresholds,
        },
        tables=tables(rule, native, gap, progress, reported),
        remarks=remarks(rule, gap, progress, thresholds, scene_change is not None, population),
        paper=reported,
        figure=draw(rule, native, gap, progress, reported),
    )


def frames_of(pools: ScoredPools, where: NDArray[np.int64], scene_change: Floats | None) -> Frames:
    """The frames at some indices."""
    before, paired = framewise(pools.utility_v2)[pools.previous[where]], pools.paired[where]
    return Frames(
        outcomes_of(pools.v1[where]),
        pools.v2[where],
        pools.pdms[where],
        np.where(paired[:, None], pools.continues[where, :, before], 1.0),
        paired,
        np.full(len(where), np.nan) if scene_change is None else scene_change[where],
    )


def compare(bootstrap: LogBootstrap, frames: Frames, first: Floats, second: Floats, alone: Floats) -> Intervals:
    """What a rule of v1 (S, N) and one of v2, with EC and `alone` (S, N), choose and how alike they rank."""
    by_first, by_second, by_alone = framewise(first), framewise(second), framewise(alone)
    different = by_first != by_second
    comfort = [frames.at(frames.continues, chosen) for chosen in (by_first, by_second)]
    progress = [frames.at(frames.progress, chosen) for chosen in (by_first, by_second)]
    cost = frames.at(frames.pdms, by_first) - frames.at(frames.pdms, by_second)
    gain, loss = comfort[1] - comfort[0], progress[0] - progress[1]
    counted = different & frames.paired
    return {
        "argmax": bootstrap.mean(different),
        "argmax_without_ec": bootstrap.mean(by_first != by_alone),
        "v1_choice_not_best": bootstrap.mean(frames.at(second, by_first) < second.max(1)),
        "v1_choice_not_best_without_ec": bootstrap.mean(frames.at(alone, by_first) < alone.max(1)),
        "rho": bootstrap.mean(rank_correlation(first, second)),
        "rho_without_ec": bootstrap.mean(rank_correlation(first, alone)),
        "v1_choice_fails_ec": bootstrap.ratio(counted & (comfort[0] == 0), counted),
        "v1_cost": bootstrap.mean(cost),
        "ec_gain": bootstrap.mean(np.where(frames.paired, gain, np.nan)),
        "ec_gain_where_different": bootstrap.ratio(gain * counted, counted),
        "ep_loss": bootstrap.mean(np.where(frames.paired, loss, np.nan)),
        "ep_loss_where_different": bootstrap.ratio(loss * counted, counted),
    }


def gap_shares(
    bootstrap: LogBootstrap, frames: Frames, by_first: NDArray[np.int64], by_second: NDArray[np.int64]
) -> Intervals:
    """Which share of the v2 utility that the v1 choices lack is due to which outcome; `rest` is TTC, EP and C."""
    # Where choices are the same there is no gap. Elsewhere neither weighted sum can be 0: it would make every plan of
    # the pool worth -inf, and both rules would take the first.
    different = np.flatnonzero(by_first != by_second)
    second, first = (different, by_second[different]), (different, by_first[different])
    found = gap_parts(
        frames.outcomes[second], frames.outcomes[first], frames.continues[second], frames.continues[first]
    )
    found["rest"] = np.sum([found[name] for name in ADDED], axis=0)
    gap = np.zeros(len(frames.pdms))
    gap[different] = found["EC"] + found["rest"] + found["NC"] + found["DAC"] + found["DDC"]

    def share(part: Floats) -> Interval:
        everywhere = np.zeros(len(gap))
        everywhere[different] = part
        return bootstrap.ratio(everywhere, gap)

    return {name: share(part) for name, part in found.items()}


def progress_and_comfort(bootstrap: LogBootstrap, frames: Frames) -> tuple[Intervals, dict[str, float]]:
    """How often no plan both gets far and continues the last one; and the pool-wide thresholds of progress."""
    progress, passing = frames.progress, frames.continues == 1
    thresholds = {"upper_quarter": UPPER_QUARTER, "median": 0.5}
    thresholds = {name: float(np.quantile(progress, share)) for name, share in thresholds.items()}
    within = np.quantile(progress, UPPER_QUARTER, axis=1)[:, None]

    def paired(values: Any) -> Floats:
        return np.where(frames.paired, values, np.nan)

    def infeasible(threshold: Any) -> Floats:
        return paired(~((progress >= threshold) & passing).any(1))

    everywhere, known = infeasible(thresholds["upper_quarter"]), ~np.isnan(frames.change)
    dynamic = known & (frames.change >= np.quantile(frames.change[known], UPPER_QUARTER)) if known.any() else known
    dynamic &= frames.paired
    return {
        "infeasible": bootstrap.mean(everywhere),
        "infeasible_most_dynamic_quarter": bootstrap.ratio(np.where(dynamic, everywhere, 0.0), dynamic),
        "infeasible_median_threshold": bootstrap.mean(infeasible(thresholds["median"])),
        "infeasible_within_scene": bootstrap.mean(infeasible(within)),
        "no_plan_continues": bootstrap.mean(paired(~passing.any(1))),
        "ep_saturated": bootstrap.mean((progress == 1).mean(1)),
        "ep_ec_correlation": bootstrap.mean(paired(correlation(progress, frames.continues))),
    }, thresholds
