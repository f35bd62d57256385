"""The words of the geometry of targets: tables and remarks."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

from world4scorer.drawing.finding import Table
from world4scorer.studies.shared.pair_statistics import QUANTILE_DRAWS
from world4scorer.studies.target_geometry.pairings import LEAST_TIME_APART

if TYPE_CHECKING:
    from world4scorer.studies.target_geometry.study import Geometry
    from world4scorer.studies.target_geometry.views import Form

ABSENT: Final = "-"
CHANCE: Final = 0.5
"""AUC of what cannot be distinguished."""
RANK_DRAWS: Final = 200
"""Of the bootstrap, for effective ranks: each draw takes a decomposition."""
LABELS: Final = {
    "true": "its own future",
    "same_log": "a future of the same log, another time",
    "shuffled": "a future of another scene",
    "other_log": "a future of another log",
    "floor": "all other futures",
}
FORM_TITLES: Final = {"raw": "Cosine of a current view with", "centred": "The same, the mean taken off"}
SHOWN_PERCENTILES: Final = (5, 50, 95)


def tables(found: Geometry, reported: Any) -> tuple[Table, ...]:
    """All tables."""
    return (
        _cosines(found, "raw", reported),
        _cosines(found, "centred", None),
        _apart(found, reported),
        _ranks(found, reported),
    )


def _cosines(found: Geometry, form: Form, reported: Any) -> Table:
    theirs = {"true": "paired_cos", "same_log": "same_log_cos", "shuffled": "deranged_cos", "floor": "floor_cos"}
    rows = []
    for kind, mean in found.means[form].items():
        known = found.percentiles[form].get(kind, {})
        cells = [f"{known[percent]:.3f}" if percent in known else ABSENT for percent in SHOWN_PERCENTILES]
        if kind == "true":
            cells[0] = found.fifth[form].text(3)
        row = (LABELS[kind], mean.text(3), *cells)
        if reported is not None:
            value = f"{reported[theirs[kind]]}" if kind in theirs else ABSENT
            row = (*row, f"{value} (5 %: {reported['paired_p5']})" if kind == "true" else value)
        rows.append(row)
    columns = ("pair", "mean", *(f"{percent} %" for percent in SHOWN_PERCENTILES))
    return Table(
        FORM_TITLES[form], columns if reported is None else (*columns, "mean in the paper, NAVSIM"), tuple(rows)
    )


def _apart(found: Geometry, reported: Any) -> Table:
    rows = []
    for form, kinds in found.told_apart.items():
        for kind, (auc, effect) in kinds.items():
            compared = form == "raw" and kind == "shuffled"
            theirs = f"AUC {reported['auc']}, d {reported['cohen_d']}" if compared else ABSENT
            rows.append((f"{LABELS[kind]}, {form}", auc.text(3), effect.text(2), theirs))
    return Table("True pairs against", ("pair", "AUC", "Cohen's d", "paper, NAVSIM"), tuple(rows))


def _ranks(found: Geometry, reported: Any) -> Table:
    rows = [
        (
            f"{name} views",
            *(found.ranks[name][form][kind].text(1) for form in ("centred", "raw") for kind in found.ranks[name][form]),
            found.between_logs[name].times(100).text(1),
        )
        for name in found.features
    ]
    theirs = (f"paper, NAVSIM ({reported['dim']} features)", f"{reported['effective_rank']} (spectrum not said)")
    rows.append((*theirs, *[ABSENT] * 4))
    width = found.views.current.shape[1]
    columns = (
        "effective rank",
        "singular values, centred",
        "variances, centred",
        "singular values, raw",
        "squares, raw",
        "variance between logs [%]",
    )
    return Table(f"Directions that the {width} features fill", columns, tuple(rows))


def remarks(found: Geometry) -> tuple[str, ...]:
    """What the numbers say."""
    raw, centred = (found.means[form] for form in ("raw", "centred"))
    return (
        f"A current view and its own future have a mean cosine of {raw['true'].text(3)}, views of different scenes "
        f"{raw['shuffled'].text(3)}: that much is what all views share. With the mean taken off it is "
        f"{centred['true'].text(3)} against {centred['shuffled'].text(3)}.",
        f"True pairs against those of different scenes: {_verdict(found, 'shuffled')}. Against those of the same log: "
        f"{_verdict(found, 'same_log')}. Of the targets' variance {found.between_logs['future'].times(100).text(0)} % "
        "lies between logs, the rest between moments of a log.",
        f"A same-log pair takes the future of another frame of the log, drawn among those whose view lies at least "
        f"{LEAST_TIME_APART:g} s from both views of the true pair; nearer ones would show the same moment. "
        f"Frames that have none and are left out there: {(found.pairings['same_log'] < 0).sum():,}.",
        "A shuffled pairing is a permutation of all futures without fixed point; for another log, one in which no "
        "future stays in its log. All other futures: the exact mean over all pairs of different frames, nothing drawn.",
        "AUC is exact over all pairs of a true and another cosine, ties counting half; d is the difference of means "
        "over the root of the mean of the two variances. Intervals draw the logs of current views with replacement; "
        f"pairings stay as drawn. Ranks have {min(RANK_DRAWS, found.draws)} draws, and their intervals lean low: of "
        "logs drawn with replacement fewer are different. A percentile is the least value that so many percent do not "
        f"exceed; its interval has {min(QUANTILE_DRAWS, found.draws):,} draws.",
        "Effective rank is exp of the entropy of a spectrum scaled to sum 1: of the singular values (Roy and "
        "Vetterli), or of their squares, the variances. The paper does not say which.",
    )


def _verdict(found: Geometry, kind: str) -> str:
    of = [found.told_apart[form][kind][0] for form in ("raw", "centred")]
    if any(math.isnan(one.value) for one in of):
        return "there are none"
    words = "distinguished" if all(one.low > CHANCE for one in of) else "not clearly distinguished"
    return f"{words} (AUC {of[0].text(3)} raw, {of[1].text(3)} centred)"
