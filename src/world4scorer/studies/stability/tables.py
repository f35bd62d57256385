"""Tables and words of the study of stability."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from world4scorer.drawing.finding import Table
from world4scorer.engine.selection.pool_metrics import ORDERING_MARGIN
from world4scorer.evaluation.scores.bootstrap import Interval
from world4scorer.studies.stability.numbers import CONDITION, Measured
from world4scorer.studies.stability.scenes import PUSHES

CHANCE: Final = 0.5
"""AUC of a number that tells nothing."""


def tables(measured: Measured, numbers: dict[str, Any]) -> tuple[Table, ...]:
    """As they are read."""
    quantiles = numbers["ratio_quantiles"]
    radii = (
        ("pairs of plans", f"{numbers['pairs']}"),
        ("rho_out+fut / rho_out, mean", _text(numbers["ratio"], 4)),
        ("10 %, median, 90 % of pairs", ", ".join(f"{quantiles[q]:.4f}" for q in ("0.1", "0.5", "0.9"))),
        ("pairs with rho_out+fut <= rho_out", f"{numbers['not_larger']}"),
        ("proven smaller (brackets apart)", f"{numbers['proven_smaller']}"),
        (f"pairs whose condition holds (futures move by more than {CONDITION:g})", f"{numbers['condition_holds']}"),
        ("widest bracket of a squared radius, relative", f"{numbers['widest_bracket']:.1e}"),
        (
            f"error of the reduction found by Woodbury, relative to rho_out^2 ({numbers['woodbury_pairs']} pairs)",
            "none" if numbers["woodbury_error"] is None else f"{numbers['woodbury_error']:.1e}",
        ),
        ("critical epsilon, median: outcomes; with futures", _medians(numbers)),
        ("critical epsilon grows by futures, times", _text(numbers["critical_gain"], 4)),
        ("scenes in which no other rival can be nearer [%]", _text(numbers["complete"], 0, 100)),
        *(
            (f"scorer chooses otherwise at {float(share):g} of its critical epsilon [%]", _text(one, 0, 100))
            for share, one in numbers["flipped"].items()
        ),
    )
    budgets = tuple(
        (
            f"{float(epsilon):g}",
            f"{float(epsilon) ** 2 / 2:.1e}",
            f"{float(epsilon) / measured.mu**0.5 / measured.theta * 100:.3g}",
            _text(one["out"], 0, 100),
            _text(one["out_future"], 0, 100),
            f"{one['only_with_future']}",
        )
        for epsilon, one in numbers["certified"].items()
    )
    labels = tuple((kind, _text(one, 2, 100)) for kind, one in numbers["taken_off_by_labels"].items())
    scales = tuple(
        (mu, _text(one, 4))
        for mu, one in sorted(numbers["ratio_nearest_by_mu"].items(), key=lambda item: float(item[0]))
    )
    errors = [
        (f"scenes with a regret above {ORDERING_MARGIN}", f"{numbers['wrong']} of {numbers['scenes']}"),
        ("AUC of a small critical epsilon for them", _text(numbers["wrong_auc"], 2)),
        ("AUC of a small lead alone", _text(numbers["wrong_auc_lead"], 2)),
        ("rank correlation of critical epsilon and regret", _number(numbers["regret_rank_correlation"])),
    ]
    if measured.other is not None:
        errors += [
            ("the other planner chooses otherwise [%]", _text(numbers["other_choice_differs"], 0, 100)),
            ("AUC of a small critical epsilon for that", _text(numbers["other_auc"], 2)),
        ]
    return (
        Table("Radii", ("", "value"), radii),
        Table(
            "Choices proven to hold [%]",
            ("epsilon", "loss rises by at most", "parameters move at most [%]", "outcomes", "and futures", "only so"),
            budgets,
        ),
        Table("What one more scene's labels take off the squared radius [%]", ("labelled", "mean"), labels),
        Table("rho_out+fut / rho_out of the nearest rival by mu", ("mu", "mean"), scales),
        Table("Do fragile choices go wrong?", ("", "value"), tuple(errors)),
    )


def _medians(numbers: dict[str, Any]) -> str:
    return f"{numbers['critical_out_quantiles']['0.5']:.2e}; {numbers['critical_quantiles']['0.5']:.2e}"


def remarks(measured: Measured, numbers: dict[str, Any]) -> tuple[str, ...]:
    """What the numbers say."""
    ratio = numbers["ratio"]
    said = [
        f"Futures of {measured.supervised} scenes narrow the radii of all {numbers['proven_smaller']} of "
        f"{numbers['pairs']} pairs for which the condition of Proposition 1 holds; the ratio "
        f"of the radii is {ratio['value']:.4f} on average."
        if numbers["proven_smaller"] == numbers["condition_holds"]
        else f"Radii are proven smaller with futures for {numbers['proven_smaller']} of {numbers['pairs']} pairs; the "
        f"condition holds for {numbers['condition_holds']}, and for the rest the difference is within the brackets "
        f"(at most {numbers['widest_bracket']:.1e} of the squared radius).",
        "epsilon is a budget of the local model: its loss rises by at most epsilon^2 / 2, and the "
        f"{measured.parameters:,} parameters (norm {measured.theta:.1f}) move by at most epsilon / sqrt(mu). "
        f"Median critical epsilon {numbers['critical_quantiles']['0.5']:.1e}: a rise of the loss by "
        f"{numbers['critical_quantiles']['0.5'] ** 2 / 2:.0e} can change the choice.",
        "All this is a linear model. The network itself, moved by its worst step, chooses otherwise in "
        + " and in ".join(f"{_text(numbers['flipped'][f'{push:g}'], 0, 100)} % at {push:g}" for push in PUSHES)
        + " of the critical epsilon.",
        _association("A small critical epsilon", "a regret above " + str(ORDERING_MARGIN), numbers["wrong_auc"]),
    ]
    if measured.other is not None:
        said.append(
            _association("A small critical epsilon", "another choice by the other planner", numbers["other_auc"])
        )
    said.append(
        f"The supervision is {measured.supervised} training scenes ({measured.rows:,} numbers), not the whole training "
        "set; ratios compare the two supervisions by the same scenes. The paper reports no numbers here."
    )
    return tuple(said)


def _association(what: str, of: str, auc: dict[str, float | None] | None) -> str:
    if auc is None:
        return f"{what} cannot be compared with {of}: all scenes are of one kind."
    text = _text(auc, 2)
    low, high = auc["low"], auc["high"]
    if low is not None and low > CHANCE:
        return f"{what} goes with {of} (AUC {text})."
    if high is not None and high < CHANCE:
        return f"{what} goes with the absence of {of} (AUC {text})."
    return f"{what} does not clearly tell {of} (AUC {text}; 0.5 is chance)."


def _text(one: dict[str, float | None] | None, digits: int, factor: float = 1.0) -> str:
    if one is None:
        return "none"
    whole = Interval(*(np.nan if part is None else part for part in (one["value"], one["low"], one["high"])))
    return whole.times(factor).text(digits)


def _number(value: float | None) -> str:
    return "none" if value is None else f"{value:.2f}"
