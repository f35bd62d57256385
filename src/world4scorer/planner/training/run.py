"""A training run: a folder that holds its configuration, checkpoints, curves, and in the end the planner.

`jobs.run_folder` names its files. An interrupted run resumes from its last checkpoint and ends with the same weights.
"""

from __future__ import annotations

import json
import logging
import os
import signal
import warnings
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

import lightning.pytorch as pl
import numpy as np
import torch
from lightning.fabric.utilities.exceptions import MisconfigurationException
from lightning.pytorch.callbacks import ModelCheckpoint
from lightning.pytorch.loggers import TensorBoardLogger
from lightning.pytorch.utilities import rank_zero_only

from world4scorer.datasets.prepare.samples import Samples
from world4scorer.datasets.store import SceneStore
from world4scorer.engine.scene.indices import PLAN_POSES
from world4scorer.jobs.resumable import Settings, resumable, withdrawn_if_refused
from world4scorer.jobs.run_folder import RunFolder
from world4scorer.jobs.tensor_files import read_checkpoint, read_tensors
from world4scorer.planner.features.feature_cache import FeatureCache, cache_features, open_features
from world4scorer.planner.model.anchors import fit_anchors, fit_vocabulary
from world4scorer.planner.model.config import DENSE
from world4scorer.planner.model.dense_encoder_files import load_dense_encoder
from world4scorer.planner.model.frozen_vit import FrozenEncoder
from world4scorer.planner.model.network import SPEED, FrozenSceneEncoder, Network
from world4scorer.planner.planner import Planner
from world4scorer.planner.pretrained.dinov2 import load_dinov2
from world4scorer.planner.pretrained.image_encoder import CITY, MASKED, load_city_encoder
from world4scorer.planner.training.batches import check_batch
from world4scorer.planner.training.bf16_linear import use_bf16_in_vit, use_bf16_products
from world4scorer.planner.training.callbacks import (
    CheckpointFiles,
    History,
    LastCheckpoint,
    RestoreSigterm,
    TrainingProgress,
)
from world4scorer.planner.training.config import TrainConfig
from world4scorer.planner.training.data_module import PlanningDataModule
from world4scorer.planner.training.inputs import open_bank, open_targets
from world4scorer.planner.training.labels import PlanLabeller, SceneLabeller
from world4scorer.planner.training.module import ScorerModule
from world4scorer.planner.training.rollouts import RolloutData, TrainInputs, join_rollouts
from world4scorer.planner.training.split_samples import split_samples
from world4scorer.planner.training.warm_start import load_forecast, load_planner_weights

PRECISIONS: Final = {
    "fp32": "32-true",
    "bf16": "bf16-mixed",
    "fp16": "16-mixed",
    "bf16-products": "32-true",
    "bf16-vit": "32-true",
}
"""What Lightning calls them."""
NETWORK: Final = "network."
"""Prefix of parameter names in checkpoints."""


@dataclass(frozen=True)
class TrainData:
    """Paths of the data."""

    data: Path
    """Dataset folder with navsim_logs and sensor_blobs."""
    split: str
    store: Path
    """Scene store of the split."""
    val_split: str
    val_store: Path
    bank: Path | None = None
    """Bank of the split; None if no loss needs it."""
    targets: Path | None = None
    """File of future targets of the split; None if no loss needs it."""
    val_data: Path | None = None
    """Dataset folder of the validation split, if another."""
    rollouts: tuple[RolloutData, ...] = ()
    """Splits of drives that are trained on too."""


@dataclass(frozen=True)
class Machine:
    """Hardware of a run. Each device draws its own random numbers."""

    accelerator: str = "auto"
    devices: int = 1
    """Processes on this machine, one per device; on CPUs, processes that share the cores."""
    nodes: int = 1
    loaders: int = 0
    """Processes per device that read images; 0 reads them between steps."""
    label_threads: int = 2
    """Threads per device that compute outcome labels."""
    threads: int = 0
    """Threads per device that compute the model on CPUs; 0 shares the cores evenly."""
    checkpoint_every: int = 200
    """Steps between checkpoints; each epoch ends with one as well."""
    validate_every: int = 1
    """Epochs from one validation to the next; the last epoch has one if its number is a multiple."""

    def __post_init__(self) -> None:
        for name in ("loaders", "threads"):
            if getattr(self, name) < 0:
                raise ValueError(f"{name}: {getattr(self, name)}; not below 0")
        for name in ("devices", "nodes", "label_threads", "checkpoint_every", "validate_every"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name}: {getattr(self, name)}; at least 1")


