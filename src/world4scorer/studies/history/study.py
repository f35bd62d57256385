"""Does re-ranking need the plan that was really taken before? (Appendix E.4)

Pools and utilities stay; only the history that the extended-comfort check is given when choosing differs:

* memoryless: none, the choice is framewise;
* wrong log: the framewise choice of a frame of another log, drawn by seed anew for every frame, as rolled out there;
* two steps old: the plan taken two frames before, given as if it were the one before;
* two steps old, aligned: the same plan, compared at its true age;
* correct: the plan taken before, which is inertial re-ranking;
* copy previous: no choice; the framewise choice of the frame before is submitted again, its poses as they are.

A frame without a frame before chooses framewise in every row (and keeps its own plan in the last); so does one without
a frame two before, in the rows that need it. Scores are native in every row: EPDMS of the sequence taken, its extended
comfort against the plan really taken before.

Shapes: S frames, N plans.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from world4scorer.datasets.store import SceneStore
from world4scorer.drawing.finding import Finding, Table
from world4scorer.engine.outcomes.results import epdms_of_table
from world4scorer.engine.selection.inertial import inertial_utility
from world4scorer.evaluation.pools.choices import Chosen, continued, framewise
from world4scorer.evaluation.pools.scored import ScoredPools
from world4scorer.evaluation.scores.bootstrap import Interval, LogBootstrap, cell, plain
from world4scorer.evaluation.scores.paper import paper
from world4scorer.studies.history.figure import draw
from world4scorer.studies.history.rollouts import OtherHistories, other_histories

ROWS: Final = {
    "memoryless": "none (memoryless)",
    "wrong_log": "plan of another log",
    "two_step_old": "two-step-old plan",
    "two_step_old_aligned": "two-step-old plan, aligned",
    "correct": "correct previous plan",
    "copy_previous": "copy previous plan",
}
GAPS: Final = {"gap_wrong": "wrong_log", "gap_stale": "two_step_old"}
"""As the paper names them: the correct history against which other."""

Given = Callable[[int, Chosen], NDArray[Any] | None]
"""From a frame and the choices up to it: which plans (N,) the check lets pass, or None without history."""


def choose_given(utility: NDArray[Any], given: Given, weight: float = 1.0) -> Chosen:
    """(S,) choices in order, each re-ranked by what the check says with the history that it is given."""
    chosen = framewise(utility)
    for s in range(len(utility)):
        flags = given(s, chosen)
        if flags is not None:
            chosen[s] = np.argmax(inertial_utility(utility[s], flags, weight))
    return chosen


def histories(pools: ScoredPools, others: OtherHistories) -> dict[str, Given]:
    """The history of every row that chooses."""

    def two_before(flags: NDArray[np.bool_]) -> Given:
        return lambda s, chosen: flags[s, :, chosen[s - 2]] if others.has_two_before[s] else None

    return {
        "memoryless": lambda s, chosen: None,
        "wrong_log": lambda s, chosen: others.wrong_log[s] if pools.paired[s] else None,
        "two_step_old": two_before(others.two_before),
        "two_step_old_aligned": two_before(others.two_before_aligned),
        "correct": lambda s, chosen: pools.continues[s, :, chosen[s - 1]] if pools.paired[s] else None,
    }


def history(pools: ScoredPools, weight: float = 1.0, seed: int = 0, draws: int = 10_000) -> Finding:
    """Choose with every history, and score what is taken. Needs the scene store of the pools, for rollouts."""
    return summary(pools, other_histories(pools, SceneStore(pools.about["store"]), seed), weight, seed, draws)


def summary(pools: ScoredPools, others: OtherHistories, weight: float, seed: int, draws: int) -> Finding:
    """The finding, once the flags of the other histories are known."""
    bootstrap = LogBootstrap(pools.log_names, draws)
    score, comfort = {}, {}
    for name, given in histories(pools, others).items():
        chosen = choose_given(pools.utility_v2, given, weight)
        score[name], comfort[name] = pools.epdms(chosen), continued(pools, chosen)
    score["copy_previous"] = epdms_of_table(others.copied, others.copied_comfort)
    comfort["copy_previous"] = others.copied_comfort
    means = {name: bootstrap.mean(score[name]) for name in ROWS}
    comforts = {name: bootstrap.mean(comfort[name]) for name in ROWS}
    gaps = {name: bootstrap.mean(score["correct"] - score[name]) for name in ROWS if name != "correct"}
    reported = paper("history_epdms")
    return Finding(
        name="history",
        title="History of re-ranking",
        question="Does re-ranking gain because it knows the plan really taken before, or would any plan do?",
        data=pools.describe(),
        weights=pools.weights,
        numbers={
            "weight": weight,
            "seed": seed,
            "rows": {name: {"EPDMS": plain(means[name]), "EC": plain(comforts[name])} for name in ROWS},
            "correct_minus": {name: plain(gap) for name, gap in gaps.items()},
        },
        tables=(_table(means, comforts, gaps, reported),),
        remarks=_remarks(gaps),
        paper=reported,
        figure=draw(ROWS, GAPS, means, gaps, reported),
    )


def _table(
    means: dict[str, Interval], comforts: dict[str, Interval], gaps: dict[str, Interval], reported: Any
) -> Table:
    rows = tuple(
        (
            title,
            cell(means[name]),
            cell(comforts[name]),
            cell(gaps[name], digits=2, signed=True) if name in gaps else "",
            str(reported.get(name, "")),
        )
        for name, title in ROWS.items()
    )
    columns = ("history given", "EPDMS", "EC", "correct minus this", "EPDMS, paper, NAVSIM")
    return Table("What the check is given", columns, rows)


def _remarks(gaps: dict[str, Interval]) -> tuple[str, ...]:
    def worth(gap: Interval) -> str:
        clear = "" if gap.low > 0 or gap.high < 0 else ", not clear of 0"
        return f"{cell(gap, digits=2, signed=True)} points{clear}"

    return (
        f"The correct previous plan against one of another log: {worth(gaps['wrong_log'])}; against the two-step-old "
        f"plan: {worth(gaps['two_step_old'])}.",
        f"Against repeating the previous plan instead of choosing: {worth(gaps['copy_previous'])}.",
        "The paper's values are those of its Coverage planner.",
    )
