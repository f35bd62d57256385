"""One submission under every rule, against evaluations by a single rule."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.support.navhard_golden import NavhardGolden
from tests.support.navsim_golden import NavsimGolden, stored_plans
from tests.support.scenes import make_log, make_plans
from world4scorer.datasets.navsim.filters import read_split
from world4scorer.datasets.navsim.submissions import write_submission
from world4scorer.datasets.prepare.fill_store import prepare
from world4scorer.datasets.prepare.source import NavsimSource
from world4scorer.datasets.store import SceneStore, write_shard
from world4scorer.evaluation.rules.explain import verdict_on
from world4scorer.evaluation.rules.finding import which_rule
from world4scorer.evaluation.rules.one_stage import one_stage_scores
from world4scorer.evaluation.rules.reported import ReportedScore
from world4scorer.evaluation.rules.rule import PARTS, Rule
from world4scorer.evaluation.scores.submission import evaluate_plans
from world4scorer.evaluation.two_stage.evaluate import evaluate_two_stage
from world4scorer.evaluation.two_stage.groups import first_stage_tokens, read_groups, second_stage_tokens
from world4scorer.jobs.executors import SerialExecutor


@pytest.mark.parametrize(
    ("text", "score", "matches"),
    [
        ("51.5", 0.5154, True),
        ("51.5", 0.5156, False),
        ("51.50", 0.5154, False),
        ("51.5 %", 0.515, True),
        ("0.515", 0.5154, True),
        ("0.515", 0.5156, False),
        ("88", 0.8849, True),
        ("1", 1.0, True),
    ],
)
def test_scores_match_within_their_rounding(text: str, score: float, matches: bool) -> None:
    assert ReportedScore.parse(text).matches(score) == matches


@pytest.mark.parametrize("text", ["", "many", "nan", "-3", "101", "inf"])
def test_a_reported_score_is_a_number(text: str) -> None:
    with pytest.raises(ValueError, match="as printed"):
        ReportedScore.parse(text)


def test_the_nearest_rule_is_named_where_none_fits() -> None:
    scores = {Rule("PDMS v1.1", "navsim"): 0.88, Rule("EPDMS", "navsim", "replay", "v2.2", True): 0.84}
    assert "no rule gives it. The nearest is PDMS v1.1" in verdict_on(scores, ReportedScore.parse("87.1"))
    assert verdict_on(scores, ReportedScore.parse("84")).startswith("84: this rule gives it: EPDMS, human filter v2.2")


def test_rules_of_one_stage(tmp_path: Path) -> None:
    """Every rule is the evaluation that it names; what scenes lack is said and does not stop the others."""
    write_shard(tmp_path, "alpha", make_log("alpha", 4, seed=0))
    store = SceneStore(tmp_path)
    plans = {token: make_plans(store[token], 1, seed=i)[0] for i, token in enumerate(store.tokens)}
    scores = {one.rule: one for one in one_stage_scores(store, plans, store.tokens)}
    for lqr in ("navsim", "corrected"):
        assert scores[Rule("PDMS v1.1", lqr)].score == evaluate_plans(store, plans, metric="pdms-v1.1", lqr=lqr).score
        for kind, metric in (("v2.2", "epdms-v2.2"), ("pre-151", "epdms-pre151"), ("off", "epdms-pre151")):
            table = evaluate_plans(store, plans, metric=metric, lqr=lqr)
            found = scores[Rule("EPDMS", lqr, "replay", kind, True)]
            assert found.score == pytest.approx(table.score, abs=1e-12)
            assert found.means["EC"] == table.averages["two_frame_extended_comfort"]
            if kind == "off":  # the official column is before the filter and without EC
                alone = scores[Rule("EPDMS", lqr, "replay", "off", False)].score
                assert alone == pytest.approx(table.averages["pdm_score"], abs=1e-12)
        reactive = scores[Rule("EPDMS", lqr, "reactive", "v2.2", True)]
        assert reactive.score is None and "lanes" in reactive.missing
    official = [rule for rule in scores if rule.official]
    assert [rule.human_filter for rule in official] == [None, "v2.2", "pre-151"]


@pytest.fixture(scope="module")
def golden_store(compact: NavsimGolden, tmp_path_factory: pytest.TempPathFactory) -> SceneStore:
    folder = tmp_path_factory.mktemp("store")
    prepare(
        NavsimSource(compact.dataset, read_split(compact.split_file)), folder, SerialExecutor(), show_progress=False
    )
    return SceneStore(folder)


@pytest.mark.parametrize("agent", ["human_noise", "fast_1p4"])
def test_official_scores_are_given_by_official_rules(
    compact: NavsimGolden, golden_store: SceneStore, tmp_path: Path, agent: str
) -> None:
    """Means of what the devkits computed for a submission, printed with three digits, name the devkits' rules."""
    column = list(map(str, compact.trajectories["names"])).index(agent)
    plans = {token: stored_plans(compact, token)[column] for token in compact.tokens}
    write_submission(tmp_path / "s.pkl", plans, version="v2.2")
    rows = {version: [row for row in compact.scores(version) if row["agent"] == agent] for version in ("v1", "v2")}
    official = {
        Rule("PDMS v1.1", "navsim"): [row["v1"]["score"] for row in rows["v1"]],
        Rule("EPDMS", "navsim", "replay", "v2.2", True): [row["filtered"]["epdms"] for row in rows["v2"]],
        Rule("EPDMS", "navsim", "replay", "pre-151", True): [row["unfiltered"]["epdms"] for row in rows["v2"]],
        Rule("EPDMS", "navsim", "replay", "off", False): [row["unfiltered"]["pdm_score"] for row in rows["v2"]],
    }
    for rule, scores in official.items():
        assert len(scores) == len(compact.tokens)
        reported = ReportedScore.parse(f"{100 * np.mean(scores):.3f}")
        finding = which_rule(golden_store, tmp_path / "s.pkl", reported=reported)
        found = finding.numbers["matching"]
        assert rule.text in found and (found[0] == rule.text or not rule.official)
        assert all(text.startswith(rule.benchmark) for text in found)
        assert finding.remarks[0].startswith(reported.text) and "no rule" not in finding.remarks[0]


