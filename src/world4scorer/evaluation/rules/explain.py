"""Why the same plans have several scores: the usual disagreements, with what each amounts to for one submission."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from world4scorer.evaluation.rules.reported import ReportedScore
from world4scorer.evaluation.rules.rule import Rule, RuleScore

Scores = Mapping[Rule, float]


def explanations(scores: Sequence[RuleScore], reported: ReportedScore | None) -> tuple[str, ...]:
    """Sentences: which rules give the reported score, then what the rules differ in."""
    known = {one.rule: one.score for one in scores if one.score is not None}
    verdict = [] if reported is None else [verdict_on(known, reported)]
    missing = {one.missing: one.rule for one in scores if one.missing}
    return (
        *verdict,
        *_version(known),
        *_human_filter(known),
        *_extended_comfort(known),
        *_traffic(known),
        *_stages(known),
        *_tracker(known),
        *(f"Not computed: {rule.benchmark}, {rule.traffic} traffic: {why}." for why, rule in missing.items()),
    )


def matching(scores: Scores, reported: ReportedScore) -> list[Rule]:
    """Rules whose score rounds to the reported one; those of released scripts first."""
    found = [rule for rule, score in scores.items() if reported.matches(score)]
    return sorted(found, key=lambda rule: not rule.official)


def verdict_on(scores: Scores, reported: ReportedScore) -> str:
    """Which rules reproduce a score, or which comes nearest."""
    found = matching(scores, reported)
    if found:
        few = "this rule gives it" if len(found) == 1 else f"{len(found)} rules give it and cannot be told apart by it"
        named = "; ".join(f"{rule.text}{' (official script)' if rule.official else ''}" for rule in found)
        return f"{reported.text}: {few}: {named}."
    rule = min(scores, key=lambda rule: abs(reported.difference(scores[rule])))
    return (
        f"{reported.text}: no rule gives it. The nearest is {rule.text}: {_points(scores[rule])}. Usual reasons: "
        "another split or other tokens, another file, frames that failed and were left out, or NumPy's pseudo-inverse "
        "on that machine (devkit issues 141 and 201)."
    )


def _version(scores: Scores) -> list[str]:
    v1, v2 = Rule("PDMS v1.1", "navsim"), Rule("EPDMS", "navsim", "replay", "v2.2", True)
    if v1 not in scores or v2 not in scores:
        return []
    return [
        f"PDMS or EPDMS ({_points(scores[v1])} and {_points(scores[v2])} here): two benchmarks with other metrics, "
        "weights, traffic and normalisation of progress. Tables that write PDM score without a version mix them: one "
        "planner has 88 in one paper and 84 in another. Scores of v1.0 count as v1.1's: its release notes "
        "name no change of the metric."
    ]


def _human_filter(scores: Scores) -> list[str]:
    gaps = [
        (rule, scores[rule] - scores[other])
        for rule in scores
        if rule.official and rule.human_filter == "v2.2" and rule.part in ("", "combined")
        for other in [_changed(rule, human_filter="pre-151")]
    ]
    return [
        f"Human filter, {rule.benchmark}: {_points(scores[rule] - gap)} before its fix (devkit issue 151, releases "
        f"before 29 September 2025), {_points(scores[rule])} after. The filter only raises sub-scores, so the later "
        "number is never lower; one file can have 46.7 and 51.5. Before the fix the columns were filtered and the "
        "score was not: it equals the score without a filter."
        for rule, gap in gaps
    ]


def _extended_comfort(scores: Scores) -> list[str]:
    rule = Rule("EPDMS", "navsim", "replay", "v2.2", True)
    other = _changed(rule, extended_comfort=False)
    if rule not in scores or other not in scores:
        return []
    return [
        f"Two-frame EC: {_points(scores[rule])} with it, {_points(scores[other])} without. It needs a predecessor at "
        "most 0.55 s earlier among the frames evaluated, so a subset of a split has another score. The official "
        "column `pdm_score` is without EC and before the human filter; the score is the column `score`."
    ]


def _traffic(scores: Scores) -> list[str]:
    rule = Rule("EPDMS", "navsim", "replay", "v2.2", True)
    other = _changed(rule, traffic="reactive")
    if rule not in scores or other not in scores:
        return []
    return [
        f"Traffic: {_points(scores[rule])} replayed, {_points(scores[other])} reactive. One-stage evaluation replays, "
        "both stages of navhard react."
    ]


def _stages(scores: Scores) -> list[str]:
    rule = Rule("EPDMS, two stages", "navsim", "reactive", "v2.2", True, "combined")
    if rule not in scores:
        return []
    one, two = (_points(scores[_changed(rule, part=part)]) for part in ("stage one", "stage two"))
    return [
        f"Two stages: {one} and {two}, combined {_points(scores[rule])}. The benchmark's score is the mean of products "
        "of both stages, never higher than either."
    ]


def _tracker(scores: Scores) -> list[str]:
    gaps = {rule: abs(scores[rule] - scores[other]) for rule, other in _tracker_pairs(scores)}
    largest = max(gaps, key=lambda rule: gaps[rule])
    return [
        "LQR: `corrected` builds the regulariser as it was meant (devkit issues 52 and 136); all official scores are "
        f"of `navsim`. The largest difference here is {_points(gaps[largest])}, for {largest.benchmark}."
    ]


def _tracker_pairs(scores: Scores) -> list[tuple[Rule, Rule]]:
    return [
        (rule, other)
        for rule in scores
        if rule.lqr == "navsim"
        for other in [_changed(rule, lqr="corrected")]
        if other in scores
    ]


def _changed(rule: Rule, **changes: object) -> Rule:
    return Rule(**{**vars(rule), **changes})


def _points(score: float) -> str:
    return f"{100 * score:.2f}"
