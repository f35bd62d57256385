"""Pretraining that takes seconds: views with dense labels, and the three recipes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from tests.support.dense_frames import NARROW, write_frames
from tests.support.picture_dataset import SMALL, SPLIT, make_dataset
from world4scorer.city.dense.make import DenseConfig, make_dense_views
from world4scorer.city.world.config import CityConfig, Share
from world4scorer.datasets.dense.views_file import DenseViews
from world4scorer.jobs.executors import SerialExecutor
from world4scorer.planner.features.feature_cache import cache_features
from world4scorer.planner.forecasting.config import ForecastConfig
from world4scorer.planner.forecasting.pretrain import BEFORE, SplitScenes, pretrain_forecast
from world4scorer.planner.model.dense_encoder_files import load_dense_encoder
from world4scorer.planner.pretraining.config import PretrainConfig
from world4scorer.planner.pretraining.dense_config import DensePretrainConfig
from world4scorer.planner.pretraining.dense_pretrain import pretrain_dense
from world4scorer.planner.pretraining.pretrain import pretrain
from world4scorer.planner.training.split_samples import split_samples

TRAIN, VAL = "city_train", "city_val"
STREETS = CityConfig(
    (Share(TRAIN, "trainval", "ingolstadt", 2, 2),),
    cameras=("CAM_F0",),
    height=16,
    width=32,
    warm_up=10.0,
    duration=30.0,
)
"""Two simulations."""
DENSE = DensePretrainConfig(
    steps=4, batch=2, queue=5, warm_up=0.2, checkpoint_every=2, validate_every=2, validation_frames=2
)
MASKED = PretrainConfig(
    steps=4, batch=4, visible=4, predicted=4, decoder_width=24, decoder_layers=1, decoder_heads=2, checkpoint_every=2
)
FORECAST = ForecastConfig(steps=4, batch=2, validate_every=2, validation_scenes=2, checkpoint_every=2)


def make_pretraining_inputs(folder: Path) -> None:
    """Views for the recipes, and the features that forecasts are learnt from; needs the city."""
    for split, frames in ((TRAIN, 4), (VAL, 2)):
        write_frames(folder / "dense views" / f"{split}.arrow", frames)
    make_dataset(folder / "pictures", frames=6)
    encoder = load_dense_encoder("city").without_forecast()
    for scenes in _forecast_scenes(folder):
        images, _ = scenes.samples.frames_before()
        earlier = tuple(one or own for one, own in zip(images, scenes.samples.images, strict=True))
        before = replace(scenes.samples, images=earlier)
        for name, samples in ((scenes.split, scenes.samples), (f"{scenes.split}{BEFORE}", before)):
            cache_features(encoder, samples, folder / "city", name, executor=SerialExecutor())


def _forecast_scenes(inputs: Path) -> list[SplitScenes]:
    found = []
    for split in (TRAIN, VAL):
        store = inputs / "training" / split
        found.append(SplitScenes(split, split_samples(inputs / "city", split, store).at(range(4)), store))
    return found


def fill_dense_views(inputs: Path, out: Path) -> None:
    """`w4s city dense`, with streets and trips that are not there yet."""
    make_dense_views(STREETS, out, DenseConfig(), workers=1)


def fill_dense(inputs: Path, out: Path) -> None:
    """`w4s pretrain`."""
    views = [DenseViews.open([inputs / "dense views" / f"{split}.arrow"]) for split in (TRAIN, VAL)]
    pretrain_dense(*views, out, DENSE, NARROW)


def fill_masked(inputs: Path, out: Path) -> None:
    """`w4s pretrain --recipe masked`."""
    pretrain(inputs / "pictures", SPLIT, out, MASKED, SMALL)


def fill_forecast(inputs: Path, out: Path) -> None:
    """`w4s pretrain --recipe forecast`, from features that are there."""
    pretrain_forecast(inputs / "city", *_forecast_scenes(inputs), load_dense_encoder("city"), out, FORECAST)


PRETRAINING: dict[str, Any] = {
    "dense views": fill_dense_views,
    "dense pretraining": fill_dense,
    "masked pretraining": fill_masked,
    "forecast": fill_forecast,
}
