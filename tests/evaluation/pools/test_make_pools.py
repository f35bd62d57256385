"""Pools of planners on the tiny city, with weights drawn by seed."""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import pytest
import torch

from tests.support.small_training import SMALL
from world4scorer import cli
from world4scorer.engine.selection.utility import utility_of_logits
from world4scorer.evaluation.pools import PoolError, PoolFolder, ScoredPools
from world4scorer.evaluation.pools.foreign import import_dump
from world4scorer.evaluation.pools.make import make_pools
from world4scorer.evaluation.pools.planner_source import PlannerSource
from world4scorer.planner.model.images import normalise
from world4scorer.planner.planner import Planner
from world4scorer.planner.training.pools import pool_batches


@pytest.fixture(scope="module")
def planner(tmp_path_factory: pytest.TempPathFactory) -> Path:
    torch.manual_seed(1)
    folder = tmp_path_factory.mktemp("planner") / "drawn"
    Planner(SMALL.model).save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def source(training_set, planner) -> PlannerSource:
    data = training_set.data
    return PlannerSource.find(planner, data.data, data.val_split, data.val_store)


@pytest.fixture(scope="module")
def folder(source, tmp_path_factory) -> PoolFolder:
    return make_pools(source, tmp_path_factory.mktemp("pools"))


def test_pools_are_what_the_planner_says(folder, source):
    samples = source.samples()
    planner = source.load()
    asked = [planner(normalise(one.views), one.ego_status, one.cameras) for one in pool_batches(samples, planner)]
    plans, utility = (
        torch.cat(parts).numpy() for parts in ([one.plans for one in asked], [one.utility() for one in asked])
    )
    logs = list(folder)
    tokens = [token for log in logs for token in log.tokens]
    assert sorted(tokens) == sorted(samples.tokens) and folder.about["frames"] == len(samples)
    for log in logs:
        assert (np.diff(log.time_us) > 0).all()
        places = [samples.index_of[token] for token in log.tokens]
        np.testing.assert_allclose(log.plans, plans[places], atol=1e-4)
        np.testing.assert_allclose(log.utility_v1, utility[places], atol=1e-4)
        np.testing.assert_allclose(log.utility_v1, utility_of_logits(log.logits, "v1"), atol=1e-4)
        np.testing.assert_allclose(log.utility_v2, utility_of_logits(log.logits, "v2"), atol=1e-3)
        assert log.states is not None and log.states.shape == (len(places), 8, 32)


def test_a_stopped_run_is_finished_and_nothing_repeated(folder, source):
    first = folder.path(folder.logs[0])
    bytes_before, stamp = first.read_bytes(), folder.path(folder.logs[-1]).stat().st_mtime_ns
    first.unlink()
    with pytest.raises(PoolError, match="run the same `w4s pools` again"):
        ScoredPools.open(folder.folder)
    make_pools(source, folder.folder)
    assert first.read_bytes() == bytes_before
    assert folder.path(folder.logs[-1]).stat().st_mtime_ns == stamp


def test_another_planner_is_refused(folder, source, tmp_path):
    torch.manual_seed(2)
    Planner(SMALL.model).save_pretrained(tmp_path / "other")
    other = PlannerSource(tmp_path / "other", source.data, source.split, source.store)
    with pytest.raises(PoolError, match=r"other settings \(weights: "):
        make_pools(other, folder.folder)


def test_plans_of_others_are_scored(folder, source, tmp_path):
    """Its own plans as if they were another's: the same states, so the same utilities."""
    plans = {token: poses for log in folder for token, poses in zip(log.tokens, log.plans, strict=True)}
    scored = make_pools(source, tmp_path, plans=plans, plans_from="others", states="float16")
    for name in folder.logs:
        ours, theirs = folder.read(name), scored.read(name)
        np.testing.assert_allclose(theirs.utility_v1, ours.utility_v1, atol=1e-4)
        assert theirs.states is not None and theirs.states.dtype == np.float16
    turned = {token: poses[::-1] for token, poses in plans.items()}
    other = make_pools(source, tmp_path / "turned", plans=turned, plans_from="turned", states="none")
    np.testing.assert_allclose(
        other.read(folder.logs[0]).utility_v1, folder.read(folder.logs[0]).utility_v1[:, ::-1], atol=1e-4
    )
    with pytest.raises(PoolError, match="few: no plans for"):
        make_pools(source, tmp_path / "few", plans=dict(list(plans.items())[:3]), plans_from="few")