def test_rules_of_two_stages(navhard: NavhardGolden, navhard_store: SceneStore, tmp_path: Path) -> None:
    groups = read_groups(read_split(navhard.split("noise")))
    first, second = (
        {token: navhard.stored_plans["noise"][token] for token in tokens}
        for tokens in (first_stage_tokens(groups), second_stage_tokens(groups))
    )
    write_submission(tmp_path / "s.pkl", first, version="v2.2", second_stage=second)
    expected = evaluate_two_stage(navhard_store, first, second, groups, metric="epdms-pre151", traffic="replay")
    rule = Rule("EPDMS, two stages", "navsim", "replay", "pre-151", True, "combined")
    reported = ReportedScore.parse(f"{100 * expected.combined:.4f}")
    finding = which_rule(navhard_store, tmp_path / "s.pkl", groups, reported, allow_missing=True)
    assert (
        rule.text in finding.numbers["matching"]
        and replace(rule, human_filter="off").text in finding.numbers["matching"]
    )
    found = {
        tuple(row[name] for name in ("lqr", "traffic", "human_filter", "extended_comfort", "part")): row["score"]
        for row in finding.numbers["scores"]
        if row["benchmark"] == rule.benchmark
    }
    values = [found["navsim", "replay", "pre-151", True, part] for part in PARTS]
    np.testing.assert_allclose(values, [expected.combined, expected.stage_one, expected.stage_two], atol=1e-12)
    shipped = evaluate_two_stage(navhard_store, first, second, groups)
    assert found["navsim", "reactive", "v2.2", True, "combined"] == pytest.approx(shipped.combined, abs=1e-12)
    if navhard.whole:  # its official mean is of all groups
        official = navhard.summary("noise", "reactive")["extended_pdm_score_combined"]["score"]
        reported = ReportedScore.parse(f"{100 * float(official):.4f}")
        named = which_rule(navhard_store, tmp_path / "s.pkl", groups, reported, allow_missing=True)
        shipped_rule = replace(rule, traffic="reactive", human_filter="v2.2")
        assert named.numbers["matching"] == [shipped_rule.text]
    assert finding.tables[0].title == "Two stages"
    assert any(remark.startswith("Two stages: ") for remark in finding.remarks)