def train(config: TrainConfig, data: TrainData, out: Path, machine: Machine | None = None) -> Path:
    """Train a planner, or resume an interrupted run; returns the folder of the last planner."""
    machine = machine or Machine()
    out = Path(out)
    run = RunFolder(out)
    with withdrawn_if_refused(out, run.config_file, run.data_file):
        return _train(config, data, out, machine)


def _train(config: TrainConfig, data: TrainData, out: Path, machine: Machine) -> Path:
    prepare_run(config, data, out, machine)
    numbers = config.model.ego_numbers
    samples_of_split = split_samples(data.data, data.split, data.store, numbers)
    samples = subsample(samples_of_split, config)
    val = split_samples(data.val_data or data.data, data.val_split, data.val_store, numbers)
    labellers = SceneLabeller(SceneStore(data.store)), SceneLabeller(SceneStore(data.val_store))
    bank, targets = open_bank(config, data.bank, samples), open_targets(config, data.targets, samples)
    cached = val_features = None
    encoder = _frozen_encoder(config) if config.model.frozen_encoder and config.model.images else None
    device = "cuda" if machine.accelerator != "cpu" and torch.cuda.is_available() else "cpu"

    def cache(scenes: Samples, root: Path, split: str) -> FeatureCache:
        assert encoder is not None
        return _cached(encoder, scenes, root, split, device)

    if encoder is not None:
        cached = cache(samples_of_split, data.data, data.split)
        val_features = cache(val, data.val_data or data.data, data.val_split)
    inputs = TrainInputs(samples, labellers[0], bank, targets, cached)
    inputs = join_rollouts(inputs, config, data.rollouts, cache)
    features = None if inputs.features is None or val_features is None else (inputs.features, val_features)
    loaders = PlanningDataModule(config, inputs.samples, val, inputs.bank, inputs.targets, machine.loaders, features)
    return fit(config, inputs.samples, (inputs.labeller, labellers[1]), loaders, out, machine)


def _frozen_encoder(config: TrainConfig) -> FrozenEncoder:
    """The encoder of a run with its weights."""
    check_start(config)
    network = Network(config.model)
    _load_weights(network, config)
    assert isinstance(network.encoder, FrozenSceneEncoder)
    return network.encoder.perceiver


def _cached(encoder: FrozenEncoder, samples: Samples, data: Path, split: str, device: str) -> FeatureCache:
    """What the frozen encoder of a run perceives in the scenes of a split; made by the first process of a run."""
    found = open_features(encoder, data, split)
    if found is not None and found.holds(samples):
        return found
    return cache_features(encoder, samples, data, split, device=device, show_progress=True)


