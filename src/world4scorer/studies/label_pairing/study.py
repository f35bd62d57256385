"""Outcome labels shuffled among the plans of each scene, of the bank alone or of all (Table 2b).

Shuffling keeps the plans and the labels of a scene but not which belongs to which. As in the paper the three trainings
see few scenes for many epochs.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Final

from matplotlib.figure import Figure

from world4scorer.drawing.charts import OURS
from world4scorer.drawing.finding import Finding
from world4scorer.drawing.style import INK
from world4scorer.evaluation.scores.bootstrap import verdict
from world4scorer.evaluation.scores.paper import paper
from world4scorer.studies.shared import variant_report as report
from world4scorer.studies.shared.options import DEFAULT_LABEL_PAIRING_OPTIONS, TrainingOptions
from world4scorer.studies.shared.variant_scores import (
    BEST,
    ORDERING,
    PDMS,
    RANDOM,
    WIDE_ORDERING,
    VariantScores,
    score_variants,
)
from world4scorer.studies.shared.variants import Variant, train_variants

NAME: Final = "label-pairing"
NONE: Final = "none"
PERMUTED: Final = (
    Variant(NONE, lambda config: replace(config, permuted_labels="none")),
    Variant("bank", lambda config: replace(config, permuted_labels="bank")),
    Variant("all", lambda config: replace(config, permuted_labels="all")),
)
MEASURES: Final = (PDMS, RANDOM, ORDERING, WIDE_ORDERING, BEST)
EVAL_SCENES: Final = 511
"""As many as in the paper."""
LABELS: Final = {NONE: "paired", "bank": "bank shuffled", "all": "all shuffled"}


def label_pairing(
    run: Path, training: TrainingOptions = DEFAULT_LABEL_PAIRING_OPTIONS, eval_scenes: int = EVAL_SCENES
) -> Finding:
    """Train what is missing of the three, and compare them on at most so many held-out scenes."""
    folders = train_variants(run, NAME, PERMUTED, training)
    common = score_variants(folders, training, plans_of=NONE, scenes=eval_scenes)
    return describe(common, score_variants(folders, training))


def describe(scores: VariantScores, own: VariantScores) -> Finding:
    """The finding on trainings with paired and with shuffled labels.

    Args:
        scores: All conditions on one common pool, that of the training with paired labels.
        own: Each condition on the plans that its own generator proposes.
    """
    reported = paper("label_pairing")
    beside = {
        variant: {PDMS: 100 * reported[variant]["selected_pdm"], ORDERING: 100 * reported[variant]["ordering"]}
        for variant in scores.measures
    }
    return Finding(
        name=NAME,
        title="The pairing of plans and outcomes",
        question="Does ranking need labels that belong to their plans, or only plans and labels of the right scene?",
        data=scores.data,
        weights="",
        numbers=scores.numbers(MEASURES, NONE) | {"own_pools": own.numbers(MEASURES, NONE)},
        tables=(
            *report.tables(scores, MEASURES, NONE, beside),
            *(replace(table, title=f"Own pools. {table.title}") for table in report.tables(own, MEASURES, NONE)),
        ),
        remarks=(
            "As in the paper, all conditions score one common pool of each scene, that of the training with paired "
            "labels, so that only the scores differ; under `Own pools` each condition has the plans of its own "
            f"generator. {own.data}",
            *(
                _remark(scores, variant, whose)
                for variant, whose in (("bank", "the labels of the bank"), ("all", "all labels"))
            ),
            f"A random pick from the pools of the training with paired labels has a PDMS of "
            f"{scores.value(NONE, RANDOM).times(100).text()}; in the paper {100 * reported['random_pick']:.1f}, on "
            f"{reported['scenes']} scenes of NAVSIM.",
            report.seeds_remark(scores),
        ),
        paper=reported,
        figure=_figure(scores, beside, 100 * reported["random_pick"]),
    )


def _figure(scores: VariantScores, beside: report.Paper, random_pick: float) -> Figure:
    drawn = report.figure(scores, (PDMS, ORDERING), (PDMS, ORDERING), NONE, beside, LABELS)
    selected = drawn.axes[0]
    for value, whose, colour in (
        (scores.value(NONE, RANDOM).times(100).value, "", OURS),
        (random_pick, ", paper", INK),
    ):
        selected.axvline(value, color=colour, lw=1, ls=":")
        selected.annotate(
            f"random pick{whose}",
            (value, 0.98),
            xycoords=("data", "axes fraction"),
            xytext=(-2, 0),
            textcoords="offset points",
            rotation=90,
            fontsize=7,
            color=colour,
            ha="right",
            va="top",
        )
    return drawn


def _remark(scores: VariantScores, variant: str, whose: str) -> str:
    score, order = (scores.change(variant, name, NONE) for name in (PDMS, ORDERING))
    return (
        f"Shuffling {whose} {verdict(score)} selected PDMS ({score.times(100).text(1, signed=True)}) and "
        f"{verdict(order)} the share of pairs in the true order ({order.times(100).text(1, signed=True)})."
    )
