"""Preparing, making targets and starting to train unpickle each log once."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import torch

from tests.support.small_training import SMALL
from world4scorer.city.world.global_plan import CityRoutes
from world4scorer.datasets.navsim import logs as navsim_logs
from world4scorer.datasets.navsim.splits import find_split
from world4scorer.datasets.prepare.fill_store import prepare
from world4scorer.datasets.prepare.log_samples import FILE
from world4scorer.datasets.prepare.source import NavsimSource
from world4scorer.jobs.executors import SerialExecutor
from world4scorer.planner.targets.future_targets import FutureTargets
from world4scorer.planner.targets.make_targets import make_targets
from world4scorer.planner.training.dataset import PlanningDataset
from world4scorer.planner.training.split_samples import split_samples


def test_each_log_is_unpickled_once(training_set, tmp_path, monkeypatch):
    city, read = training_set.data.data, Counter()
    load = navsim_logs.load_restricted
    monkeypatch.setattr(navsim_logs, "load_restricted", lambda path: read.update([path.name]) or load(path))
    names = []
    for split in ("city_train", "city_val"):
        source = NavsimSource(city, find_split(split, city), routes=CityRoutes(city))
        names += [f"{name}.pkl" for name in source.log_names()]
        prepare(source, tmp_path / split, SerialExecutor(), show_progress=False)
    out = tmp_path / "targets.arrow"
    make_targets(city, "city_train", "city", out, store=tmp_path / "city_train")
    make_targets(city, "city_train", "city", tmp_path / "now.arrow", frame="current", store=tmp_path / "city_train")
    for split in ("city_train", "city_val"):
        samples = split_samples(city, split, tmp_path / split, 13)
        PlanningDataset(samples, replace(SMALL.model, ego_numbers=13))[0, 0]
    assert read == Counter(names)

    # The targets are those that the logs give, for stores of 0.1.0 and for no store.
    (tmp_path / "city_train" / FILE).unlink()
    make_targets(city, "city_train", "city", tmp_path / "old.arrow", store=tmp_path / "city_train")
    assert out.read_bytes() == (tmp_path / "old.arrow").read_bytes()
    assert set(read.values()) == {1, 2}
    stored, logged = FutureTargets.open(out), FutureTargets.open(training_set.data.targets)
    for one, other in zip(stored.features(stored.tokens), logged.features(stored.tokens), strict=True):
        assert torch.equal(one, other)
