from __future__ import annotations

import pickle
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from world4scorer.datasets.navsim.splits import find_split
from world4scorer.datasets.prepare.samples import Samples
from world4scorer.jobs.data_folder import DataFolder
from world4scorer.jobs.executors import SerialExecutor
from world4scorer.planner.features import feature_cache
from world4scorer.planner.features.feature_cache import (
    cache_features,
    check_calibration,
    find_features,
    open_features,
)
from world4scorer.planner.model.config import city
from world4scorer.planner.model.dense_encoder import DenseEncoder
from world4scorer.planner.training.dataset import PlanningDataset, collate

pytestmark = pytest.mark.usefixtures("sumo")


@pytest.fixture(scope="module")
def encoder() -> DenseEncoder:
    torch.manual_seed(0)
    return DenseEncoder().requires_grad_(False).eval()


@pytest.fixture
def samples(training_set) -> Samples:
    data = training_set.data
    found = Samples.of_split(data.data, find_split("city_val", data.data), data.val_store)
    return found.at(range(7))


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    monkeypatch.setattr(feature_cache, "BLOCK", 3)


def test_cached_features_are_those_of_the_images(encoder, samples, tmp_path):
    cache = cache_features(encoder, samples, tmp_path, "city_val", executor=SerialExecutor())
    assert len(cache) == 7 and samples.tokens[6] in cache and "other" not in cache
    direct = collate([PlanningDataset(samples, city())[index, 0] for index in range(7)])
    cached = collate([PlanningDataset(samples, city(), features=cache)[index, 0] for index in range(7)])
    assert direct.perception is None and cached.views is None and cached.perception is not None
    seen = encoder(direct.image)
    for ours, theirs in zip(cached.image[:2], seen[:2], strict=True):
        torch.testing.assert_close(ours, theirs, atol=2e-3 * float(theirs.abs().max()), rtol=1e-3)
    again = pickle.loads(pickle.dumps(cache))  # bytes of this test
    assert np.array_equal(again.read(samples.tokens[4])[1], cache.read(samples.tokens[4])[1])


def test_an_interrupted_cache_is_completed_and_a_complete_one_opened(encoder, samples, tmp_path):
    first = cache_features(encoder, samples, tmp_path, "city_val", executor=SerialExecutor())
    folder = DataFolder(tmp_path).features(encoder.digest(), "city_val")
    lost = folder / "00001.npy"
    before, others = lost.read_bytes(), (folder / "00000.npy").stat().st_mtime_ns
    lost.unlink()
    assert open_features(encoder, tmp_path, "city_val") is None
    cache_features(encoder, samples, tmp_path, "city_val", executor=SerialExecutor())
    assert lost.read_bytes() == before and (folder / "00000.npy").stat().st_mtime_ns == others
    opened = open_features(encoder, tmp_path, "city_val")
    assert opened is not None and np.array_equal(opened.read(samples.tokens[5])[0], first.read(samples.tokens[5])[0])
    with pytest.raises(ValueError, match="tokens"):
        cache_features(encoder, samples.at([0, 1]), tmp_path, "city_val", executor=SerialExecutor())


def test_samples_find_their_cache_in_any_split(encoder, samples, training_set):
    data = samples.sensors.parents[1]
    assert data == training_set.data.data
    folder = DataFolder(data).all_features(encoder.digest())
    try:
        assert find_features(encoder, samples) is None
        cache_features(encoder, samples.at(range(5)), data, "some", executor=SerialExecutor())
        assert find_features(encoder, samples) is None
        found = find_features(encoder, samples.at([4, 1]))
        assert found is not None and samples.tokens[1] in found
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def test_other_weights_never_meet_old_features(encoder, samples, tmp_path):
    cache_features(encoder, samples, tmp_path, "city_val", executor=SerialExecutor())
    other = DenseEncoder().requires_grad_(False).eval()
    assert other.digest() != encoder.digest()
    assert open_features(other, tmp_path, "city_val") is None


def test_a_missing_image_is_named(encoder, samples, tmp_path):
    sensors = tmp_path / "sensors"
    shutil.copytree(samples.sensors, sensors)
    (sensors / samples.images[2][1]).unlink()
    moved = replace(samples, sensors=sensors)
    with pytest.raises(ValueError, match=Path(samples.images[2][1]).name):
        cache_features(encoder, moved, tmp_path, "city_val", executor=SerialExecutor())


def test_cameras_of_other_cars_are_refused(encoder, samples):
    check_calibration(samples, encoder.config)
    turned = replace(samples, translation=samples.translation + np.array([0.0, 0.0, 0.3]))
    with pytest.raises(ValueError, match=r"scene '.*': cameras: not those of the city"):
        check_calibration(turned, encoder.config)
