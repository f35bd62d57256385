"""Train a planner on prepared clips: losses, runs and files as on NAVSIM, with other samples and labels.

>>> train_clips(paper(), ClipData(Path("prepared"), Path("vocabulary.npz"), Path("targets.arrow")), Path("runs/b2d"))

Validation clips are those whose names have the smallest digests, so that adding clips changes little. With a share of
0, as in the paper, all clips are trained on and nothing is validated: the run's planner is that of the last epoch.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import numpy as np

from world4scorer.datasets.prepare.samples import Samples
from world4scorer.driving.bench2drive.clip_samples import samples_of
from world4scorer.driving.bench2drive.clip_targets import missing_targets
from world4scorer.driving.bench2drive.negatives import VocabularyNegatives
from world4scorer.driving.bench2drive.vocabulary import Vocabulary
from world4scorer.driving.clips.errors import ClipError
from world4scorer.driving.clips.prepared import PreparedClips
from world4scorer.jobs.files import read_json
from world4scorer.jobs.resumable import withdrawn_if_refused
from world4scorer.jobs.run_folder import RunFolder
from world4scorer.planner.model.config import EGO_NUMBERS, ROUTE_NUMBERS
from world4scorer.planner.training.config import TrainConfig
from world4scorer.planner.training.data_module import PlanningDataModule
from world4scorer.planner.training.inputs import open_targets
from world4scorer.planner.training.run import Machine, fit, prepare_run, subsample

VALIDATION_SHARE: Final = 0.05
"""Default share of validation clips, outside of the paper's preset."""


@dataclass(frozen=True)
class ClipData:
    """Paths of a run's data."""

    clips: Path
    """Folder of prepared clips."""
    vocabulary: Path | None = None
    """Required unless `losses.bank` is 0."""
    targets: Path | None = None
    """File of future targets; None where no loss needs it."""
    validation: float = VALIDATION_SHARE
    """Share of validation clips; 0 trains on all of them."""
    own: str | None = None
    """Beginning of the names of clips that the planner drove itself: trained on, but neither imitated nor validated on.
    """

    @property
    def bank(self) -> None:
        """Clips have no bank."""
        return None


def train_clips(config: TrainConfig, data: ClipData, out: Path, machine: Machine | None = None) -> Path:
    """Train a planner, or resume a run; returns the folder of the last planner."""
    machine = machine or Machine()
    check_config(config)
    clips = PreparedClips.open(data.clips)
    training, validation = split_clips(clips, data.validation, data.own)
    negatives = None
    if config.loss_weights.bank:
        if data.vocabulary is None:
            raise ClipError("vocabulary: missing, but its loss has a weight; give it, or set losses.bank to 0")
        negatives = VocabularyNegatives(Vocabulary.open(data.vocabulary), training)
    if data.targets is not None and config.loss_weights.future and (reason := missing_targets(training, data.targets)):
        raise ClipError(f"{data.targets}: {reason}; make it with `w4s b2d train --only-targets`")
    run = RunFolder(Path(out))
    with withdrawn_if_refused(run.root, run.config_file, run.data_file):
        prepare_run(config, data, Path(out), machine)
        route_point = config.model.ego_numbers == EGO_NUMBERS + ROUTE_NUMBERS
        samples = subsample(untaught(samples_of(training, route_point), data.own), config)
        val = samples_of(validation, route_point)
        targets = open_targets(config, data.targets, samples)
        loaders = PlanningDataModule(config, samples, val, negatives, targets, machine.loaders)
        if not data.validation:
            machine = replace(machine, validate_every=config.epochs + 1)  # never
        return fit(config, samples, (training, validation), loaders, Path(out), machine)


def validation_share(out: Path, preset: str) -> float:
    """Share of validation clips unless given: that of a run to be resumed, else none for the paper's preset."""
    path = RunFolder(out).data_file
    if path.is_file():
        return float(read_json(path, ClipError).get("validation", VALIDATION_SHARE))
    return 0.0 if preset == "paper" else VALIDATION_SHARE


def check_config(config: TrainConfig) -> None:
    """Raise a ClipError if the configuration needs labels or inputs that clips do not have."""
    if config.model.ego_numbers > EGO_NUMBERS + ROUTE_NUMBERS:
        raise ClipError(
            f"model.ego_numbers: {config.model.ego_numbers}; prepared clips hold the route point alone, so 11 or 13"
        )
    if config.losses.driving_direction:
        raise ClipError("losses.driving_direction: clips have no such labels; set it to false")


def untaught(samples: Samples, own: str | None) -> Samples:
    """The samples, those of own clips without anything to imitate."""
    if own is None:
        return samples
    taught = np.array([not name.startswith(own) for name in samples.log_names])
    if taught.all():
        raise ClipError(f"own {own!r}: no training clip has a name that begins so")
    return replace(samples, taught=taught)


def split_clips(clips: PreparedClips, share: float, own: str | None = None) -> tuple[PreparedClips, PreparedClips]:
    """Training and validation clips; those whose names begin with `own` are training clips.

    With a share of 0 all are for training, and one stands for those of validation.
    """
    if not 0 <= share < 1:
        raise ClipError(f"validation: {share}; a share of the clips, from 0 to less than 1")
    driven = [name for name in clips.clips if own is not None and name.startswith(own)]
    names = sorted(clips.clips.keys() - set(driven), key=lambda name: hashlib.sha256(name.encode()).hexdigest())
    if not share:
        return clips, clips.only(names[:1])
    count = max(1, round(share * len(names)))
    if count >= len(names):
        raise ClipError(f"{clips.folder}: {len(names)} clips are too few to train on some and validate with others")
    return clips.only(sorted([*names[count:], *driven])), clips.only(sorted(names[:count]))
