"""What re-ranking changes between consecutive plans (Appendix E.2).

Same planner, same pools, re-ranking off and on. A pair of frames is repaired where its two plans fail extended comfort
without and pass with re-ranking. On the repaired pairs, how much less do consecutive plans differ: in heading,
sideways, in distance (`plan_change` says how that is measured)? And do changed choices come nearer to what was driven?

Shapes: S frames.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from world4scorer.datasets.store import SceneStore
from world4scorer.drawing.finding import Finding, Table
from world4scorer.evaluation.pools.choices import Chosen, continued, framewise, inertial
from world4scorer.evaluation.pools.scored import ScoredPools
from world4scorer.evaluation.scores.bootstrap import Interval, LogBootstrap, cell, one_minus, plain
from world4scorer.evaluation.scores.paper import paper
from world4scorer.studies.consecutive.figure import draw
from world4scorer.studies.consecutive.plan_change import PlanChange, plan_change
from world4scorer.studies.consecutive.turn import draw_turn

MEASURES: Final = {"heading": "heading [rad]", "lateral": "lateral [m]", "distance": "distance [m]"}
IN_PAPER: Final = {"heading": "heading_jitter_drop", "lateral": "lateral_drop", "distance": "l2_drop"}
NO_TURN: Final = ("There is no picture of a turn: no repaired pair turns, moves and comes nearer to what was driven.",)

Floats = NDArray[np.float64]


def consecutive(
    pools: ScoredPools, weight: float = 1.0, draws: int = 10_000, store: SceneStore | None = None
) -> Finding:
    """Compare consecutive plans with re-ranking off and on, paired by frame; a store adds a picture of a turn."""
    bootstrap = LogBootstrap(pools.log_names, draws)
    off, on = framewise(pools.utility_v2), inertial(pools, pools.utility_v2, weight)
    passed_off, passed_on = continued(pools, off), continued(pools, on)
    repaired, broken = (passed_off == 0) & (passed_on == 1), (passed_off == 1) & (passed_on == 0)
    before, after = changes(pools, off), changes(pools, on)
    found = {name: _measured(bootstrap, getattr(before, name), getattr(after, name), repaired) for name in MEASURES}
    reductions = {name: parts["reduction"] for name, parts in found.items()}
    changed = off != on
    to_log = {
        part: bootstrap.mean(np.where(changed, distance_to_logged(pools, chosen), np.nan))
        for part, chosen in (("off", off), ("on", on))
    }
    gain = distance_to_logged(pools, on) - distance_to_logged(pools, off)
    to_log["change"] = bootstrap.mean(np.where(changed, gain, np.nan))
    reported = paper("consecutive")
    counts = {
        "pairs": int(pools.paired.sum()),
        "fail_to_pass": int(repaired.sum()),
        "pass_to_fail": int(broken.sum()),
        "changed_choices": int(changed.sum()),
    }
    nearer = np.where(repaired, before.heading - after.heading, 0.0)
    turn = None if store is None else draw_turn(pools, store, off, on, nearer)
    return Finding(
        name="consecutive",
        title="Consecutive plans",
        question="How much less do consecutive plans differ with re-ranking, and are they nearer to what was driven?",
        data=pools.describe(),
        weights=pools.weights,
        numbers={
            "weight": weight,
            **counts,
            "repaired_pairs": {name: {part: plain(one) for part, one in p.items()} for name, p in found.items()},
            "distance_to_logged": {part: plain(one) for part, one in to_log.items()},
        },
        tables=(_count_table(counts, reported), _difference_table(found, reported), _logged_table(to_log, reported)),
        remarks=(
            *_remarks(counts, reductions, to_log["change"]),
            *(NO_TURN if store is not None and turn is None else ()),
        ),
        paper=reported,
        figure=draw(pools, off, on, before, after, repaired, reductions, to_log, reported),
        pictures={} if turn is None else {"turn": turn},
    )


def changes(pools: ScoredPools, chosen: Chosen) -> PlanChange:
    """(S,) each: how far every chosen plan is from the one chosen before; NaN where there is no frame before."""
    s = np.flatnonzero(pools.paired)
    plans, previous = pools.at(pools.plans, chosen), pools.previous[s]
    compared = plan_change(plans[s], plans[previous], pools.ego_pose[s], pools.ego_pose[previous], pools.interval[s])
    spread = np.full((len(compared), len(pools)), np.nan)
    spread[:, s] = compared
    return PlanChange(*spread)


def distance_to_logged(pools: ScoredPools, chosen: Chosen) -> Floats:
    """(S,) mean distance of the poses to those that were driven [m]; NaN where nobody drove."""
    gap = pools.at(pools.plans, chosen)[..., :2] - pools.human_plan[..., :2]
    return np.asarray(np.hypot(gap[..., 0], gap[..., 1]).mean(1))


def _measured(
    bootstrap: LogBootstrap, before: Floats, after: Floats, repaired: NDArray[np.bool_]
) -> dict[str, Interval]:
    """Means over the repaired pairs, and by which part the sum of the differences falls."""
    off, on = np.where(repaired, before, 0.0), np.where(repaired, after, 0.0)
    return {
        "off": bootstrap.ratio(off, repaired),
        "on": bootstrap.ratio(on, repaired),
        "reduction": one_minus(bootstrap.ratio(on, off)),
    }


def _count_table(counts: dict[str, int], reported: Any) -> Table:
    rows = (
        ("fail to pass", f"{counts['fail_to_pass']:,}", f"{reported['fail_to_pass']:,}"),
        ("pass to fail", f"{counts['pass_to_fail']:,}", f"{reported['pass_to_fail']:,}"),
        ("all pairs", f"{counts['pairs']:,}", f"{paper('taxonomy')['pairs']:,}"),
    )
    return Table("Pairs that re-ranking moves", ("", "pairs", "paper, NAVSIM"), rows)


def _difference_table(found: dict[str, dict[str, Interval]], reported: Any) -> Table:
    rows = tuple(
        (
            title,
            cell(found[name]["off"], 1, 3),
            cell(found[name]["on"], 1, 3),
            cell(found[name]["reduction"]),
            f"{100 * reported[IN_PAPER[name]]:.0f}",
        )
        for name, title in MEASURES.items()
    )
    columns = ("difference of consecutive plans", "off", "on", "reduction [%]", "paper, NAVSIM [%]")
    return Table("Repaired pairs", columns, rows)


def _logged_table(to_log: dict[str, Interval], reported: Any) -> Table:
    before, after = reported["distance_to_log_m"]
    texts = [cell(to_log["off"], 1, 2), cell(to_log["on"], 1, 2), cell(to_log["change"], 1, 2, signed=True)]
    row = ("distance to the logged plan [m]", *texts, f"{before} to {after}")
    return Table("Changed choices", ("", "off", "on", "change", "paper, NAVSIM"), (row,))


def _remarks(counts: dict[str, int], reductions: dict[str, Interval], nearer: Interval) -> tuple[str, ...]:
    remarks = [f"Re-ranking repairs {counts['fail_to_pass']:,} pairs and breaks {counts['pass_to_fail']:,}."]
    if counts["fail_to_pass"]:
        parts = ", ".join(f"{name} by {cell(one)} %" for name, one in reductions.items())
        remarks.append(
            f"On the repaired pairs the difference between consecutive plans falls: {parts} (below 0 it grows)."
        )
    if not np.isnan(nearer.value):
        verdict = (
            "nearer to"
            if nearer.high < 0
            else "farther from"
            if nearer.low > 0
            else "neither nearer to nor farther from"
        )
        remarks.append(f"Changed choices are {verdict} what was driven ({cell(nearer, 1, 2, signed=True)} m).")
    return tuple(remarks)
