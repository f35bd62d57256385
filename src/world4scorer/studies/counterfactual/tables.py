"""Tables and words of the study of counterfactual futures. Cosines are as they are, shares in percent."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from world4scorer.drawing.finding import Table
from world4scorer.evaluation.scores.bootstrap import NO_VALUE, Interval, cell, plain, verdict
from world4scorer.studies.counterfactual import measures as m
from world4scorer.studies.counterfactual.models import (
    BEST_READER,
    LOCAL_READER,
    NO_FUTURE,
    NO_OUTCOMES,
    OWN,
    OWN_AMONG,
    PLAIN,
    READER,
    UNTRAINED,
    WHOLE,
    row,
)
from world4scorer.studies.counterfactual.reactive_outcomes import Reactive
from world4scorer.studies.shared.future_match import chance
from world4scorer.studies.shared.variant_scores import VariantScores

COMPARED: Final = (
    (row(READER, WHOLE), row(READER, NO_FUTURE)),
    (row(READER, WHOLE), row(READER, NO_OUTCOMES)),
    (row(READER, WHOLE), row(READER, UNTRAINED)),
    (row(READER, WHOLE), row(READER, PLAIN)),
    (row(OWN, WHOLE), row(OWN, NO_OUTCOMES)),
    (row(OWN, WHOLE), row(OWN_AMONG, WHOLE)),
    (row(OWN, WHOLE), row(READER, WHOLE)),
    (row(BEST_READER, WHOLE), row(BEST_READER, NO_FUTURE)),
    (row(BEST_READER, WHOLE), row(BEST_READER, PLAIN)),
    (row(BEST_READER, WHOLE), row(LOCAL_READER, WHOLE)),
    (row(LOCAL_READER, WHOLE), row(READER, WHOLE)),
)
"""Pairs of rows whose differences are reported."""
MAIN: Final = "mean off"
CHANGED: Final = (
    f"{MAIN}: {m.PAIRWISE}",
    f"{MAIN}: {m.PAIRWISE_ON_ROAD}",
    f"{m.CENTRED}: {m.PAIRWISE}",
    m.WITHIN_COSINE,
    m.WITHIN_R2,
    m.WITHIN_R2_ON_ROAD,
)


def tables(scores: VariantScores, plans: int) -> tuple[Table, ...]:
    """All but the controls; so many plans of each scene were driven."""
    return (
        _cosines(scores),
        _finding(scores, plans),
        _changes(scores),
        _distances(scores),
        _spreads(scores),
        *_seeds(scores),
    )


def changes(scores: VariantScores) -> dict[str, Any]:
    """Differences between rows, paired by scene, as plain values."""
    return {
        f"{one} minus {other}": {
            name: {
                **(plain(scores.change(one, name, other)) or {}),
                "by_seed": [None if np.isnan(by) else by for by in scores.change_by_seed(one, name, other)],
            }
            for name in CHANGED
        }
        for one, other in _pairs(scores)
    }


def _pairs(scores: VariantScores) -> list[tuple[str, str]]:
    return [pair for pair in COMPARED if all(one in scores.measures for one in pair)]


def _cosines(scores: VariantScores) -> Table:
    columns = ("cosine of the prediction with", *(f"{name}, {form}" for form in m.FORMS for name in m.AGAINST))
    names = [f"{form}: {name}" for form in m.FORMS for name in m.AGAINST]
    rows = [(variant, *(scores.value(variant, name).text(3) for name in names)) for variant in scores.measures]
    return Table("Whose future is it like?", columns, tuple(rows))


def _finding(scores: VariantScores, plans: int) -> Table:
    names = [f"{MAIN}: {name}" for name in m.RETRIEVAL_MEASURES] + [
        f"{m.CENTRED}: {name}" for name in (m.FIRST, m.PAIRWISE)
    ]
    inside = (m.WITHIN_COSINE, m.WITHIN_R2, m.WITHIN_R2_ON_ROAD)
    columns = ("finding one's own future", *names, *inside)
    rows: list[tuple[str, ...]] = []
    for variant in scores.measures:
        cells = [_cell(scores.value(variant, name), name) for name in names]
        within = [scores.value(variant, name).text(3) for name in inside]
        rows.append((variant, *cells, *within))
    first, rank, reciprocal, pairwise = (float(value) for value in chance(plans))
    found = (f"{100 * first:.1f}", f"{reciprocal:.2f}", f"{rank:.2f}", f"{100 * pairwise:.1f}")
    rows.append(("guessing", *found, found[0], found[-1], *("-" for _ in inside)))
    return Table("Retrieval among the plans of a scene, and variation within scenes", columns, tuple(rows))


def _changes(scores: VariantScores) -> Table:
    rows = [
        (f"{one} minus {other}", *(scores.change(one, name, other).text(3, signed=True) for name in CHANGED))
        for one, other in _pairs(scores)
    ]
    return Table("Differences, paired by scene", ("", *CHANGED), tuple(rows))


def _distances(scores: VariantScores) -> Table:
    names = [f"{form}: own minus logged, {name}" for form in m.FORMS for name in (*m.DISTANCES, m.ON_ROAD)]
    rows = [
        (variant, *(scores.value(variant, name).text(3, signed=True) for name in names)) for variant in scores.measures
    ]
    title = "Cosine with the own future less that with the logged one, by distance from the logged plan after 2 s"
    return Table(title, ("", *names), tuple(rows))


def _spreads(scores: VariantScores) -> Table:
    parts = (*m.SPREADS, m.ON_ROAD)
    names = [f"{MAIN}: {m.PAIRWISE}, {name}" for name in parts]
    rows = [(variant, *(cell(scores.value(variant, name)) for name in names)) for variant in scores.measures]
    title = "Pairs in order [%], by how different the true futures of a scene are, and among plans on the road"
    return Table(title, ("", *parts), tuple(rows))


def _seeds(scores: VariantScores) -> Sequence[Table]:
    if len(scores.seeds) < 2:
        return ()
    rows = []
    for variant in scores.measures:
        columns = [scores.by_seed(variant, name) for name in CHANGED]
        for seed, values in zip(scores.seeds, zip(*columns, strict=True), strict=True):
            rows.append((f"{variant}, {seed}", *(NO_VALUE if np.isnan(value) else f"{value:.3f}" for value in values)))
    return (Table("Each seed", ("", *CHANGED), tuple(rows)),)


def _cell(found: Interval, name: str) -> str:
    return found.text(2) if m.RANK in name or m.RECIPROCAL in name else cell(found)


def control_table(found: dict[str, Any]) -> Table:
    """The branches that drive what was driven."""
    columns = ("control branches", "same bytes [%]", "cosine with the logged view", "mean off", "others moved [m]")
    rows = []
    for name in ("logged poses", "logged plan"):
        one = {
            key: Interval(**value) if value and None not in value.values() else None
            for key, value in found[name].items()
        }
        rows.append(
            (
                name,
                _text(one["same_bytes"], 100, 1),
                _text(one["cosine"], 1, 4),
                _text(one["cosine_mean_off"], 1, 3),
                _text(one["others_moved_m"], 1, 3),
            )
        )
    return Table("Driving what was driven", columns, tuple(rows))


def _text(found: Interval | None, factor: float, digits: int) -> str:
    return NO_VALUE if found is None else found.times(factor).text(digits)


def remarks(scores: VariantScores) -> tuple[str, ...]:
    """What the numbers say, whatever they are."""
    own = row(OWN, WHOLE)
    name, on_road = f"{MAIN}: {m.PAIRWISE}", f"{MAIN}: {m.PAIRWISE_ON_ROAD}"
    along = scores.value(own, m.WITHIN_COSINE)
    every, road = (
        (scores.value(own, pairs), scores.value(own, r2))
        for pairs, r2 in ((name, m.WITHIN_R2), (on_road, m.WITHIN_R2_ON_ROAD))
    )
    toward = scores.change_between(own, f"{MAIN}: {m.OWN}", f"{MAIN}: {m.LOGGED}")
    nearer = "nearer to" if toward.low > 0 else "further from" if toward.high < 0 else "not clearly nearer to"
    lines = [
        f"Own readouts of the whole method put a plan's own future before another plan's in {cell(every[0])} % of "
        f"pairs (guessing: 50 %); of how true futures differ within a scene they explain {cell(every[1])} % (R2), and "
        f"what they vary has a cosine of {along.text(2)} with what truly varies.",
        f"Among plans that keep to the drivable area it is {cell(road[0])} % of pairs, R2 {cell(road[1])} %.",
        f"Readouts of plans that nobody drove are {nearer} those plans' own futures than to the future that was "
        f"observed (cosine {toward.text(3, signed=True)}, mean off).",
        "The paper says that changing the query alters the readout, with an accuracy that cannot be measured. Here it "
        f"can. Over all plans, the alteration {_grade(*every)}; among plans on the road, it {_grade(*road)}.",
    ]
    for other, words in (
        (NO_FUTURE, "predicting the observed future (against the training without it)"),
        (NO_OUTCOMES, "learning outcomes (against the training without them)"),
    ):
        one, two = row(READER, WHOLE), row(READER, other)
        if two in scores.measures:
            change = scores.change(one, name, two)
            lines.append(
                f"With the same kind of reader on all states, {words} {verdict(change)} the share of pairs in order "
                f"({cell(change, 100, 1, True)} points; on the road "
                f"{cell(scores.change(one, on_road, two), 100, 1, True)}; "
                f"R2 within scenes {scores.change(one, m.WITHIN_R2, two).text(3, signed=True)})."
            )
    best, local = row(BEST_READER, WHOLE), row(LOCAL_READER, WHOLE)
    held = scores.change(best, name, local)
    more = "hold more of the true futures than" if held.low > 0 else "do not clearly show more of the true futures than"
    lines.append(
        f"A reader fitted to true futures of other logs' branches finds {cell(scores.value(best, name))} % of pairs "
        f"(R2 {scores.value(best, m.WITHIN_R2).text(2)}), one fitted to the logged plans and futures of the same "
        f"scenes {cell(scores.value(local, name))} %: states {more} a reader learns from executed plans of the same "
        f"indices ({cell(held, 100, 1, True)} points; it learns from one future of each scene, the other from all that "
        "were branched). Without any planner, from the view and the plan's numbers, the reader of branches finds "
        f"{cell(scores.value(row(BEST_READER, PLAIN), name))} %. Among plans on the road: "
        f"{cell(scores.value(best, on_road))} % with the planner, "
        f"{cell(scores.value(row(BEST_READER, PLAIN), on_road))} % without."
    )
    return tuple(lines)


def _grade(pairs: Interval, r2: Interval) -> str:
    if not pairs.low > 0.5:
        return "does not clearly tell futures apart"
    if r2.low > 0:
        return "is in part right: it tells futures apart and explains some of their variation"
    if r2.high < 0:
        return (
            "has the right tendency but the wrong size: it orders futures better than guessing, yet errs by more than "
            "a constant would"
        )
    return "orders futures better than guessing; whether it explains their variation is not clear"


def control_remark(found: dict[str, Any], reactive: Reactive) -> str:
    """How far branches can be trusted."""
    plans = found["plans"]
    sight, ended, put = (100 * plans[key]["value"] for key in ("lost_sight", "route_ended", "others_put_here"))
    return (
        f"Control: while the ego passes through the logged poses, the logged plan's labels are the logged scene's in "
        f"{cell(reactive.control)} % of scenes (along the plan's rollout: {cell(reactive.control_plan)} %). "
        f"In {sight:.1f} % of branches the ego is, within the four seconds of the plan, for a while so far from every "
        f"lane that others do not see it, in {ended:.1f} % its route ends, in {put:.1f} % somebody is near whom SUMO "
        "put there out of a jam. All of these stay in."
    )


def seeds_remark(scores: VariantScores) -> str:
    """What intervals do not cover."""
    if len(scores.seeds) == 1:
        return "One seed: intervals say how results vary with the logs, not with the training (`--seeds` adds some)."
    return (
        f"Means over {len(scores.seeds)} seeds; intervals say how they vary with the logs; each seed is in its table."
    )
