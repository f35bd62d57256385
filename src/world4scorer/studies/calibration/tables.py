"""Tables and remarks of the study of calibration."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from world4scorer.drawing.finding import Table
from world4scorer.evaluation.scores.bootstrap import NO_VALUE, cell, verdict
from world4scorer.studies.calibration.heads import PROGRESS
from world4scorer.studies.calibration.measures import BINS, HeadMeasures
from world4scorer.studies.calibration.selection import ORDERING, PDMS, SCORES, Change, Scaled

MEASURES: Final = {
    "prediction": ("mean prediction [%]", 100, 1),
    "outcome": ("mean outcome [%]", 100, 1),
    "excess": ("prediction minus outcome [points]", 100, 1),
    "ece": ("ECE [%]", 100, 1),
    "brier": ("Brier score", 1, 3),
    "log_loss": ("log loss", 1, 3),
    "ranking": ("AUC (EP: correlation)", 1, 3),
    "ranking_within": ("the same within frames", 1, 3),
}
"""Column, factor and digits of each measure."""
WORDS: Final = {
    "temperature": "temperature",
    "temperature_and_bias": "temperature and bias",
}

Kinds = Mapping[str, Scaled]
"""By key of `WORDS`."""


def head_table(found: Mapping[str, HeadMeasures], where: str) -> Table:
    """All measures of every head."""
    rows = tuple(
        (
            name,
            f"{head.plans:,}",
            *(
                cell(getattr(head, key), factor, digits, signed=key == "excess")
                for key, (_, factor, digits) in MEASURES.items()
            ),
        )
        for name, head in found.items()
    )
    return Table(f"Heads, {where}", ("", "plans", *(words for words, _, _ in MEASURES.values())), rows)


def gap_table(found: Mapping[str, HeadMeasures], there: Mapping[str, HeadMeasures], names: tuple[str, str]) -> Table:
    """How much larger every measure is than in the other pools."""
    rows = tuple(
        (
            name,
            *(
                _gap(factor * (getattr(head, key).value - getattr(there[name], key).value), digits)
                for key, (_, factor, digits) in MEASURES.items()
            ),
        )
        for name, head in found.items()
    )
    return Table(f"Gap: {names[0]} minus {names[1]}", ("", *(words for words, _, _ in MEASURES.values())), rows)


def scaling_table(kinds: Kinds) -> Table:
    """Fitted temperatures and biases, of both halves."""
    alone, biased = kinds["temperature"].scalings, kinds["temperature_and_bias"].scalings
    rows = tuple(
        (
            name,
            _both(one.temperature for one in alone[name]),
            _both(one.temperature for one in biased[name]),
            _both((one.bias for one in biased[name]), "+.2f"),
        )
        for name in alone
    )
    columns = ("", "temperature", "temperature, with bias", "bias")
    return Table("Scalings fitted on one half of the logs; on the other", columns, rows)


def ece_table(kinds: Kinds) -> Table:
    """ECE as predicted, and scaled by what other logs say."""
    heads = kinds["temperature"].heads
    rows = tuple((name, *_cells([one.heads[name]["ece"] for one in kinds.values()])) for name in heads)
    return Table("ECE with scalings of the other half [%]", _columns(), rows)


def selection_table(kinds: Kinds) -> Table:
    """Scores of the chosen plans as predicted, and scaled by what other logs say."""
    words = {ORDERING: "pairs in order"}
    rows = [(words.get(name, name), *_cells([one.selection[name] for one in kinds.values()])) for name in SCORES]
    shares = [part for one in kinds.values() for part in (f"{100 * one.changed:.1f}", "")]
    rows.append(("choices changed (v1)", "", *shares))
    return Table("Selection with scalings of the other half [%]", _columns(), tuple(rows))


def remarks(kinds: Kinds, same_planner: bool) -> tuple[str, ...]:
    """What the numbers say, and how they were made."""
    scalings = kinds["temperature"].scalings
    over = [name for name, both in scalings.items() if all(one.temperature > 1 for one in both)]
    under = [name for name, both in scalings.items() if all(one.temperature < 1 for one in both)]
    first, second = (kinds[kind].selection[PDMS].change for kind in WORDS)
    said = [
        f"A temperature for each head {verdict(first)} PDMS of the chosen plans ({cell(first, digits=2, signed=True)} "
        f"points); with a bias it {verdict(second)} it ({cell(second, digits=2, signed=True)}).",
        f"Overconfident (temperature above 1 in both halves): {', '.join(over) or 'none'}; underconfident: "
        f"{', '.join(under) or 'none'}.",
        "Labels as in training: NC and DDC of 0.5 count as 0, plans with a TTC of 2 have no label of it, EP is a soft "
        "label. For EP the mean outcome is the mean progress, and log loss cannot reach 0.",
        f"ECE: {BINS} bins of equal count, with the same edges in every draw of logs. Finite data raises the ECE of a "
        "calibrated head above 0, and drawing logs raises it further, so that an interval may lie above its value.",
        f"The correlation of {PROGRESS} is over plans with NC and DAC of 1: PDMS of the others is 0 in any case.",
        "Temperature and bias minimise the log loss of one half of the logs and are applied to the other, both ways. "
        "Utilities before and after are computed from the logits. Intervals draw logs, and do not fit again.",
    ]
    if not same_planner:
        said.append("The two sets of pools are of different planners: their gap is not only one between streets.")
    return tuple(said)


def _cells(changes: Sequence[Change]) -> Iterator[str]:
    """Before, then after and change of each kind of scaling."""
    yield cell(changes[0].before)
    for one in changes:
        yield cell(one.after)
        yield cell(one.change, digits=2, signed=True)


def _gap(value: float, digits: int) -> str:
    return NO_VALUE if math.isnan(value) else f"{value:+.{digits}f}"


def _columns() -> tuple[str, ...]:
    return ("", "as predicted", *(text for words in WORDS.values() for text in (words, "change")))


def _both(values: Iterable[float], form: str = ".2f") -> str:
    return "; ".join(f"{value:{form}}" for value in values)