def test_other_plans_under_the_same_name_are_refused(folder, source, tmp_path):
    plans = {token: poses for log in folder for token, poses in zip(log.tokens, log.plans, strict=True)}
    make_pools(source, tmp_path / "a", plans=plans, plans_from="city_val", states="none")
    moved = {token: poses + 0.25 for token, poses in plans.items()}
    with pytest.raises(PoolError, match=r"other settings \(plans: "):
        make_pools(source, tmp_path / "a", plans=moved, plans_from="city_val", states="none")
    odd = {**plans, next(iter(plans)): next(iter(plans.values()))[:3]}
    with pytest.raises(PoolError, match="plans of shape"):
        make_pools(source, tmp_path / "b", plans=odd, plans_from="city_val")


def test_released_dumps_become_pools(folder, source, tmp_path):
    """`subscores` are logits; without them `pdm_score` is the utility of both benchmarks."""
    dump = {}
    for log in folder:
        for f, token in enumerate(log.tokens):
            dump[token] = {"proposals": log.plans[f], "subscores": log.logits[f], "pdm_score": log.utility_v1[f]}
    path = tmp_path / "pool.pkl"
    path.write_bytes(pickle.dumps(dump))
    made = import_dump(path, source.store, tmp_path / "a")
    for name in folder.logs:
        np.testing.assert_array_equal(made.read(name).plans, folder.read(name).plans)
        np.testing.assert_allclose(made.read(name).utility_v2, folder.read(name).utility_v2, atol=1e-3)
    np.testing.assert_array_equal(ScoredPools.open(made.folder).v1, ScoredPools.open(folder.folder).v1)
    for entry in dump.values():
        del entry["subscores"]
    path.write_bytes(pickle.dumps(dump))
    plain = import_dump(path, source.store, tmp_path / "b")
    np.testing.assert_array_equal(plain.read(folder.logs[0]).utility_v2, folder.read(folder.logs[0]).utility_v1)
    fine = {token: {**entry, "pdm_score": 1 + 1e-9 * np.arange(8.0)} for token, entry in dump.items()}
    path.write_bytes(pickle.dumps(fine))
    exact = import_dump(path, source.store, tmp_path / "d")
    assert (exact.read(folder.logs[0]).utility_v1.argmax(1) == 7).all()
    path.write_bytes(pickle.dumps(dict(list(dump.items())[:-1])))
    with pytest.raises(ValueError, match=r"1 of .* tokens have no plan"):
        import_dump(path, source.store, tmp_path / "e")
    some = ScoredPools.open(import_dump(path, source.store, tmp_path / "e", allow_missing=True).folder)
    assert len(some) == len(dump) - 1 and set(some.tokens) == set(list(dump)[:-1])
    for entry in dump.values():
        del entry["pdm_score"]
    path.write_bytes(pickle.dumps(dump))
    with pytest.raises(PoolError, match=r"--plans pool\.pkl"):
        import_dump(path, source.store, tmp_path / "c")


def test_commands(folder, source, planner, training_set, tmp_path, capsys):
    """A planner with its data, then the pools it left, then a paired comparison of the two."""
    data = training_set.data
    words = ["--data", str(data.data), "--split", data.val_split, "--store", str(data.val_store)]
    assert cli.main(["evaluate", str(planner), *words, "--out", str(tmp_path / "e"), "--draws", "50"]) == 0
    assert (tmp_path / "e" / "frames.parquet").is_file() and "EPDMS pre-151" in capsys.readouterr().out
    pools = tmp_path / "e" / "pools"
    assert cli.main(["evaluate", str(pools), "--against", str(tmp_path / "e"), "--draws", "50"]) == 0
    assert "+0.00 [+0.00, +0.00]" in capsys.readouterr().out
    assert cli.main(["pools", str(planner), *words, "--out", str(pools)]) == 0
    assert capsys.readouterr().out.endswith(f"next: w4s evaluate {pools}\n")
    for code, wrong, said in (
        (2, [str(planner)], "needs --data"),
        (1, [str(tmp_path)], "neither a training run nor a folder of pools"),
        (2, [str(pools), "--metric", "pdms-v1.1"], "must end in .csv"),
        (2, [str(pools), "--split", "city_test"], "leave out --data and --split"),
        (2, [str(pools), "--allow-missing"], "belongs to submissions"),
        (1, [str(pools), "--weight", "-1"], "not negative"),
        (
            2,
            ["--agents", "human", "--out", "a.csv", "--against", "x", "--store", "s"],
            "belong to an evaluation into a folder",
        ),
    ):
        assert cli.main(["evaluate", *wrong]) == code
        assert said in capsys.readouterr().err
    assert cli.main(["pools", str(planner)]) == 2
    assert "--data and --split" in capsys.readouterr().err
