"""Teaching a forecast on the tiny city, and a planner that reads it."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from tests.support.small_training import MACHINE, SMALL_DENSE
from world4scorer.jobs.tensor_files import read_tensors
from world4scorer.planner.features.feature_cache import find_features
from world4scorer.planner.forecasting.config import ForecastConfig
from world4scorer.planner.forecasting.pretrain import SplitScenes, pretrain_forecast
from world4scorer.planner.model.dense_encoder_files import load_dense_encoder
from world4scorer.planner.planner import Planner
from world4scorer.planner.training.dataset import PlanningDataset, collate
from world4scorer.planner.training.run import train
from world4scorer.planner.training.split_samples import split_samples

CONFIG = ForecastConfig(steps=6, batch=8, validate_every=3, validation_scenes=10, checkpoint_every=2)


@pytest.fixture(scope="module")
def scenes(training_set):
    data = training_set.data
    stores = {data.split: data.store, data.val_split: data.val_store}
    return [SplitScenes(split, split_samples(data.data, split, store), store) for split, store in stores.items()]


@pytest.fixture(scope="module")
def taught(training_set, scenes, tmp_path_factory):
    out = tmp_path_factory.mktemp("forecast") / "encoder"
    pretrain_forecast(training_set.data.data, *scenes, load_dense_encoder("city"), out, CONFIG)
    return out


def test_scenes_know_the_frame_before(scenes):
    images, poses = scenes[0].samples.frames_before()
    assert len(images) == len(poses) == len(scenes[0].samples) and all(len(paths) == 4 for paths in images)
    forward = -poses[:, 0]  # the ego was behind
    speed = scenes[0].samples.ego_status[:, 3]
    assert abs(forward - 0.5 * speed).max() < 1.0


def test_an_interrupted_run_ends_with_the_same_weights(training_set, scenes, taught, tmp_path):
    city = load_dense_encoder("city").without_forecast()
    encoder = load_dense_encoder(taught)
    assert encoder.forecast is not None
    # Files hold float16: so do the bundled weights, which pass through unchanged.
    assert all(torch.equal(encoder.state_dict()[name], tensor) for name, tensor in city.state_dict().items())
    again = tmp_path / "again"
    data = training_set.data.data
    assert pretrain_forecast(data, *scenes, city, again, CONFIG, stop_after=3) is None
    report = pretrain_forecast(data, *scenes, city, again, CONFIG)
    assert report is not None and report.digest == encoder.digest() and report.last_loss < report.first_loss
    with pytest.raises(ValueError, match="learning_rate"):
        pretrain_forecast(data, *scenes, city, again, replace(CONFIG, learning_rate=1e-4))


def test_a_planner_reads_the_forecast_from_images_as_from_the_cache(training_set, scenes, taught, tmp_path):
    config = replace(
        SMALL_DENSE, model=replace(SMALL_DENSE.model, forecast=True), vit_weights=str(taught), epochs=1, scenes=32
    )
    train(config, training_set.data, tmp_path / "run", MACHINE)
    planner = Planner.from_pretrained(tmp_path / "run" / "planner")
    tensors = read_tensors(tmp_path / "run" / "planner" / "model.safetensors")
    assert any(name.startswith("encoder.perceiver.forecast.") for name in tensors)
    few = scenes[1].samples.at([0, 5])
    cache = find_features(planner.network.encoder.perceiver, few)
    assert cache is not None
    kinds = [PlanningDataset(few, planner.config, features=features) for features in (None, cache)]
    seen, cached = (collate([kind[index, 0] for index in range(2)]) for kind in kinds)
    scored = [planner(batch.image, batch.ego_status, batch.cameras) for batch in (seen, cached)]
    torch.testing.assert_close(scored[0].utility(), scored[1].utility(), atol=2e-2, rtol=0)  # features are float16
    without = replace(few, images_before=None)
    with pytest.raises(ValueError, match="w4s prepare"):
        PlanningDataset(without, planner.config)[0, 0]


def test_an_encoder_without_a_forecast_is_refused(training_set, taught, tmp_path):
    from world4scorer.planner.model.dense_encoder_files import save_dense_encoder

    plain = load_dense_encoder(taught).without_forecast()
    save_dense_encoder(plain, tmp_path / "plain.safetensors", tmp_path / "plain.json")
    model = replace(SMALL_DENSE.model, forecast=True)
    config = replace(SMALL_DENSE, model=model, vit_weights=str(tmp_path / "plain.safetensors"))
    with pytest.raises(ValueError, match="makes no forecast"):
        train(config, training_set.data, tmp_path / "run", MACHINE)
