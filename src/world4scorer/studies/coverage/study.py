"""Coverage, a variant whose generator is also trained to cover good plans of the bank: its pools, and re-ranking there.

The paper's sensitivity to the weight of re-ranking was measured on its pools (Appendix E.3).

Shapes: S frames, N plans, T poses.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from world4scorer.drawing.charts import SERIES, chart
from world4scorer.drawing.dots import DotRow, dot_legend, draw_dots
from world4scorer.drawing.finding import Finding, Table
from world4scorer.drawing.style import INK
from world4scorer.evaluation.pools.choices import framewise, inertial
from world4scorer.evaluation.pools.scored import ScoredPools
from world4scorer.evaluation.scores.bootstrap import Interval, verdict
from world4scorer.evaluation.scores.paper import paper
from world4scorer.planner.training.config import TrainConfig
from world4scorer.studies.lambda_weight.study import WEIGHTS
from world4scorer.studies.shared import variant_report as report
from world4scorer.studies.shared.options import DEFAULT_TRAINING_OPTIONS, TrainingOptions
from world4scorer.studies.shared.variant_scores import (
    BEST,
    EC,
    EC_RERANKED,
    EPDMS,
    ORDERING,
    PDMS,
    RANDOM,
    RERANKED,
    Measures,
    VariantScores,
    mean,
    pool_measures,
    score_variants,
)
from world4scorer.studies.shared.variants import Variant, train_variants

NAME: Final = "coverage"
WITHOUT: Final = "run"
WITH: Final = "coverage"
GOOD: Final = 0.9
"""PDMS from which a plan counts as good."""
GOOD_SHARE: Final = "good plans"
CEILING: Final = "some plan passes EC"
"""Against the framewise choice before; a sequence of other choices may pass more often."""
SCORES: Final = (PDMS, RANDOM, BEST, ORDERING, EPDMS, RERANKED, EC, EC_RERANKED, CEILING, GOOD_SHARE)
SPREAD: Final = "between plans of a pool"
NEAREST: Final = "from the driven plan to the nearest"
DISTANCES: Final = (SPREAD, NEAREST)
"""In metres."""
METRES: Final = "m"


def covering(config: TrainConfig) -> TrainConfig:
    """The configuration of Coverage."""
    return replace(config, losses=replace(config.losses, coverage=1.0))


VARIANTS: Final = (
    Variant(WITHOUT, lambda config: replace(config, losses=replace(config.losses, coverage=0.0))),
    Variant(WITH, covering),
)


def coverage(run: Path, training: TrainingOptions = DEFAULT_TRAINING_OPTIONS) -> Finding:
    """Train what is missing of the two, and compare their pools."""
    folders = train_variants(run, NAME, VARIANTS, training)
    return describe(score_variants(folders, training, coverage_measures))


def coverage_measures(pools: ScoredPools, min_gap: float = 0.0) -> Measures:
    """What is measured of any pools, what they could offer, and re-ranking with several weights."""
    chosen = framewise(pools.utility_v2)
    indices = np.arange(len(pools))
    possible = pools.continues[indices, :, chosen[pools.previous]].any(1)
    return {
        **pool_measures(pools, min_gap),
        CEILING: mean(np.where(pools.paired, possible, np.nan)),
        GOOD_SHARE: mean((pools.pdms >= GOOD).mean(1)),
        SPREAD: mean(spread(pools.plans)),
        NEAREST: mean(_distance(pools.plans, pools.human_plan[:, None]).min(1)),
        **{_weighted(weight): mean(pools.epdms(inertial(pools, pools.utility_v2, weight))) for weight in WEIGHTS},
    }


def spread(plans: NDArray[Any]) -> NDArray[np.float64]:
    """(S,) mean distance between two plans of a pool (S, N, T, 3) [m], over poses and pairs."""
    pairs = max(plans.shape[1] * (plans.shape[1] - 1), 1)
    return np.array([_distance(pool[:, None], pool[None]).sum() / pairs for pool in plans], np.float64)


def _distance(some: NDArray[Any], others: NDArray[Any]) -> NDArray[np.float64]:
    """Mean over poses of the distance between plans (..., T, 3) [m]."""
    return np.asarray(np.hypot(*np.moveaxis(some[..., :2] - others[..., :2], -1, 0)).mean(-1), np.float64)


def describe(scores: VariantScores) -> Finding:
    """The finding on pools with and without coverage."""
    reported = {"lambda_epdms": paper("lambda_epdms"), "framewise_epdms": paper("history_epdms")["memoryless"]}
    ceiling, best = (scores.change(WITH, name, WITHOUT).times(100) for name in (CEILING, BEST))
    between = scores.change(WITH, SPREAD, WITHOUT)
    gains = {variant: [_gain(scores, variant, weight) for weight in WEIGHTS] for variant in (WITHOUT, WITH)}
    values = [scores.value(WITH, _weighted(weight)).times(100).value for weight in WEIGHTS]
    return Finding(
        name=NAME,
        title="Coverage",
        question="What changes if the generator is also trained to cover the good plans of the bank?",
        data=scores.data,
        weights="",
        numbers=scores.numbers((*SCORES, *DISTANCES, *map(_weighted, WEIGHTS)), WITHOUT),
        tables=(_table(scores), _weight_table(scores, gains, reported)),
        remarks=(
            f"Coverage {verdict(best)} the PDMS of the best plan of a pool ({best.text(1, signed=True)}) and "
            f"{verdict(ceiling)} the share of frames in which some plan continues the last choice "
            f"({ceiling.text(1, signed=True)}). The distance between plans of a pool changes by "
            f"{between.text(2, signed=True)} m.",
            f"On its pools re-ranking with weights from {WEIGHTS[0]} to {WEIGHTS[-1]} differs by at most "
            f"{max(values) - min(values):.2f} points of EPDMS (paper "
            f"{max(reported['lambda_epdms'].values()) - min(reported['lambda_epdms'].values()):.2f}).",
            report.seeds_remark(scores),
        ),
        paper=reported,
        figure=_figure(scores, gains, reported),
    )


def _weighted(weight: float) -> str:
    return f"EPDMS, weight {weight:g}"


def _gain(scores: VariantScores, variant: str, weight: float) -> Interval:
    """EPDMS above that of framewise selection in the same pools, in hundredths."""
    after, before = (scores.over_seeds(variant, name) for name in (_weighted(weight), EPDMS))
    return scores.bootstrap.ratio_change(after, before).times(100)


def _table(scores: VariantScores) -> Table:
    rows = []
    for name in (*SCORES, *DISTANCES):
        factor, unit = (1, f" [{METRES}]") if name in DISTANCES else (100, "")
        with_it, without = (scores.value(variant, name).times(factor).text() for variant in (WITH, WITHOUT))
        rows.append(
            (name + unit, without, with_it, scores.change(WITH, name, WITHOUT).times(factor).text(2, signed=True))
        )
    return Table("Pools and choices", ("", "run", "coverage", "change"), tuple(rows))


def _weight_table(scores: VariantScores, gains: dict[str, list[Interval]], reported: dict[str, Any]) -> Table:
    rows = [
        (
            f"{weight:g}",
            scores.value(WITHOUT, _weighted(weight)).times(100).text(),
            scores.value(WITH, _weighted(weight)).times(100).text(),
            gains[WITH][index].text(2, signed=True),
            f"{reported['lambda_epdms'][f'{weight:g}']:.2f}",
            f"{reported['lambda_epdms'][f'{weight:g}'] - reported['framewise_epdms']:+.1f}",
        )
        for index, weight in enumerate(WEIGHTS)
    ]
    columns = ("weight", "EPDMS, run", "EPDMS, coverage", "gain over framewise", "paper, NAVSIM", "gain; paper, NAVSIM")
    return Table("Weight of re-ranking", columns, tuple(rows))


def _figure(scores: VariantScores, gains: dict[str, list[Interval]], reported: dict[str, Any]) -> Figure:
    drawn, (left, right) = chart(2, size=(10, 4.2), width_ratios=(1.15, 1.0))
    names = (PDMS, RANDOM, BEST, GOOD_SHARE, ORDERING, EPDMS, RERANKED, CEILING)
    rows = []
    for name in names:
        found = scores.change(WITH, name, WITHOUT).times(100)
        single = [100 * one for one in scores.change_by_seed(WITH, name, WITHOUT)]
        rows.append(DotRow(name, *found, single, None, SERIES[0]))
    draw_dots(left, rows, zero=True)
    left.set_title("coverage against the run [points]", fontsize=10)
    below = {"loc": "upper center", "bbox_to_anchor": (0.5, -0.14), "ncols": 3, "fontsize": 8, "frameon": False}
    left.legend(handles=dot_legend(seeds=len(scores.seeds) > 1, paper=False), **below)
    _draw_weights(right, gains, reported)
    right.legend(**below)
    return drawn


def _draw_weights(axis: Axes, gains: dict[str, list[Interval]], reported: dict[str, Any]) -> None:
    for shift, variant, colour in ((0.97, WITH, SERIES[0]), (1.03, WITHOUT, SERIES[1])):
        found = gains[variant]
        spans = [[one.value - one.low for one in found], [one.high - one.value for one in found]]
        axis.errorbar(
            [shift * weight for weight in WEIGHTS],
            [one.value for one in found],
            spans,
            fmt="o-",
            color=colour,
            lw=1.4,
            ms=5,
            label=variant,
        )
    theirs = [reported["lambda_epdms"][f"{weight:g}"] - reported["framewise_epdms"] for weight in WEIGHTS]
    axis.plot(WEIGHTS, theirs, "D", color=INK, ms=5, label="coverage; paper, NAVSIM")
    axis.set_xscale("log", base=2)
    axis.set_xticks(WEIGHTS, [f"{weight:g}" for weight in WEIGHTS])
    axis.set_ylim(bottom=min(0.0, axis.get_ylim()[0]))
    axis.set_xlabel("weight of re-ranking")
    axis.set_title("EPDMS above framewise selection [points]", fontsize=10)