def prepare_run(config: TrainConfig, data: Any, out: Path, machine: Machine) -> None:
    """Claim the folder and set threads and floating-point mode."""
    claim_run_folder(config, data, out)
    silence_lightning()
    torch.set_num_threads(machine.threads or max(1, (os.cpu_count() or 1) // machine.devices))
    torch.set_flush_denormal(True)


def fit(
    config: TrainConfig,
    samples: Samples,
    labellers: tuple[PlanLabeller, PlanLabeller],
    loaders: PlanningDataModule,
    out: Path,
    machine: Machine,
) -> Path:
    """Train with labellers of training and validation scenes; returns the folder of the last planner."""
    check_batch(len(samples), config.batch, machine.devices * machine.nodes)  # before anything is written
    steps = config.epochs * (len(samples) // config.batch)
    module = ScorerModule(config, make_network(config, samples), *labellers, steps, machine.label_threads)
    trainer = make_trainer(config, out, machine)
    if trainer.is_global_zero and int(os.environ.get("LOCAL_RANK", "0")) == 0:
        run = RunFolder(Path())
        written = (run.checkpoints, run.planner, run.best_planner)
        with resumable(out, "training there", leftovers=[f"{folder}/.*.tmp" for folder in written]):
            _fit(trainer, module, loaders, RunFolder(out).last_checkpoint)
            _keep_planners(config, module.network, out)
    else:
        _fit(trainer, module, loaders, RunFolder(out).last_checkpoint)
    return RunFolder(out).planner


def _fit(trainer: pl.Trainer, module: ScorerModule, loaders: PlanningDataModule, last: Path) -> None:
    if last.is_file():
        read_checkpoint(last)  # damaged ones are named before training starts
    try:
        trainer.fit(module, datamodule=loaders, ckpt_path=last if last.is_file() else None, weights_only=True)
    except BaseException as error:
        launcher = trainer.strategy.launcher
        if launcher is not None:
            launcher.kill(signal.SIGKILL)  # other devices' processes would wait for this one
        if isinstance(error, SystemExit) and trainer.interrupted:  # what Lightning makes of Ctrl-C
            raise KeyboardInterrupt from None
        raise


def make_network(config: TrainConfig, samples: Samples) -> Network:
    """Initial network: random by seed, anchors from the data, the ViT from its weights; or all from a planner."""
    check_start(config)
    torch.manual_seed(config.seed)
    network = Network(config.model)
    if network.generator.anchors is not None:
        speeds, poses = samples.ego_status[:, SPEED], samples.future[:, :PLAN_POSES]
        fit = fit_vocabulary if config.model.vocabulary else fit_anchors
        found = fit(speeds, poses, len(network.generator.anchors), config.seed)
        network.generator.anchors.copy_(torch.from_numpy(found))
    _load_weights(network, config)
    if config.precision == "bf16-products":
        use_bf16_products(network)
    elif config.precision == "bf16-vit":
        use_bf16_in_vit(network)
    return network


def _load_weights(network: Network, config: TrainConfig) -> None:
    """Put the initial weights of a run into its network: those of a planner, or of the encoder alone."""
    if config.from_planner:
        planner = Planner.from_pretrained(config.from_planner)
        load_planner_weights(network, planner)
        if config.model.forecast and not planner.config.forecast:
            load_forecast(network, load_dense_encoder(config.vit_weights or CITY))
    elif not config.vit_weights:
        return
    elif config.model.encoder == DENSE:
        assert isinstance(network.encoder, FrozenSceneEncoder)
        encoder = load_dense_encoder(config.vit_weights)
        if config.model.forecast and encoder.forecast is None:
            raise ValueError(
                f"vit_weights: {config.vit_weights} makes no forecast; teach it with `w4s pretrain --recipe forecast`, "
                "or give --model.no-forecast"
            )
        encoder = encoder if config.model.forecast else encoder.without_forecast()
        network.encoder.perceiver.load_state_dict(encoder.state_dict())
    elif config.vit_weights in (MASKED, CITY):  # what runs of 0.1.0 call it
        load_city_encoder(network)
    else:
        load_dinov2(network, config.vit_weights)


def check_start(config: TrainConfig) -> None:
    """Raise a ValueError for a frozen ViT without pretrained weights."""
    pretrained = config.vit_weights or config.from_planner
    if config.model.images and not config.model.train_vit and not pretrained:
        raise ValueError(
            "vit_weights: the ViT of this model is not trained, so it needs weights to begin with; give --vit-weights"
        )


def check_machine(machine: Machine) -> None:
    """Raise a ValueError if the requested devices are not available."""
    _trainer(machine, logger=False, enable_checkpointing=False)


def is_global_zero() -> bool:
    """Whether this is the first process of all machines; valid after `check_machine`."""
    return int(getattr(rank_zero_only, "rank", 0)) == 0


def make_trainer(config: TrainConfig, out: Path, machine: Machine) -> pl.Trainer:
    """Lightning's trainer for a run."""
    run = RunFolder(out)
    if config.precision == "fp16" and machine.accelerator == "cpu":
        raise ValueError("precision: fp16 needs a GPU; on processors use bf16-products or fp32")
    best = ModelCheckpoint(
        run.checkpoints,
        filename=run.best_checkpoint.stem,
        monitor="val/score",
        mode="max",
        save_top_k=1,
        enable_version_counter=False,
    )
    return _trainer(
        machine,
        precision=PRECISIONS[config.precision],
        max_epochs=config.epochs,
        check_val_every_n_epoch=machine.validate_every,
        gradient_clip_val=config.optimiser.clip or None,
        logger=TensorBoardLogger(out, name=run.tensorboard.name, version=""),
        callbacks=[
            RestoreSigterm(),
            History(run.history_file),
            TrainingProgress(),
            best,
            LastCheckpoint(run.last_checkpoint, machine.checkpoint_every),
        ],
        plugins=[CheckpointFiles()],
        use_distributed_sampler=False,
        num_sanity_val_steps=0,
        log_every_n_steps=10,
    )


def _trainer(machine: Machine, **options: Any) -> pl.Trainer:
    try:
        return pl.Trainer(
            accelerator=machine.accelerator,
            devices=machine.devices,
            num_nodes=machine.nodes,
            strategy="ddp" if machine.devices * machine.nodes > 1 else "auto",
            enable_progress_bar=False,
            enable_model_summary=False,
            **options,
        )
    except (MisconfigurationException, ModuleNotFoundError, ValueError) as error:
        asked = f"--accelerator {machine.accelerator} --devices {machine.devices}"
        raise ValueError(f"{asked}: not on this machine ({error}); `--accelerator cpu` always works") from error


def subsample(samples: Samples, config: TrainConfig) -> Samples:
    """The training scenes of a run: all, or `config.scenes` drawn by seed."""
    if not config.scenes:
        return samples
    if config.scenes > len(samples):
        raise ValueError(f"scenes: {config.scenes} wanted, the split has {len(samples)}")
    order = np.random.default_rng(config.seed).permutation(len(samples))
    return samples.at(np.sort(order[: config.scenes]).tolist())


def claim_run_folder(config: TrainConfig, data: Any, out: Path) -> None:
    """Write the configuration, or check that the folder holds a run with the same.

    `data` is a dataclass of names and paths: where the data lie.
    """
    described = {name: _described(value) for name, value in asdict(data).items() if value != ()}
    run = RunFolder(out)
    if not _is_configured(run.config_file, config):
        Settings(run.config_file, json.loads(config.to_json()), indent=2).match(ValueError)
    Settings(run.data_file, described, indent=2).match(ValueError)


def _is_configured(path: Path, config: TrainConfig) -> bool:
    """Whether a file holds this configuration; settings that it does not know yet had today's defaults."""
    try:
        return path.is_file() and TrainConfig.from_json(path.read_bytes(), str(path)) == config
    except ValueError:
        return False  # and `Settings` says why


def _described(value: Any) -> Any:
    """Absolute paths, independent of the working directory."""
    if isinstance(value, tuple):
        return [_described(part) for part in value]
    if isinstance(value, dict):
        return {name: _described(part) for name, part in value.items()}
    return str(value.resolve()) if isinstance(value, Path) else value


def _keep_planners(config: TrainConfig, network: Network, out: Path) -> None:
    run = RunFolder(out)
    Planner.from_network(network).save_pretrained(run.planner)
    if run.best_checkpoint.is_file():
        tensors = {name.removeprefix(NETWORK): tensor for name, tensor in read_tensors(run.best_checkpoint).items()}
        other = Network(config.model)
        other.load_state_dict(tensors)
        Planner.from_network(other).save_pretrained(run.best_planner)


def silence_lightning() -> None:
    """Silence Lightning's start-up messages."""
    for name in ("lightning.pytorch", "lightning.fabric", "lightning"):
        logging.getLogger(name).setLevel(logging.ERROR)
    warnings.filterwarnings("ignore", module="lightning.*")
