"""Why consecutive choices fail extended comfort, and which of these failures re-ranking repairs (Appendix E.1).

A failure is a pair of consecutive frames whose plans, each of highest v2 utility in its frame, do not continue each
other. By what else the later frame's pool offers it is

* pool-limited: no plan of the pool continues the plan chosen before;
* a near-tie: some plan does, and its utility is within `near_tie` of the chosen one's;
* a conflict: some plan does, but the planner thinks less of it.

Everything here is a function of the pool files alone; `dynamics`, where given, only says which pairs are dynamic.

Shapes: S frames, N plans.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from world4scorer.drawing.finding import Finding, Table
from world4scorer.evaluation.pools.choices import Chosen, continued, framewise, inertial
from world4scorer.evaluation.pools.scored import ScoredPools
from world4scorer.evaluation.scores.bootstrap import Interval, LogBootstrap, cell, plain
from world4scorer.evaluation.scores.paper import paper
from world4scorer.studies.taxonomy.figure import draw

NEAR_TIE: Final = 4.1e-5
DYNAMIC: Final = 0.75
"""Above this quantile of the pairs a scene belongs to the most dynamic quarter."""
CLASSES: Final = {"conflict": "score-continuity conflict", "near_tie": "near-tie", "pool_limited": "pool-limited"}
IN_PAPER: Final = {"conflict": "conflict", "near_tie": "tie", "pool_limited": "pool"}
RATES: Final = {
    "framewise": "framewise choices",
    "reranked": "re-ranked choices",
    "compatible": "some plan, after framewise choice",
    "reachable": "best sequence in the pools",
    "human": "logged driving",
    "human_pool_limited": "logged driving, pool-limited pairs",
}

Flags = NDArray[np.bool_]


class Failures(NamedTuple):
    """(S,) each: failures by class."""

    conflict: Flags
    near_tie: Flags
    pool_limited: Flags


def classify(pools: ScoredPools, utility: NDArray[Any], chosen: Chosen, near_tie: float = NEAR_TIE) -> Failures:
    """Sort the pairs of consecutive choices that fail extended comfort."""
    if not (np.isfinite(near_tie) and near_tie >= 0):
        raise ValueError(f"near_tie: {near_tie}; a finite number that is not negative is needed")
    passing = compatible(pools, chosen)
    worth = utility.astype(np.float64)
    lost = pools.at(worth, chosen) - np.where(passing, worth, -np.inf).max(1)
    failed = pools.paired & ~pools.at(passing, chosen)
    possible = passing.any(1)
    tied = lost <= near_tie
    return Failures(failed & possible & ~tied, failed & possible & tied, failed & ~possible)


def compatible(pools: ScoredPools, chosen: Chosen) -> Flags:
    """(S, N) which plans continue the plan chosen in the frame before; none where there is no such frame."""
    flags = pools.continues[np.arange(len(pools)), :, chosen[pools.previous]]
    return np.asarray(flags & pools.paired[:, None])


def taxonomy(
    pools: ScoredPools,
    near_tie: float = NEAR_TIE,
    weight: float = 1.0,
    draws: int = 10_000,
    dynamics: NDArray[np.floating[Any]] | None = None,
) -> Finding:
    """Classify framewise failures and see what becomes of them; `dynamics` (S,) is how much each scene changes."""
    bootstrap = LogBootstrap(pools.log_names, draws)
    off, on = framewise(pools.utility_v2), inertial(pools, pools.utility_v2, weight)
    failures = classify(pools, pools.utility_v2, off, near_tie)
    failed = np.logical_or.reduce(failures)
    passes = continued(pools, on) == 1
    residual = pools.paired & ~passes
    stuck = residual & ~compatible(pools, on).any(1)
    shares = {name: bootstrap.ratio(getattr(failures, name), failed) for name in CLASSES}
    repaired = {name: bootstrap.ratio(getattr(failures, name) & passes, getattr(failures, name)) for name in CLASSES}
    without_plan = bootstrap.ratio(stuck, residual)
    human = pools.human_continues
    rates = {
        "framewise": bootstrap.mean(continued(pools, off)),
        "reranked": bootstrap.mean(continued(pools, on)),
        "compatible": bootstrap.ratio(compatible(pools, off).any(1), pools.paired),
        "reachable": bootstrap.mean(continued(pools, smoothest(pools))),
        "human": bootstrap.mean(human),
        "human_pool_limited": bootstrap.mean(np.where(failures.pool_limited, human, np.nan)),
    }
    dynamic = _in_dynamic_quarter(pools, bootstrap, failures.pool_limited, dynamics)
    numbers = {
        "near_tie": near_tie,
        "weight": weight,
        "pairs": int(pools.paired.sum()),
        "failures": int(failed.sum()),
        "classes": {
            name: {
                "failures": int(getattr(failures, name).sum()),
                "share": plain(shares[name]),
                "repaired": plain(repaired[name]),
            }
            for name in CLASSES
        },
        "residual": {"failures": int(residual.sum()), "without_compatible_plan": plain(without_plan)},
        "pass_rates": {name: plain(rate) for name, rate in rates.items()},
        "pool_limited_most_dynamic": None if dynamic is None else plain(dynamic),
    }
    reported = paper("taxonomy") | {"drivor_ec_ceiling": paper("drivor_ec_ceiling")}
    return Finding(
        name="taxonomy",
        title="Extended-comfort failures",
        question="Why do consecutive framewise choices fail extended comfort, and what does re-ranking repair?",
        data=pools.describe(),
        weights=pools.weights,
        numbers=numbers,
        tables=(_class_table(numbers, shares, repaired, reported), _rate_table(rates, without_plan, dynamic, reported)),
        remarks=_remarks(numbers, shares, rates, dynamics is None),
        paper=reported,
        figure=draw(
            {CLASSES[name]: ((shares[name], repaired[name]), reported[IN_PAPER[name]]) for name in CLASSES},
            {title: (rates[name], _paper_rates(reported)[name]) for name, title in RATES.items()},
        ),
    )


def _in_dynamic_quarter(
    pools: ScoredPools, bootstrap: LogBootstrap, limited: Flags, dynamics: NDArray[np.floating[Any]] | None
) -> Interval | None:
    """The share of pool-limited failures in the quarter of pairs whose scenes change most."""
    if dynamics is None:
        return None
    if np.shape(dynamics) != (len(pools),):
        raise ValueError(f"dynamics: shape {np.shape(dynamics)} for {len(pools)} frames; one number for each is needed")
    known = pools.paired & ~np.isnan(dynamics)
    if not known.any():
        return Interval(np.nan, np.nan, np.nan)
    most = known & (np.nan_to_num(dynamics) >= np.quantile(dynamics[known], DYNAMIC))
    return bootstrap.ratio(limited & most, limited & known)


def _paper_rates(reported: Any) -> dict[str, float | None]:
    """The paper's pass rates on all its pairs, from the counts that it gives."""
    pairs, failures, moved = reported["pairs"], reported["failures"], paper("consecutive")
    return {
        "framewise": 1 - failures / pairs,
        "reranked": 1 - (failures - moved["fail_to_pass"] + moved["pass_to_fail"]) / pairs,
        "compatible": 1 - reported["pool"][0] * failures / pairs,
        "reachable": None,
        "human": reported["human_pass"],
        "human_pool_limited": reported["human_pass_pool_limited"],
    }


