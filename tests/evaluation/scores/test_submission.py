from __future__ import annotations

import csv
import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import world4scorer as w4s
from tests.support.golden import outcome_files
from tests.support.scenes import make_log, make_plans
from world4scorer.datasets.store import SceneStore, write_shard
from world4scorer.evaluation.scores.submission import V1_NAMES, evaluate_plans

GOLDEN_LOGS = [path for path in outcome_files() if "_log" in path.name]


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> SceneStore:
    folder = tmp_path_factory.mktemp("store")
    for number, name in enumerate(["alpha", "beta"]):
        write_shard(folder, name, make_log(name, 4, seed=number))
    write_shard(folder, "gaps", make_log("gaps", 3, seed=2, spacing_us=600_000))
    return SceneStore(folder)


@pytest.fixture(scope="module")
def plans(store: SceneStore) -> dict[str, Any]:
    return {token: make_plans(store[token], 1, seed=i)[0] for i, token in enumerate(store.tokens)}


def read_csv(path: Path) -> list[dict[str, str]]:
    with path.open() as stream:
        return list(csv.DictReader(stream))


def test_pdms_rows_are_those_of_the_engine(store: SceneStore, plans: dict[str, Any], tmp_path: Path) -> None:
    table = evaluate_plans(store, plans, metric="pdms-v1.1")
    assert list(table.columns) == list(V1_NAMES)
    for token in store.tokens:
        expected = w4s.pdms(store[token], plans[token][None]).table[0]
        assert list(table.row(token).values()) == expected.tolist()
    table.save(tmp_path / "scores.csv")
    rows = read_csv(tmp_path / "scores.csv")
    assert list(rows[0]) == ["token", "valid", *V1_NAMES]
    assert [row["token"] for row in rows] == [*store.tokens, "average"]
    assert float(rows[-1]["score"]) == table.score == np.mean([float(row["score"]) for row in rows[:-1]])
    assert {row["valid"] for row in rows} == {"True"}
    summary = json.loads((tmp_path / "scores.json").read_text())
    assert (summary["metric"], summary["lqr"], summary["tokens"]) == ("pdms-v1.1", "navsim", 11)


def test_extended_comfort_goes_to_the_later_frame(store: SceneStore, plans: dict[str, Any], tmp_path: Path) -> None:
    table = evaluate_plans(store, plans, metric="epdms-v2.2")
    ec = table.columns["two_frame_extended_comfort"]
    assert np.isnan(ec).tolist() == [True, False, False, False] * 2 + [True] * 3
    tokens = store.tokens_of("beta")
    for before, token in pairwise(tokens):
        outcome = w4s.epdms(store[token], plans[token][None])
        expected = w4s.extended_comfort(outcome.rollouts, w4s.roll_out(store[before], plans[before][None])[0], 0.5)
        row = table.row(token)
        assert row["two_frame_extended_comfort"] == expected[0]
        assert row["score"] == outcome.score_with(expected)[0]
        assert row["weighted_metrics"][4] == 0.0
    table.write_csv(tmp_path / "scores.csv")
    rows = read_csv(tmp_path / "scores.csv")
    assert rows[0]["two_frame_extended_comfort"] == ""
    assert rows[-1]["token"] == "average_all_frames"
    assert float(rows[-1]["two_frame_extended_comfort"]) == np.nanmean(ec)
    assert json.loads(rows[0]["weighted_metrics"]) == table.row(store.tokens[0])["weighted_metrics"]


def test_pre151_scores_what_the_filter_has_not_touched(store: SceneStore, plans: dict[str, Any]) -> None:
    fixed = evaluate_plans(store, plans, metric="epdms-v2.2")
    before = evaluate_plans(store, plans, metric="epdms-pre151")
    for name in ("no_at_fault_collisions", "time_to_collision_within_bound", "two_frame_extended_comfort"):
        np.testing.assert_array_equal(fixed.columns[name], before.columns[name])
    for place, token in enumerate(store.tokens):
        raw = w4s.epdms(store[token], plans[token][None], human_filter=False)
        expected = raw.score_with(before.columns["two_frame_extended_comfort"][place : place + 1])[0]
        assert before.columns["score"][place] == expected


def test_missing_tokens_are_named(store: SceneStore, plans: dict[str, Any], tmp_path: Path) -> None:
    gone = store.tokens_of("alpha")[1]
    fewer = {token: plan for token, plan in plans.items() if token != gone}
    with pytest.raises(ValueError, match=f"1 of 11 tokens have no plan: {gone}"):
        evaluate_plans(store, fewer, metric="epdms-v2.2")
    table = evaluate_plans(store, fewer, metric="epdms-v2.2", allow_missing=True)
    assert table.valid.sum() == 10
    assert np.isnan(table.row(gone)["score"])
    assert np.isnan(table.row(store.tokens_of("alpha")[2])["two_frame_extended_comfort"])  # its predecessor is gone
    table.write_csv(tmp_path / "scores.csv")
    rows = read_csv(tmp_path / "scores.csv")
    assert (rows[1]["valid"], rows[1]["score"], rows[-1]["valid"]) == ("False", "", "False")
    with pytest.raises(ValueError, match="same split"):
        evaluate_plans(store, {"other": plans[gone]}, metric="pdms-v1.1", allow_missing=True)
    with pytest.raises(ValueError, match="unknown metric"):
        evaluate_plans(store, plans, metric="pdms")  # type: ignore[arg-type]


def test_subset_of_tokens(store: SceneStore, plans: dict[str, Any]) -> None:
    chosen = store.tokens_of("beta")[::-1]
    table = evaluate_plans(store, plans, metric="epdms-v2.2", tokens=chosen)
    assert list(table.tokens) == list(store.tokens_of("beta"))


@pytest.mark.skipif(not GOLDEN_LOGS, reason="needs golden logs")
def test_one_plan_index_throughout_gives_the_official_numbers(tmp_path: Path) -> None:
    checked = 0
    for path in GOLDEN_LOGS:
        frames = w4s.read_exchange(path)
        log_name = frames[0].scene.log_name
        write_shard(tmp_path, log_name, [frame.scene for frame in frames])
        store = SceneStore(tmp_path)
        with np.load(path) as golden:
            for index in range(0, 64, 9):
                plans = {frame.scene.token: frame.plans[index] for frame in frames}
                tokens = [frame.scene.token for frame in frames]
                table = evaluate_plans(store, plans, metric="epdms-v2.2", tokens=tokens)
                np.testing.assert_array_equal(table.columns["two_frame_extended_comfort"], golden["ec_const"][:, index])
                np.testing.assert_allclose(
                    table.columns["score"], golden["epdms_const_filtered"][:, index], rtol=0, atol=1e-9
                )
                before = evaluate_plans(store, plans, metric="epdms-pre151", tokens=tokens)
                np.testing.assert_allclose(
                    before.columns["score"], golden["epdms_const_raw"][:, index], rtol=0, atol=1e-9
                )
                first = evaluate_plans(store, plans, metric="pdms-v1.1", tokens=tokens)
                np.testing.assert_allclose(first.columns["score"], golden["v1_eval"][:, index, 6], rtol=0, atol=1e-9)
                checked += len(frames)
    assert checked == 96 * len(GOLDEN_LOGS)
