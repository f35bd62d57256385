"""Long work that takes seconds: a city, a planner's training and what it needs, drives, the cube; with the pretraining
of `pretraining_work` and the studies of `study_work`.

Each at the smallest size that has all of its steps. Inputs are made once, in about a minute.
"""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

import torch

from tests.faults.pretraining_work import PRETRAINING, make_pretraining_inputs
from tests.faults.study_work import STUDIES, make_study_inputs
from tests.support.small_training import MACHINE, SMALL, prepare_training_set
from world4scorer.city.world.config import Share, preset
from world4scorer.city.world.make import make_city, make_traffic
from world4scorer.cube import episodes as cube_episodes
from world4scorer.cube.collect import collect
from world4scorer.cube.episodes import EpisodeConfig, make_episodes
from world4scorer.cube.evaluate import evaluate
from world4scorer.cube.model.train_world_model import train_world_model
from world4scorer.cube.study import Study, make_data, make_groups, make_head, make_world_model
from world4scorer.datasets.navsim.splits import find_split
from world4scorer.datasets.prepare.samples import Samples
from world4scorer.driving.clips.city_clips import make_city_clips
from world4scorer.driving.closed_loop.drive_config import DriveConfig
from world4scorer.driving.closed_loop.driver_spec import DriverSpec
from world4scorer.driving.closed_loop.infraction_monitor import TerminationRules
from world4scorer.driving.closed_loop.run import drive_all
from world4scorer.evaluation.pools.make import make_pools
from world4scorer.evaluation.pools.planner_source import PlannerSource
from world4scorer.jobs.executors import SerialExecutor
from world4scorer.jobs.run_folder import RunFolder
from world4scorer.planner.features import feature_cache
from world4scorer.planner.model.dense_encoder import DenseEncoder
from world4scorer.planner.targets.make_targets import make_targets
from world4scorer.planner.training.run import TrainData, train

TRAIN, VAL = "city_train", "city_val"
HAMLET = replace(
    preset("tiny"),
    shares=(Share(TRAIN, "trainval", "ingolstadt", 1, 3),),
    cameras=("CAM_F0",),
    height=16,
    width=32,
    warm_up=10.0,
    duration=30.0,
)
"""A city of one log."""
MINUTE = TerminationRules(time_limit=3.0)
"""Drives that end soon."""


def make_command_inputs(folder: Path) -> None:
    """A city ready for training, a run, and a study of the cube up to its outcome head."""
    torch.set_num_threads(1)
    make_city(preset("tiny"), folder / "city", workers=1)
    prepare_training_set(folder / "city", folder / "training")
    train(replace(SMALL, epochs=1), _data(folder), folder / "run", MACHINE)
    make_pretraining_inputs(folder)
    make_study_inputs(folder)
    study = Study.begin(folder / "cube", "smoke")
    make_data(study, workers=1, progress=False)
    make_world_model(study, study.preset.world_model, progress=False)
    make_groups(study, study.preset.collect, workers=1, progress=False)
    make_head(study, study.preset.head, progress=False)


def _data(inputs: Path) -> TrainData:
    made = inputs / "training"
    return TrainData(
        data=inputs / "city",
        split=TRAIN,
        store=made / TRAIN,
        val_split=VAL,
        val_store=made / VAL,
        bank=made / "bank",
        targets=made / "future.arrow",
    )


def fill_city(inputs: Path, out: Path) -> None:
    """`w4s city make`."""
    make_city(HAMLET, out, workers=1)


def fill_traffic(inputs: Path, out: Path) -> None:
    """Streets and traffic of a suite, as `w4s drive --suite` makes them."""
    make_traffic(HAMLET, out)


def fill_targets(inputs: Path, out: Path) -> None:
    """`w4s targets make`."""
    make_targets(inputs / "city", VAL, "city", out / "future.arrow", executor=SerialExecutor())


def fill_features(inputs: Path, out: Path) -> None:
    """The features that `w4s train` caches."""
    torch.manual_seed(0)
    encoder = DenseEncoder().requires_grad_(False).eval()
    samples = Samples.of_split(inputs / "city", find_split(VAL, inputs / "city"), inputs / "training" / VAL)
    with patch.object(feature_cache, "BLOCK", 3):
        feature_cache.cache_features(encoder, samples.at(range(7)), out, VAL, executor=SerialExecutor())


def fill_run(inputs: Path, out: Path) -> None:
    """`w4s train`: an epoch of four steps, with a checkpoint at each."""
    train(replace(SMALL, epochs=1), _data(inputs), out, replace(MACHINE, checkpoint_every=1))


def fill_planner_pools(inputs: Path, out: Path) -> None:
    """`w4s pools`."""
    planner = RunFolder(inputs / "run").planner
    make_pools(PlannerSource(planner, inputs / "city", VAL, inputs / "training" / VAL), out)


def fill_city_clips(inputs: Path, out: Path) -> None:
    """`w4s b2d city-clips`."""
    make_city_clips(inputs / "city", out, clips=1, seconds=1, executor=SerialExecutor())


def fill_drives(inputs: Path, out: Path) -> None:
    """`w4s drive`."""
    plan = DriveConfig(inputs / "city", TRAIN, 1, rules=MINUTE)
    drive_all(plan, (DriverSpec.parse("constant-velocity"),), out, SerialExecutor())


def fill_episodes(inputs: Path, out: Path) -> None:
    """`w4s cube data`."""
    with patch.object(cube_episodes, "EPISODES_PER_SHARD", 1):
        make_episodes(out, EpisodeConfig(expert=2, noisy=1, steps=4), workers=1, progress=False)


def fill_world_model(inputs: Path, out: Path) -> None:
    """`w4s cube world-model`."""
    study = Study.open(inputs / "cube")
    train_world_model(study.episodes, out, study.preset.world_model, study.held_out, progress=False)


def fill_groups(inputs: Path, out: Path) -> None:
    """`w4s cube collect`."""
    study = Study.open(inputs / "cube")
    collect(study.episodes, study.model, out, study.preset.collect, study.held_out, workers=1, progress=False)


def fill_played(inputs: Path, out: Path) -> None:
    """`w4s cube evaluate`."""
    study = Study.open(inputs / "cube")
    config = replace(study.preset.evaluate, players=("zero", "expert"))
    evaluate(study.contest(0.3), out, config, workers=1, progress=False)


def fill_head(inputs: Path, out: Path) -> None:
    """`w4s cube head`, on a copy of what it reads."""
    study = replace(Study.open(inputs / "cube"), folder=out)
    for part in ("groups", "world-model"):
        if not (out / part).is_dir():
            shutil.copytree(inputs / "cube" / part, out / f".{part}.tmp", dirs_exist_ok=True)
            (out / f".{part}.tmp").rename(out / part)
    make_head(study, study.preset.head, progress=False)


COMMANDS: dict[str, Any] = {
    "city": fill_city,
    "traffic": fill_traffic,
    "targets": fill_targets,
    "features": fill_features,
    "training": fill_run,
    "planner's pools": fill_planner_pools,
    "city clips": fill_city_clips,
    "drives": fill_drives,
    "cube episodes": fill_episodes,
    "cube world model": fill_world_model,
    "cube candidates": fill_groups,
    "cube evaluation": fill_played,
    "cube outcome head": fill_head,
    **PRETRAINING,
    **STUDIES,
}
