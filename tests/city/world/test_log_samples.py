"""Training samples that `prepare` writes while it has the logs open."""

from __future__ import annotations

import json
import shutil
from dataclasses import fields, replace

import numpy as np
import pyarrow as pa
import pytest

from world4scorer.city.world.global_plan import CityRoutes
from world4scorer.cli import main
from world4scorer.datasets.navsim import logs as navsim_logs
from world4scorer.datasets.navsim.errors import DatasetError
from world4scorer.datasets.navsim.splits import find_split
from world4scorer.datasets.prepare.fill_store import prepare
from world4scorer.datasets.prepare.log_samples import (
    FILE,
    META,
    PARTS,
    ROUTES,
    front_images,
    read_table,
    stored_front_images,
    table_options,
)
from world4scorer.datasets.prepare.samples import Samples
from world4scorer.datasets.prepare.source import NavsimSource
from world4scorer.jobs.data_folder import DataFolder
from world4scorer.jobs.executors import ProcessExecutor, SerialExecutor

SPLIT = "city_val"


@pytest.fixture(scope="module")
def split(city):
    return find_split(SPLIT, city)


@pytest.fixture(scope="module")
def store(city, split, tmp_path_factory):
    folder = tmp_path_factory.mktemp("store")
    prepare(NavsimSource(city, split, routes=CityRoutes(city)), folder, ProcessExecutor(2), show_progress=False)
    return folder


@pytest.fixture
def unpickled(monkeypatch):
    """Paths of the logs that are read, in this process."""
    paths = []
    load = navsim_logs.load_restricted
    monkeypatch.setattr(navsim_logs, "load_restricted", lambda path: paths.append(path.name) or load(path))
    return paths


def without_new_columns(store):
    """Write the samples as 0.1.0 did."""
    table = read_table(store / FILE)
    old = pa.Table.from_pylist(table.drop_columns(["target_image", "route_point"]).to_pylist())
    options = {name: value for name, value in table_options(table).items() if name != ROUTES}
    schema = table.drop_columns(["target_image", "route_point"]).schema
    old = old.cast(schema.with_metadata({META: json.dumps(options, sort_keys=True).encode()}))
    with pa.OSFile(str(store / FILE), "wb") as stream, pa.ipc.new_file(stream, old.schema) as writer:
        writer.write_table(old)


def assert_same(one: Samples, other: Samples) -> None:
    for field in fields(Samples):
        a, b = getattr(one, field.name), getattr(other, field.name)
        assert np.array_equal(a, b, equal_nan=a.dtype.kind == "f") if isinstance(a, np.ndarray) else a == b, field.name


def test_prepare_writes_what_the_logs_say(city, split, store, tmp_path, unpickled):
    samples = Samples.of_split(city, split, store)
    assert unpickled == [] and not (store / PARTS).exists()
    assert_same(samples, Samples.of_split(city, split, tmp_path, SerialExecutor(), CityRoutes(city)))
    assert sorted(unpickled) == [f"{name}.pkl" for name in NavsimSource(city, split).log_names()]
    assert (store / FILE).read_bytes() == (tmp_path / FILE).read_bytes()
    assert np.isfinite(samples.route_points).all()


def test_front_images_of_a_store_are_those_of_the_logs(city, split, store):
    for ahead in (0, 4):
        known = stored_front_images(store, split.data_split, ahead)
        assert known and stored_front_images(store, "another", ahead) == {}
        for name in NavsimSource(city, split).log_names():
            log = navsim_logs.read_log(DataFolder(city).log(split.data_split, name))
            found = front_images(log, ahead)
            assert all(known[token] == found[token] for token in known.keys() & found.keys())


def test_samples_of_finished_logs_are_kept_when_prepare_is_killed(city, split, store, tmp_path, unpickled):
    class Killed(NavsimSource):
        def scenes(self, log_name):
            if log_name == self.log_names()[-1]:
                raise KeyboardInterrupt
            return super().scenes(log_name)

    source = NavsimSource(city, split, routes=CityRoutes(city))
    with pytest.raises(KeyboardInterrupt):
        prepare(Killed(city, split, routes=CityRoutes(city)), tmp_path, SerialExecutor(), show_progress=False)
    assert len(list((tmp_path / PARTS).iterdir())) == len(source.log_names()) - 1 and not (tmp_path / FILE).exists()
    assert prepare(source, tmp_path, SerialExecutor(), show_progress=False).kept == len(source.log_names()) - 1
    assert len(unpickled) == len(set(unpickled))
    assert (tmp_path / FILE).read_bytes() == (store / FILE).read_bytes() and not (tmp_path / PARTS).exists()


def test_logs_that_come_later_are_added(city, split, store, tmp_path, unpickled):
    whole = NavsimSource(city, split).log_names()
    root = tmp_path / "city"
    for item in city.iterdir():
        root.mkdir(exist_ok=True)
        if item.name != "navsim_logs":
            (root / item.name).symlink_to(item)
    logs = DataFolder(root).logs(split.data_split)
    logs.mkdir(parents=True)
    for count in (1, len(whole)):
        for name in whole[:count]:
            shutil.copy(DataFolder(city).log(split.data_split, name), logs)
        prepare(NavsimSource(root, split), tmp_path / "store", SerialExecutor(), show_progress=False)
    assert len(unpickled) == len(whole) > 1
    assert replace(Samples.of_split(root, split, tmp_path / "store"), sensors=None).tokens == (
        Samples.of_split(city, split, store).tokens
    )
    assert len(unpickled) == len(whole)


def test_without_images_scenes_are_prepared_and_samples_refused(city, split, tmp_path):
    root = tmp_path / "city"
    root.mkdir()
    for item in city.iterdir():
        if item.name != "sensor_blobs":
            (root / item.name).symlink_to(item)
    prepare(NavsimSource(root, split), tmp_path / "store", SerialExecutor(), show_progress=False)
    assert not (tmp_path / "store" / FILE).exists()
    with pytest.raises(DatasetError, match="sensor blobs"):
        Samples.of_split(root, split, tmp_path / "store", SerialExecutor())


def test_samples_of_0_1_0_are_read_and_prepare_adds_route_points(city, split, store, tmp_path, unpickled):
    old = shutil.copytree(store, tmp_path / "old")
    without_new_columns(old)
    samples = Samples.of_split(city, split, old)
    assert samples.route_points is None and unpickled == [] and META in read_table(old / FILE).schema.metadata
    assert stored_front_images(old, split.data_split, 4) == {}
    with pytest.raises(DatasetError, match="route point"):
        samples.with_route_points()
    words = ["prepare", "--data", str(city), "--split", SPLIT, "--store", str(old), "--executor", "serial"]
    assert main(words) == 0 == main(words)
    assert len(unpickled) == len(set(unpickled)) == len(set(samples.log_names))
    assert (old / FILE).read_bytes() == (store / FILE).read_bytes()
    assert Samples.of_split(city, split, old).with_route_points().ego_status.shape == (len(samples), 13)
