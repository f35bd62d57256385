"""The devkits' calling conventions against the official scores, from caches in the official form."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.support.navsim_golden import NavsimGolden, stored_plans
from tests.support.scenes import make_log, make_plans
from world4scorer import label
from world4scorer.compat import BatchLabels, MetricCacheFolder, PDMScorer, PDMSimulator, pdm_score, proposal_states
from world4scorer.datasets.navsim.pickles import UnsafePickle
from world4scorer.datasets.store import SceneStore, write_shard
from world4scorer.engine.outcomes.results import V1_COLUMNS
from world4scorer.engine.rollout import roll_out

V2 = {
    "multi": (
        "no_at_fault_collisions",
        "drivable_area_compliance",
        "traffic_light_compliance",
        "driving_direction_compliance",
    ),
    "weighted": ("ego_progress", "time_to_collision_within_bound", "lane_keeping", "history_comfort"),
}
V1 = {
    "multi": ("no_at_fault_collisions", "drivable_area_compliance"),
    "weighted": ("ego_progress", "time_to_collision_within_bound", "comfort", "driving_direction_compliance"),
}


def official(golden: NavsimGolden, version: str, token: str) -> list[dict[str, Any]]:
    """Rows of the token's trajectories, in their order."""
    rows = {row["agent"]: row for row in golden.scores(version) if row["token"] == token}
    return [rows[str(name)] for name in golden.trajectories["names"]]


def test_batches_from_caches_give_the_official_scores(
    golden: NavsimGolden, tokens: list[str], folders: dict[str, Path]
) -> None:
    proposals = np.stack([stored_plans(golden, token) for token in tokens])
    scores = BatchLabels.from_metric_caches(folders["v1"])(proposals, tokens)
    expected = [[row["v1"] for row in official(golden, "v1", token)] for token in tokens]
    for name, values in scores.items():
        assert values.shape == (len(tokens), 8) and values.dtype == np.float32
        np.testing.assert_allclose(values, [[row[name] for row in rows] for rows in expected], atol=1e-6, err_msg=name)
    scores = BatchLabels.from_metric_caches(folders["v2"], "epdms-v2.2")(proposals.astype(np.float64), tokens)
    assert scores["score"].dtype == np.float64
    filtered = [[row["filtered"] for row in official(golden, "v2", token)] for token in tokens]
    for name in (*V2["multi"], *V2["weighted"]):
        np.testing.assert_allclose(
            scores[name], [[row[name] for row in rows] for rows in filtered], atol=1e-6, err_msg=name
        )


@pytest.mark.parametrize("version", ["v1", "v2"])
def test_scorer_and_simulator_by_their_calling_conventions(
    golden: NavsimGolden, tokens: list[str], folders: dict[str, Path], version: str
) -> None:
    """Each trajectory beside the reference, as the official evaluation calls them."""
    names = V1 if version == "v1" else V2
    scorer = PDMScorer(version="v1.1" if version == "v1" else "v2.2")
    for token in tokens[:4]:
        cache = MetricCacheFolder(folders[version])[token]
        for plan, row in zip(stored_plans(golden, token), official(golden, version, token), strict=True):
            wanted = proposal_states(cache.scene, plan[None], with_reference=True)
            simulated = PDMSimulator().simulate_proposals(wanted, cache.ego_state)
            np.testing.assert_allclose(simulated[1:], roll_out(cache.scene, plan[None]), atol=1e-9)
            past = None if cache.past_states is None else (cache.past_states, cache.past_time_us)
            score = scorer.score_proposals(
                simulated, cache.observation, cache.centerline, cache.route_lane_ids, cache.drivable_area_map,
                human_past_trajectory=past,
            )  # fmt: skip
            expected = row["v1"] if version == "v1" else row["unfiltered"]
            assert score[1] == pytest.approx(expected["score" if version == "v1" else "pdm_score"], abs=1e-6)
            for column, name in enumerate(names["multi"]):
                assert scorer._multi_metrics[column, 1] == expected[name]
            for column, name in enumerate(names["weighted"]):
                assert scorer._weighted_metrics[column, 1] == pytest.approx(expected[name], abs=1e-6)
            assert scorer._progress_raw[1] == pytest.approx(row["progress_raw"], abs=1e-5)
            found = pdm_score(cache, plan)
            assert found["score"] == pytest.approx(
                expected["score"] if version == "v1" else _without_ec(row["filtered"]), abs=1e-6
            )


