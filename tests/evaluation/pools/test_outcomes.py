"""What the files say of pools is what the engine says, and choices by the files are those of the re-ranker."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest

from tests.support.golden import outcome_files
from tests.support.scenes import make_log
from world4scorer import InertialReranker, epdms, extended_comfort, pdms, read_exchange, roll_out
from world4scorer.datasets.store import SceneStore, write_shard
from world4scorer.evaluation.pools import LogPool, PoolError, ScoredPools, continued, framewise, inertial
from world4scorer.evaluation.pools.outcome_files import judge_log
from world4scorer.evaluation.scores.submission import evaluate_plans
from world4scorer.jobs.files import hold_lock
from world4scorer.jobs.resumable import LOCK

from .conftest import make_pool

GOLDEN_LOGS = [path for path in outcome_files() if "_log" in path.name]


@pytest.fixture
def pools(folder) -> ScoredPools:
    return ScoredPools.open(folder.folder)


def test_every_plan_is_judged_as_the_engine_does(pools, store):
    assert pools.tokens == tuple(store.tokens) and pools.logs == 3
    for s, token in enumerate(pools.tokens):
        scene = store[token]
        outcome = epdms(scene, pools.plans[s])
        np.testing.assert_array_equal(pools.v1[s], pdms(scene, pools.plans[s]).table)
        np.testing.assert_array_equal(pools.v2[s], outcome.table)
        np.testing.assert_array_equal(pools.v2_raw[s], outcome.raw)
        np.testing.assert_array_equal(pools.human_plan[s], scene.human_future)


def test_pairs_are_those_of_extended_comfort(pools, store):
    assert pools.paired.tolist() == [False, *[True] * 4] * 2 + [False] * 3
    for s in np.flatnonzero(pools.paired):
        now, before = (store[pools.tokens[place]] for place in (s, pools.previous[s]))
        rollouts = roll_out(before, pools.plans[s - 1])
        for j, rollout in enumerate(rollouts):
            flags = extended_comfort(roll_out(now, pools.plans[s]), rollout, pools.interval[s])
            np.testing.assert_array_equal(pools.continues[s, :, j], flags)
        human = roll_out(before, before.human_future[None])[0]
        flag = extended_comfort(roll_out(now, now.human_future[None]), human, pools.interval[s])
        assert pools.human_continues[s] == flag[0]
    assert np.isnan(pools.human_continues[~pools.paired]).all()


@pytest.mark.parametrize("weight", [0.0, 0.3, 1.0, 5.0])
def test_choices_are_the_rerankers(pools, store, weight):
    reranker = InertialReranker(weight)
    chosen = inertial(pools, pools.utility_v2, weight)
    for s, token in enumerate(pools.tokens):
        assert reranker.choose(store[token], pools.plans[s], pools.utility_v2[s]) == chosen[s]
        flag = continued(pools, chosen)[s]
        assert np.isnan(flag) if reranker.continued is None else flag == reranker.continued[chosen[s]]
    if weight == 0:
        np.testing.assert_array_equal(chosen, framewise(pools.utility_v2))


@pytest.mark.parametrize("version", ["v2.2", "pre151"])
def test_scores_are_those_of_a_submission_of_the_choices(pools, store, version):
    chosen = inertial(pools, pools.utility_v2)
    plans = {token: pools.plans[s, chosen[s]] for s, token in enumerate(pools.tokens)}
    table = evaluate_plans(store, plans, metric=f"epdms-{version}")
    np.testing.assert_allclose(pools.epdms(chosen, version), table.columns["score"], rtol=0, atol=1e-12)
    first = evaluate_plans(store, plans, metric="pdms-v1.1")
    np.testing.assert_allclose(pools.at(pools.pdms, chosen), first.columns["score"], rtol=0, atol=1e-12)


@pytest.mark.parametrize("path", GOLDEN_LOGS, ids=lambda path: path.stem)
def test_golden_logs(path, tmp_path):
    """Compatibility of all pairs, choices, extended comfort and scores of the official implementation."""
    fields, frames = np.load(path), read_exchange(path)
    write_shard(tmp_path, frames[0].scene.log_name, [frame.scene for frame in frames])
    store = SceneStore(tmp_path)
    plans = np.stack([frame.plans for frame in frames]).astype(np.float32)
    worth = np.stack([frame.utilities for frame in frames])
    times = np.array([frame.scene.time_us for frame in frames])
    log = LogPool("log", tuple(frame.scene.token for frame in frames), times, plans, worth, worth)
    pools = ScoredPools.join({}, [(log, judge_log(log, store))])
    np.testing.assert_allclose(pools.v1, fields["v1_eval"], rtol=0, atol=1e-5)
    np.testing.assert_allclose(pools.v2, fields["v2_filtered"], rtol=0, atol=1e-5)
    for f in np.flatnonzero(pools.paired):
        np.testing.assert_array_equal(pools.continues[f].T, fields["ec_matrix"][f])
    for at, weight in enumerate(fields["rerank_lambdas"]):
        chosen = inertial(pools, worth, float(weight))
        np.testing.assert_array_equal(chosen, fields["rerank_sel"][at])
        flags = np.nan_to_num(continued(pools, chosen), nan=255)
        np.testing.assert_array_equal(flags, fields["rerank_ec"][at])
        np.testing.assert_allclose(pools.epdms(chosen), fields["rerank_epdms_filtered"][at], rtol=0, atol=1e-5)


def test_outcomes_are_kept_and_made_anew_when_pools_change(folder, store, pools):
    kept = folder.outcomes_path("alpha")
    stamp = kept.stat().st_mtime_ns
    again = ScoredPools.open(folder.folder)
    assert kept.stat().st_mtime_ns == stamp
    for name in ("v1", "v2", "v2_raw", "continues", "interval", "ego_pose", "human_plan", "human_continues"):
        np.testing.assert_array_equal(getattr(again, name), getattr(pools, name), err_msg=name)

    log = folder.read("alpha")
    folder.write(log._replace(plans=log.plans[:, ::-1].copy()))
    turned = ScoredPools.open(folder.folder)
    assert kept.stat().st_mtime_ns != stamp
    np.testing.assert_array_equal(turned.v1[:5], pools.v1[:5, ::-1])

    kept.write_bytes(b"damaged")
    np.testing.assert_array_equal(ScoredPools.open(folder.folder).v1, turned.v1)
    other = ScoredPools.open(folder.folder, lqr="corrected")
    assert not np.array_equal(other.v1, turned.v1)


def test_what_a_killed_process_left_is_removed(folder, pools):
    left = folder.outcomes_path("alpha").with_name(".alpha.arrow.0a1b2c3d.tmp")
    left.touch()
    ScoredPools.open(folder.folder)
    assert not left.exists()


def test_outcomes_that_another_process_writes_are_left_alone(folder, pools):
    """It holds the lock for as long as its file is unfinished."""
    own = folder.outcomes_path("beta").with_name(".beta.arrow.0a1b2c3d.tmp")
    folder.outcomes_path("alpha").unlink()
    with ThreadPoolExecutor(1) as threads:
        with hold_lock(own.with_name(LOCK)):
            own.touch()
            opened = threads.submit(ScoredPools.open, folder.folder)
            with pytest.raises(TimeoutError):
                opened.result(0.5)
            assert own.exists()
        assert len(opened.result(20)) == len(pools)


def test_outcomes_are_made_anew_when_scenes_change(folder, store, pools, tmp_path):
    """The same tokens and times, prepared again with a reference that makes less way."""
    for name in store.logs:
        scenes = [store[token] for token in store.tokens_of(name)]
        slower = [
            replace(scene, reference=np.repeat(scene.reference[:1], 51, 0), reference_v2=None) for scene in scenes
        ]
        write_shard(tmp_path / "again", name, slower)
    again = ScoredPools.open(folder.folder, tmp_path / "again")
    assert not np.array_equal(again.v1, pools.v1)
    np.testing.assert_array_equal(ScoredPools.open(folder.folder).v1, pools.v1)


def test_pools_of_another_store_are_refused(folder, store, pools, tmp_path):
    """Also where outcomes are kept already."""
    write_shard(tmp_path / "other", "alpha", [store[token] for token in store.tokens_of("alpha")][:2])
    with pytest.raises(PoolError, match="give the store of these pools"):
        ScoredPools.open(folder.folder, tmp_path / "other")
    about = folder.folder / "pools.json"
    about.write_text(json.dumps({name: value for name, value in folder.about.items() if name != "store"}))
    with pytest.raises(PoolError, match="--store"):
        ScoredPools.open(folder.folder)
    about.write_text(json.dumps({**folder.about, "store": str(tmp_path / "gone")}))
    with pytest.raises(PoolError, match="say where with --store"):
        ScoredPools.open(folder.folder)


@pytest.mark.parametrize("weight", [-1.0, np.nan, np.inf])
def test_weights_that_mean_nothing_are_refused(pools, weight):
    with pytest.raises(ValueError, match="weight"):
        inertial(pools, pools.utility_v2, weight)


def test_files_that_do_not_belong_are_noticed(folder, store, pools, tmp_path):
    alpha, beta = folder.path("alpha"), folder.path("beta")
    kept = beta.read_bytes()
    beta.write_bytes(alpha.read_bytes())
    with pytest.raises(PoolError, match=r"beta\.arrow: holds the log 'alpha'"):
        ScoredPools.open(folder.folder)
    beta.write_bytes(kept)
    write_shard(tmp_path / "more", "delta", make_log("delta", 2, seed=9))
    for name in store.logs:
        write_shard(tmp_path / "more", name, [store[token] for token in store.tokens_of(name)])
    folder.write(make_pool(SceneStore(tmp_path / "more"), "delta"))
    with pytest.raises(PoolError, match="holds other frames than it was made for"):
        ScoredPools.open(folder.folder, tmp_path / "more")
