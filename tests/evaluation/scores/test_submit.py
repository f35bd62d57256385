"""From pools to a submission, its check, and the comparison with an official table."""

from __future__ import annotations

import csv
import json
import pickle
from pathlib import Path

import numpy as np
import pytest

from tests.support.stored_pools import store_pools
from world4scorer import cli
from world4scorer.datasets.navsim.submissions import read_submission, write_submission
from world4scorer.datasets.store import SceneStore
from world4scorer.evaluation.pools.choices import framewise, inertial
from world4scorer.evaluation.pools.scored import ScoredPools
from world4scorer.evaluation.scores.check_submission import check_submission
from world4scorer.evaluation.scores.official_scores import compare_with_official
from world4scorer.evaluation.scores.submission import evaluate_plans
from world4scorer.evaluation.scores.submit import submit

HEADER = {"team_name": "us", "authors": "a, b", "email": "a@b.c", "institution": "here", "country": "any"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return store_pools(tmp_path_factory.mktemp("submit"))


@pytest.fixture(scope="module")
def pools(folder: Path) -> ScoredPools:
    return ScoredPools.open(folder)


@pytest.fixture(scope="module")
def store(folder: Path) -> SceneStore:
    return SceneStore(folder.parent / "store")


@pytest.mark.parametrize("version", ["v1.1", "v2.2"])
@pytest.mark.parametrize("selection", ["framewise", "reranked"])
def test_chosen_plans_are_submitted_and_score_as_expected(pools, store, version, selection, tmp_path: Path) -> None:
    made = submit(pools, version, selection)
    utility = pools.utility_v1 if version == "v1.1" else pools.utility_v2
    chosen = framewise(utility) if selection == "framewise" else inertial(pools, utility)
    notes = json.loads(made.save(tmp_path / "s.pkl", **HEADER).read_text())
    found = read_submission(tmp_path / "s.pkl")
    assert found.version == version and found.header["authors"] == "a, b"
    assert list(found.plans) == list(pools.tokens)
    for index, token in enumerate(pools.tokens):
        np.testing.assert_array_equal(found.plans[token], pools.plans[index, chosen[index]])
    metric = {"v1.1": "pdms-v1.1", "v2.2": "epdms-v2.2"}[version]
    scored = evaluate_plans(store, found.plans, metric=metric).score
    assert made.scores[metric] == pytest.approx(scored, abs=1e-9)
    assert notes["weights"] == "drawn" and notes["selection"] == selection and notes["expected"] == made.scores
    report = check_submission(tmp_path / "s.pkl", store=store)
    assert report.is_ready and not report.warnings and report.scores.score == pytest.approx(scored)
    assert report.lines()[-1].endswith("ready to upload")


def written(path: Path, change) -> Path:
    """A submission of three tokens with something changed in its pickle, which then has the stand-ins' names."""
    from world4scorer.datasets.navsim.devkit_classes import DEVKIT_NAMES, dump_for_devkit
    from world4scorer.datasets.navsim.pickles import load_restricted

    write_submission(path, {name: np.ones((8, 3)) for name in "abc"}, version="v1.1", **HEADER)
    content = load_restricted(path, DEVKIT_NAMES)
    change(content, content["predictions"][0])
    with open(path, "wb") as stream:
        dump_for_devkit(content, stream)
    return path


def test_what_speaks_against_an_upload(tmp_path: Path) -> None:
    def remove(content, plans):
        del plans["b"]
        plans["d"] = plans["a"]

    def fill(content, plans):
        plans["a"].poses[3, 1] = np.nan

    def sample(content, plans):
        plans["a"].trajectory_sampling.num_poses = 40

    def double(content, plans):
        plans["c"].poses = plans["c"].poses.astype(np.float64)

    def anonymous(content, plans):
        content["email"] = " "
        plans["a"].poses[7, 0] = 1000.0

    def headless(content, plans):
        del content["country / region"]

    for change, words in (
        (remove, ("1 of 3 tokens have no plan: b", "1 plans are of other tokens: d")),
        (fill, ("plans of a: plan 0, pose 3, y is nan",)),
        (sample, ("sampling must be 8 poses every 0.5 s, not 40 every 0.5: a",)),
        (double, ("poses must be float32, not float64: c",)),
        (headless, ("keys missing: 'country / region'",)),
    ):
        report = check_submission(written(tmp_path / "s.pkl", change), ["a", "b", "c"])
        assert not report.is_ready and "DO NOT upload" in report.lines()[-1]
        assert all(any(word in error for error in report.errors) for word in words), report.errors
    report = check_submission(written(tmp_path / "s.pkl", anonymous), ["a", "b", "c"])
    assert report.is_ready and len(report.warnings) == 2
    (tmp_path / "other.pkl").write_bytes(pickle.dumps({"predictions": []}))
    assert not check_submission(tmp_path / "other.pkl").is_ready


def test_our_own_table_agrees_and_changes_are_found(pools, store, tmp_path: Path) -> None:
    plans = submit(pools, "v2.2", "framewise").plans
    table = evaluate_plans(store, plans, metric="epdms-v2.2")
    table.write_csv(tmp_path / "official.csv")
    found = compare_with_official(table, tmp_path / "official.csv")
    assert found.agrees and {one.name for one in found.columns} >= {"score", "two_frame_extended_comfort"}
    with open(tmp_path / "official.csv", newline="") as stream:
        rows = list(csv.DictReader(stream))
    rows[2]["score"] = repr(float(rows[2]["score"]) + 0.25)
    rows[3]["score"] = repr(float(rows[3]["score"]) + 1e-9)
    paired = next(row for row in rows if row["two_frame_extended_comfort"])
    paired["two_frame_extended_comfort"] = ""
    del rows[0]
    with open(tmp_path / "official.csv", "w", newline="") as stream:
        writer = csv.DictWriter(stream, rows[0].keys())
        writer.writeheader()
        writer.writerows(rows)
    found = compare_with_official(table, tmp_path / "official.csv")
    score = next(one for one in found.columns if one.name == "score")
    assert (score.differing, score.rounding, score.token) == (1, 1, table.tokens[2])
    assert score.largest == pytest.approx(0.25) and score.compared == len(table.tokens) - 1
    assert sum(one.only_ours for one in found.columns) == 1 and found.only_ours == (table.tokens[0],)
    assert not found.agrees
    (tmp_path / "official.csv").write_text("token,score\nother,1.0\n")
    with pytest.raises(ValueError, match="none of the 15 tokens"):
        compare_with_official(table, tmp_path / "official.csv")


def test_the_commands(folder: Path, tmp_path: Path, capsys) -> None:
    out, store = str(tmp_path / "s.pkl"), str(folder.parent / "store")
    assert cli.main(["submit", str(folder), "--out", out, "--team-name", "us"]) == 0
    printed = capsys.readouterr().out
    assert "reranked, form v2.2; expected here: epdms-v2.2 0." in printed
    assert printed.endswith(f"next: w4s submit --check {out} --store {store}\n")
    assert cli.main(["submit", "--check", out]) == 1  # no verdict without the tokens of a split
    assert "DO NOT upload: 1 error\n" in capsys.readouterr().err
    assert cli.main(["submit", "--check", out, "--store", store]) == 0
    printed = capsys.readouterr().out
    assert "metadata is empty: authors" in printed and "ready to upload" in printed
    scores = [f"--{name}={tmp_path / f'{name}.csv'}" for name in ("out", "official")]
    assert cli.main(["evaluate", out, "--store", store, scores[0]]) == 0
    (tmp_path / "official.csv").write_bytes((tmp_path / "out.csv").read_bytes())
    assert cli.main(["evaluate", out, "--store", store, *scores]) == 0
    assert "both agree" in capsys.readouterr().out
    assert cli.main(["submit", "--check", out, str(folder)]) == 2
    assert cli.main(["submit", str(folder)]) == 2
    assert cli.main(["submit", "--check", str(tmp_path / "out.csv"), "--store", store]) == 1
    assert "DO NOT upload" in capsys.readouterr().err