def _without_ec(row: dict[str, Any]) -> float:
    product = np.prod([row[name] for name in V2["multi"]])
    return float(product * np.dot([5, 5, 2, 2], [row[name] for name in V2["weighted"]]) / 14)


def test_the_published_reference_progress(golden: NavsimGolden, tokens: list[str], folders: dict[str, Path]) -> None:
    caches = MetricCacheFolder(folders["v1"])
    labels = BatchLabels.from_metric_caches(folders["v1"], reference="published")
    for token in tokens:
        progress = golden.progress("v1")[token]["pdm_progress_published"]
        plans = stored_plans(golden, token)
        expected = label(caches[token].scene, plans, reference_progress=progress)
        np.testing.assert_allclose(labels(plans[None], [token])["ego_progress"][0], expected.ep, atol=1e-6)


def test_tensors_come_back_as_tensors(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    write_shard(tmp_path, "alpha", make_log("alpha", 3, seed=0))
    store = SceneStore(tmp_path)
    plans = np.stack([make_plans(store[token], 5, seed=1) for token in store.tokens])
    labels = BatchLabels(store)
    expected = np.stack([label(store[token], own).table for token, own in zip(store.tokens, plans, strict=True)])
    for dtype, found in (
        (torch.float64, torch.float64),
        (torch.float32, torch.float32),
        (torch.float16, torch.float32),
    ):
        tensor = torch.tensor(plans, dtype=dtype, requires_grad=True)
        scores = labels(tensor, store.tokens)
        assert all(
            value.dtype == found and value.shape == (3, 5) and not value.requires_grad for value in scores.values()
        )
        if dtype == torch.float64:
            for column, name in enumerate(labels.names):
                np.testing.assert_array_equal(scores[name].numpy(), expected[..., column], err_msg=V1_COLUMNS[column])


def test_what_is_wrong_is_said(golden: NavsimGolden, tokens: list[str], folders: dict[str, Path]) -> None:
    plans = stored_plans(golden, tokens[0])[None].copy()
    labels = BatchLabels.from_metric_caches(folders["v1"])
    for wrong, names, words in (
        (plans[0], tokens[:1], r"\(scenes, proposals, 8, 3\)"),
        (plans, tokens[:2], "2 tokens for proposals of 1 scenes"),
        (plans, ["nothing"], "no metric cache of 'nothing'"),
    ):
        with pytest.raises(ValueError, match=words):
            labels(wrong, names)
    with pytest.raises(ValueError, match=r"EPDMS needs v2\.2"):
        BatchLabels.from_metric_caches(folders["v1"], "epdms-v2.2")(plans, tokens[:1])
    plans[0, 2, 3, 0] = np.nan
    with pytest.raises(ValueError, match=tokens[0]):
        labels(plans, tokens[:1])
    replaced = BatchLabels.from_metric_caches(folders["v1"], replace_nonfinite=True)
    assert np.isfinite(replaced(plans, tokens[:1])["score"]).all()
    cache = MetricCacheFolder(folders["v2"])[tokens[0]]
    states = proposal_states(cache.scene, plans[0, :1])
    with pytest.raises(ValueError, match=r"v1\.1 needs 50"):
        PDMScorer().score_proposals(
            states, cache.observation, cache.centerline, cache.route_lane_ids, cache.drivable_area_map
        )


def test_pickles_of_others_are_not_run(tmp_path: Path) -> None:
    import lzma
    import os
    import pickle

    class Evil:
        def __reduce__(self) -> Any:
            return os.system, ("touch /tmp/never",)

    path = tmp_path / "log" / "unknown" / "token" / "metric_cache.pkl"
    path.parent.mkdir(parents=True)
    path.write_bytes(lzma.compress(pickle.dumps(Evil())))
    with pytest.raises(UnsafePickle, match=r"metric_cache.pkl: .*system"):
        MetricCacheFolder(tmp_path)["token"]
    for content in (b"no xz", lzma.compress(pickle.dumps({"a": 1})), lzma.compress(b"x" * 100)[:-20]):
        path.write_bytes(content)
        with pytest.raises(ValueError, match=r"metric_cache\.pkl: "):
            MetricCacheFolder(tmp_path)["token"]
    with pytest.raises(ValueError, match="no metric caches"):
        MetricCacheFolder(tmp_path / "nowhere")


def test_torch_is_not_imported_without_tensors() -> None:
    code = "import sys, world4scorer.compat; assert 'torch' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)
