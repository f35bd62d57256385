from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pyarrow.csv
import pyarrow.parquet
import pytest

from tests.support.random_pools import random_pools
from world4scorer.engine.outcomes.results import V1_COLUMNS, V2_COLUMNS
from world4scorer.evaluation.scores.bootstrap import LogBootstrap
from world4scorer.evaluation.scores.frames import compare_frames, read_frames
from world4scorer.evaluation.scores.pool_evaluation import TABLE_1, evaluate_pools


def by_hand(pools, weight=1.0):
    """The three selections and their scores, frame by frame, from the formulas."""
    rows = []
    taken = {}
    for s in range(len(pools)):
        row = {}
        first = int(np.argmax(pools.utility_v1[s]))
        row |= {f"v1_{name}": pools.v1[s, first, at] for at, name in enumerate(V1_COLUMNS)}
        for prefix in ("v2", "reranked"):
            utility = pools.utility_v2[s].astype(np.float64)
            before = taken.get((prefix, s - 1)) if not np.isnan(pools.interval[s]) else None
            if prefix == "reranked" and before is not None:
                flags = pools.continues[s, :, before]
                utility = utility + weight * np.where(flags, 0.0, np.log(0.01))
            chosen = taken[prefix, s] = int(np.argmax(utility))
            ec = np.nan if before is None else float(pools.continues[s, chosen, before])
            row[f"{prefix}_choice"], row[f"{prefix}_EC"] = chosen, ec
            for version, table in (("", pools.v2), ("_pre151", pools.v2_raw)):
                value = dict(zip(V2_COLUMNS, table[s, chosen], strict=True))
                weighted = 5 * value["EP"] + 5 * value["TTC"] + 2 * value["LK"] + 2 * value["HC"]
                total = weighted / 14 if before is None else (weighted + 2 * ec) / 16
                row[f"{prefix}_EPDMS{version}"] = value["product"] * total
        rows.append(row)
    return {name: np.array([row[name] for row in rows]) for name in rows[0]}


@pytest.mark.parametrize("seed", range(3))
def test_frames_and_means_by_hand(seed, tmp_path):
    pools = random_pools(seed)
    evaluation = evaluate_pools(pools, draws=200)
    expected = by_hand(pools)
    for name, values in expected.items():
        found = np.asarray(evaluation.frames[name].to_numpy(), np.float64)
        np.testing.assert_allclose(found, values, rtol=0, atol=1e-12, err_msg=name)
    means = evaluation.finding.numbers["means"]
    for name in ("v1_PDMS", "v2_EPDMS", "reranked_EPDMS_pre151", "reranked_EC"):
        assert means[name]["value"] == pytest.approx(np.nanmean(expected[name]), abs=1e-12)
        assert means[name]["low"] <= means[name]["value"] <= means[name]["high"]
    assert means["best_PDMS"]["value"] == pytest.approx(pools.pdms.max(1).mean())

    evaluation.save(tmp_path, "w4s evaluate pools")
    parquet = pyarrow.parquet.read_table(tmp_path / "frames.parquet")
    text = pyarrow.csv.read_csv(tmp_path / "frames.csv")
    assert parquet.column_names == text.column_names and parquet.num_rows == text.num_rows == len(pools)
    assert text["v2_EC"].null_count == parquet["v2_EC"].null_count == int((~pools.paired).sum())
    np.testing.assert_array_equal(text["v1_PDMS"].to_numpy(), parquet["v1_PDMS"].to_numpy())
    summary = json.loads((tmp_path / "evaluation.json").read_text())
    assert summary["numbers"]["means"]["v2_EPDMS"] == means["v2_EPDMS"]
    assert (tmp_path / "evaluation.png").stat().st_size > 10_000


def test_table_1_has_the_papers_columns_and_no_v1_with_reranking():
    evaluation = evaluate_pools(random_pools(1), draws=10)
    table = evaluation.finding.tables[0]
    assert table.columns[1:] == tuple(TABLE_1)
    framewise, reranked = (dict(zip(table.columns, row, strict=True)) for row in table.rows[:2])
    assert framewise["PDMS"] != "-" and {reranked[name] for name in ("EP1", "TTC1", "C", "PDMS")} == {"-"}
    assert reranked["EC"] != framewise["EC"]
    assert table.rows[2][0].startswith("paper") and table.rows[2][-1] == "91.4"


