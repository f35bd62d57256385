"""The scores by all rules as a finding.

>>> finding = which_rule(SceneStore("scenes"), Path("submission.pkl"), reported=ReportedScore.parse("51.5"))
>>> finding.numbers["matching"]
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from pathlib import Path
from typing import Any, Final

from world4scorer.datasets.navsim.submissions import read_submission, tokens_with_plan
from world4scorer.datasets.navsim.synthetic import SYNTHETIC_TOKEN_LENGTH
from world4scorer.datasets.store import SceneStore
from world4scorer.drawing.finding import Finding, Table
from world4scorer.evaluation.rules.explain import explanations, matching
from world4scorer.evaluation.rules.one_stage import one_stage_scores
from world4scorer.evaluation.rules.reported import ReportedScore
from world4scorer.evaluation.rules.rule import HUMAN_FILTERS, LQR_PROFILES, PARTS, TRAFFIC_MODES, Rule, RuleScore
from world4scorer.evaluation.rules.two_stage import two_stage_scores
from world4scorer.evaluation.two_stage.groups import StageGroup
from world4scorer.evaluation.two_stage.submission import read_two_stage_submission

COLUMNS: Final = ("NC", "DAC", "DDC", "TLC", "EP", "TTC", "C", "LK", "HC", "EC")
NONE: Final = "-"
MATCH: Final = " *"
"""Behind scores that match the reported one."""


def which_rule(
    store: SceneStore,
    submission: Path,
    groups: Sequence[StageGroup] = (),
    reported: ReportedScore | None = None,
    allow_missing: bool = False,
) -> Finding:
    """Score a submission by every rule, on the recorded frames of a store and, given groups, on both stages."""
    given = read_two_stage_submission(submission, groups, allow_missing) if groups else read_submission(submission)
    recorded = [token for token in store if len(token) != SYNTHETIC_TOKEN_LENGTH]
    tokens = tokens_with_plan(store.in_time_order(recorded), given.plans, allow_missing)
    scores = one_stage_scores(store, given.plans, tokens)
    if groups:
        scores += two_stage_scores(store, given, groups, allow_missing)
    known = {one.rule: one.score for one in scores if one.score is not None}
    if not known:
        raise ValueError(f"{store.folder}: no rule can be applied: {scores[0].missing}")
    found = [] if reported is None else matching(known, reported)
    stages = f", and {len(groups)} groups of two stages" if groups else ""
    data = f"{submission.name}: {len(tokens):,} of {len(recorded):,} recorded frames{stages}. Scores in percent."
    if reported is not None:
        data += f" An asterisk marks scores that round to {reported.text}."
    return Finding(
        name="which",
        title="One submission under every rule",
        question="Which rule gives which score, and which of them gives a reported one?",
        data=data,
        weights="",
        numbers={
            "reported": None if reported is None else reported.text,
            "matching": [rule.text for rule in found],
            "scores": [_plain(one) for one in scores],
        },
        tables=_tables(scores, found),
        remarks=explanations(scores, reported),
    )


def _plain(one: RuleScore) -> dict[str, Any]:
    return {
        **vars(one.rule),
        "official": one.rule.official,
        "score": one.score,
        "means": dict(one.means),
        "missing": one.missing,
    }


def _tables(scores: Sequence[RuleScore], found: Sequence[Rule]) -> tuple[Table, ...]:
    cells = {one.rule: _cell(one, one.rule in found) for one in scores}
    head = ("benchmark", "human filter", "traffic", "EC")
    lqr = tuple(f"LQR {name}" for name in LQR_PROFILES)
    rows = [("PDMS v1.1", NONE, "replay", NONE, *(cells[Rule("PDMS v1.1", name)] for name in LQR_PROFILES))]
    for traffic, kind, counts in product(TRAFFIC_MODES, HUMAN_FILTERS, (True, False)):
        values = (cells[Rule("EPDMS", name, traffic, kind, counts)] for name in LQR_PROFILES)
        rows.append(("EPDMS", kind, traffic, _yes(counts), *values))
    tables = [Table("One stage: recorded frames", (*head, *lqr), tuple(rows)), _sub_scores(scores)]
    if any(one.rule.part for one in scores):
        columns = [(name, part) for name in LQR_PROFILES for part in PARTS]
        rows = []
        for traffic, kind, counts in product(TRAFFIC_MODES, HUMAN_FILTERS, (True, False)):
            rules = [Rule("EPDMS, two stages", name, traffic, kind, counts, part) for name, part in columns]
            rows.append((kind, traffic, _yes(counts), *(cells[rule] for rule in rules)))
        titles = tuple(part if name == "navsim" else f"{part}, LQR {name}" for name, part in columns)
        tables.insert(0, Table("Two stages", (*head[1:], *titles), tuple(rows)))
    return tuple(tables)


def _sub_scores(scores: Sequence[RuleScore]) -> Table:
    """Mean sub-scores of the rules that differ in them: by version, filter and traffic."""
    rows = []
    for one in scores:
        rule = one.rule
        if one.score is None or rule.part or rule.lqr != "navsim" or rule.extended_comfort is False:
            continue
        if rule.human_filter == "pre-151":  # its columns are those of v2.2
            continue
        kind = "" if rule.human_filter is None else f", filter {rule.human_filter}, {rule.traffic}"
        values = (f"{100 * one.means[name]:.2f}" if name in one.means else NONE for name in COLUMNS)
        rows.append((f"{rule.benchmark}{kind}", *values))
    return Table("Mean sub-scores, LQR navsim", ("rule", *COLUMNS), tuple(rows))


def _cell(one: RuleScore, matches: bool) -> str:
    return NONE if one.score is None else f"{100 * one.score:.2f}{MATCH if matches else ''}"


def _yes(value: bool) -> str:
    return "yes" if value else "no"
