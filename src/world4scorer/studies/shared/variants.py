"""Variants of a training run: the same configuration but for what a study changes, trained where they are missing.

    RUN/variants/<study>/<variant>-<seed>     a training run of its own

A variant that is finished is not repeated, an interrupted one resumes, and one that is the run itself is not trained.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

from world4scorer.jobs.data_folder import DataFolder
from world4scorer.jobs.run_folder import RunFolder
from world4scorer.planner.targets.future_targets import FutureTargets
from world4scorer.planner.training.config import TrainConfig
from world4scorer.planner.training.prepare_data import DataSources, prepare_data
from world4scorer.planner.training.run import Machine, TrainData
from world4scorer.planner.training.run_files import read_run
from world4scorer.planner.training.train_folder import train_within
from world4scorer.studies.shared.options import TrainingOptions
from world4scorer.studies.shared.view_features import target_encoder

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Variant:
    """One condition of a study."""

    name: str
    """Of its folder, too."""
    change: Callable[[TrainConfig], TrainConfig]
    """What it changes in the configuration of the run."""


class _Job(NamedTuple):
    folder: Path
    config: TrainConfig
    data: TrainData


def train_variants(
    run: Path, study: str, variants: Sequence[Variant], options: TrainingOptions
) -> dict[str, tuple[Path, ...]]:
    """Folders of the finished runs of each variant, one for each seed; all are looked at before any is trained."""
    own, data = read_run(run)
    jobs = {}
    for variant in variants:
        configs = [variant.change(config) for config in _shared(own, options)]
        jobs[variant.name] = [_job(run, study, variant.name, config, own, data) for config in configs]
    for job in (one for some in jobs.values() for one in some):
        if not RunFolder(job.folder).is_finished:
            _train(job, own, data, options)
    return {name: tuple(job.folder for job in some) for name, some in jobs.items()}


def _shared(own: TrainConfig, options: TrainingOptions) -> list[TrainConfig]:
    """The run's configuration with what the options say, for each seed."""
    epochs = own.epochs if options.epochs is None else options.epochs
    scenes = own.scenes if options.scenes is None else options.scenes
    seeds = options.seeds or (own.seed,)
    if len(set(seeds)) < len(seeds):
        raise ValueError(f"seeds: {' '.join(map(str, seeds))}; each only once")
    return [replace(own, epochs=epochs, scenes=scenes, seed=seed) for seed in seeds]


def _job(run: Path, study: str, name: str, config: TrainConfig, own: TrainConfig, data: TrainData) -> _Job:
    """Where a variant is, or will be; a folder that holds another run is an error."""
    if config == own:
        RunFolder(run).finished_planner()
        return _Job(run, config, data)
    job = _Job(RunFolder(run).variant(study, name, config.seed).root, config, _data(config, own, data))
    _check_folder(job)
    return job


def _data(config: TrainConfig, own: TrainConfig, data: TrainData) -> TrainData:
    """The run's data, with bank and targets where the variant needs them."""
    weights, when = config.loss_weights, config.auxiliary_target
    bank = (data.bank or DataFolder(data.data).bank(data.split)) if weights.bank else None
    same = data.targets if when == own.auxiliary_target else None
    targets = (same or DataFolder(data.data).targets(data.split, when)) if weights.future else None
    return replace(data, bank=bank, targets=targets)


def _check_folder(job: _Job) -> None:
    """Raise a ValueError if the folder holds a run with another configuration or other data."""
    path = RunFolder(job.folder).config_file
    if not path.is_file():
        return
    found: Mapping[str, Any] = asdict(TrainConfig.from_json(path.read_bytes(), str(path)))
    wanted: Mapping[str, Any] = asdict(job.config)
    if RunFolder(job.folder).data_file.is_file():
        found = {**found, **_resolved(read_run(job.folder)[1])}
        wanted = {**wanted, **_resolved(job.data)}
    there, now = _flat(found), _flat(wanted)
    for name in now:
        if there.get(name) != now[name]:
            raise ValueError(
                f"{job.folder}: holds a run with another {name} ({there.get(name)}, now {now[name]}); ask for what is "
                "there, or move that folder away"
            )


def _resolved(data: TrainData) -> dict[str, Any]:
    return {name: value.resolve() if isinstance(value, Path) else value for name, value in asdict(data).items()}


def _flat(nested: Mapping[str, Any], before: str = "") -> dict[str, Any]:
    """`{"model": {"width": 128}}` as `{"model.width": 128}`."""
    flat: dict[str, Any] = {}
    for name, value in nested.items():
        flat |= _flat(value, f"{before}{name}.") if isinstance(value, dict) else {f"{before}{name}": value}
    return flat


def _train(job: _Job, own: TrainConfig, own_data: TrainData, options: TrainingOptions) -> None:
    logger.info("variant: training %s", job.folder)
    _prepare(job, own, own_data, options)
    machine = Machine(
        accelerator=options.accelerator,
        devices=options.devices,
        threads=options.threads,
        validate_every=job.config.epochs,
    )
    train_within(job.config, job.data, job.folder, machine)


def _prepare(job: _Job, own: TrainConfig, own_data: TrainData, options: TrainingOptions) -> None:
    """Make bank and targets where they are missing, targets like those of the run."""
    data, targets = job.data, job.data.targets
    encoder = options.target_encoder
    if targets is not None and not targets.is_file() and encoder is None:
        encoder = _encoder(own, own_data.targets)
    prepare_data(
        DataSources(
            data.data,
            data.split,
            data.val_split,
            store=data.store,
            val_store=data.val_store,
            val_data=data.val_data,
            bank=data.bank,
            targets=targets,
            target_encoder=encoder,
        ),
        job.config,
    )
    if targets is not None and own_data.targets is not None:
        made, like = FutureTargets.open(targets).notes, FutureTargets.open(own_data.targets).notes
        if like.encoder and replace(made, frame=like.frame, scenes=like.scenes) != like:
            raise ValueError(
                f"{targets}: not made as {own_data.targets} was, so the variants would differ in more than the frame; "
                "make it anew with `w4s targets`"
            )


def _encoder(own: TrainConfig, targets: Path | None) -> str | None:
    """What the run's own targets were made with."""
    if targets is None:
        return None
    found = target_encoder(own, targets)
    if found is not None:
        return found
    raise ValueError(f"{targets}: made with an encoder that is not known here; name it with --target-encoder")