def test_one_plan_per_frame_leaves_no_choice():
    evaluation = evaluate_pools(random_pools(2, plans=1), draws=10)
    assert not any(name.startswith("reranked") for name in evaluation.frames.column_names)
    assert evaluation.finding.tables[0].rows[0][0] == "one plan per frame"
    assert not any(name.startswith("spread") for name in evaluation.frames.column_names)


def test_without_any_pair_there_is_no_extended_comfort(tmp_path):
    evaluation = evaluate_pools(random_pools(5, frames=1), draws=20)
    evaluation.save(tmp_path, "x")
    again = evaluation.against(read_frames(tmp_path), "itself", 20)
    again.save(tmp_path / "again", "x")
    numbers = json.loads((tmp_path / "again" / "evaluation.json").read_text())["numbers"]
    assert numbers["means"]["v2_EC"] is None and numbers["against"]["v2_EC"]["difference"] is None
    assert numbers["against"]["v2_EPDMS"]["difference"]["value"] == 0


def test_spread_of_the_plans(tmp_path):
    """Parallel plans, the first two 1 m apart and the third 3 m from the second; evaluations without spread compare."""
    pools = random_pools(6, plans=3)
    plans = np.zeros_like(pools.plans)
    plans[..., 1] = np.array([0.0, 1.0, 4.0])[None, :, None]
    evaluation = evaluate_pools(replace(pools, plans=plans), draws=20)
    means = evaluation.finding.numbers["means"]
    assert means["spread_end_distance"]["value"] == pytest.approx((1 + 3 + 4) / 3)
    assert means["spread_nearest_end"]["value"] == pytest.approx((1 + 1 + 3) / 3)
    assert means["spread_distinct"]["value"] == 1
    rows = dict(evaluation.finding.tables[-1].rows)
    assert rows["mean distance between two end points [m]"].startswith("2.67")
    assert "plans farther than 0.5 m from every other plan, mean over poses [%]" in rows

    former = evaluation.frames.drop_columns([name for name in evaluation.frames.column_names if "spread" in name])
    assert evaluation.against(former, "former", 20).finding.numbers["against"]["v1_PDMS"]["difference"]["value"] == 0


def test_two_evaluations_are_paired_by_frame(tmp_path):
    """Against loops, where the second lacks some frames and has others in another order."""
    ours, other = (evaluate_pools(random_pools(seed, plans=7), draws=50) for seed in (3, 4))
    order = np.random.default_rng(0).permutation(len(other.frames))[:17]
    others = other.frames.take(order)
    table, numbers = compare_frames(ours.frames, others, 100)
    first, second = (
        dict(zip(frames["token"].to_pylist(), frames["v2_EPDMS"].to_pylist(), strict=True))
        for frames in (ours.frames, others)
    )
    change = [first[token] - second[token] for token in first if token in second]
    assert numbers["v2_EPDMS"]["frames"] == len(change) == 17
    assert numbers["v2_EPDMS"]["difference"]["value"] == pytest.approx(np.mean(change))
    assert numbers["v2_EPDMS"]["better"] == pytest.approx(np.mean(np.array(change) > 0))
    assert "17 in common" in table.title
    log = dict(zip(ours.frames["token"].to_pylist(), ours.frames["log_name"].to_pylist(), strict=True))
    tokens = [token for token in first if token in second]
    expected = LogBootstrap([log[token] for token in tokens], 100).mean(change)
    assert numbers["v2_EPDMS"]["difference"] == pytest.approx(expected._asdict())
    comfort = [dict(zip(f["token"].to_pylist(), f["v2_EC"].to_pylist(), strict=True)) for f in (ours.frames, others)]
    both = [token for token in tokens if comfort[0][token] is not None and comfort[1][token] is not None]
    assert numbers["v2_EC"]["frames"] == len(both) < 17

    ours.save(tmp_path / "a", "x")
    again = ours.against(read_frames(tmp_path / "a"), "a", 50)
    assert all(row[3].startswith("+0.00 [+0.00, +0.00]") for row in again.finding.tables[-1].rows)
    with pytest.raises(ValueError, match="no frame in common"):
        compare_frames(ours.frames, other.frames.set_column(0, "token", [[f"x{i}" for i in range(24)]]), 10)
    with pytest.raises(ValueError, match="w4s evaluate"):
        read_frames(tmp_path / "nowhere")