def _class_table(numbers: Any, shares: dict[str, Interval], repaired: dict[str, Interval], reported: Any) -> Table:
    rows = []
    for name, title in CLASSES.items():
        share, repair = reported[IN_PAPER[name]]
        rows.append(
            (
                title,
                str(numbers["classes"][name]["failures"]),
                cell(shares[name]),
                cell(repaired[name]),
                f"{100 * share:.1f}",
                f"{100 * repair:.1f}",
            )
        )
    columns = ("class", "failures", "share [%]", "repaired [%]", "share, paper", "repaired, paper")
    title = f"{numbers['failures']:,} framewise failures among {numbers['pairs']:,} pairs"
    return Table(title, columns, tuple(rows))


def _rate_table(rates: dict[str, Interval], without_plan: Interval, dynamic: Interval | None, reported: Any) -> Table:
    theirs = _paper_rates(reported)
    rows = [
        (f"pairs passing: {title}", cell(rates[name]), "" if (value := theirs[name]) is None else f"{100 * value:.1f}")
        for name, title in RATES.items()
    ]
    rows.append(
        ("failures left after re-ranking: no plan passes", cell(without_plan), f"{100 * reported['residual_pool']:.1f}")
    )
    if dynamic is not None:
        theirs_dynamic = f"{100 * reported['pool_limited_most_dynamic']:.1f}"
        rows.append(("pool-limited failures: in the most dynamic quarter", cell(dynamic), theirs_dynamic))
    return Table("Shares [%]", ("", "share", "paper, NAVSIM"), tuple(rows))


def _remarks(
    numbers: Any, shares: dict[str, Interval], rates: dict[str, Interval], without_dynamics: bool
) -> tuple[str, ...]:
    remarks = []
    if numbers["failures"]:
        largest = max(CLASSES, key=lambda name: shares[name].value)
        remarks.append(
            f"Most frequent among the {numbers['failures']:,} failures: {CLASSES[largest]} ({cell(shares[largest])} %)."
        )
    else:
        remarks.append("No pair of framewise choices fails extended comfort, so there is nothing to classify.")
    if not np.isnan(rates["reachable"].value):
        remarks.append(
            "That no plan continues the framewise choice does not bound a sequence of choices, as another choice "
            "before may have left a way: the best sequence in the pools, found over all sequences, passes on "
            f"{cell(rates['reachable'])} % of the pairs."
        )
    remarks.append("The paper's pass rates follow from its counts of pairs, failures and repairs.")
    if without_dynamics:
        remarks.append("How much scenes change is not known here, so the most dynamic quarter is left out.")
    return tuple(remarks)


def smoothest(pools: ScoredPools) -> Chosen:
    """(S,) choices with the most continued pairs in every log; no choices from these pools have more.

    Each choice changes what the next is compared with, so this is the longest path through all plans of a log, where a
    step counts 1 if the plan continues the one before.
    """
    frames, plans = pools.utility_v2.shape
    kept = np.zeros((frames, plans), np.int64)
    """Most pairs continued up to each plan."""
    before = np.zeros((frames, plans), np.int64)
    """The plan of the frame before on the way there."""
    for s in np.flatnonzero(pools.paired):
        ways = kept[s - 1] + pools.continues[s]
        before[s] = ways.argmax(1)
        kept[s] = ways.max(1)
    chosen: Chosen = kept.argmax(1)
    for s in np.flatnonzero(pools.paired)[::-1]:
        chosen[s - 1] = before[s, chosen[s]]
    return chosen
