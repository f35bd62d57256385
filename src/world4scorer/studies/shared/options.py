"""Options that studies share; `w4s study` makes flags of the fields. Imports nothing heavy."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from world4scorer.jobs.executor_options import ExecutorOptions
from world4scorer.jobs.run_folder import Weights


@dataclass(frozen=True)
class StudyOptions:
    """Options of studies of pools."""

    out: Path | None = None
    """Folder of the finding; SOURCE/studies unless given."""
    store: Path | None = None
    """Scene store of the pools, if it is not where they say."""
    split: str | None = None
    """Name of a split of a run, whose pools are made if they are missing; the validation split unless given."""
    weights: Weights = "best"
    """Planner of a run: the one with the best validation score, or the last."""
    draws: int = 10_000
    """Number of bootstrap draws over logs."""


@dataclass(frozen=True)
class RunOptions:
    """Options of studies of a run's own data."""

    out: Path | None = None
    """Folder of the finding; RUN/studies unless given."""
    split: str | None = None
    """Name of a split to look at; the training split unless given."""
    draws: int = 10_000
    """Number of bootstrap draws over logs."""


@dataclass(frozen=True)
class TrainingOptions:
    """How variants of a run are trained; defaults are the run's own settings."""

    seeds: tuple[int, ...] = ()
    """Each variant is trained once for each seed; the run's own unless given."""
    epochs: int | None = None
    """Epochs of each training."""
    scenes: int | None = None
    """Number of training scenes, drawn by seed; 0 for all."""
    target_encoder: str | None = None
    """Encoder for missing targets, if the run's own targets name none: `city`, a folder or a file."""
    accelerator: str = "auto"
    """Accelerator for training: cpu, gpu, auto."""
    devices: int = 1
    """Processes that train together; each has its own random numbers."""
    threads: int = 0
    """Threads per process that compute the model on CPUs; 0 shares the cores evenly."""
    split: str | None = None
    """Name of a split that variants are scored on, by their last weights; the validation split unless given."""
    out: Path | None = None
    """Folder of the finding; RUN/studies unless given."""
    min_gap: float = 0.0
    """Pairs of plans count for ordering accuracy if their PDMS differ by more; results at 0.05 stand beside."""
    draws: int = 10_000
    """Number of bootstrap draws over logs."""


@dataclass(frozen=True)
class BranchOptions(ExecutorOptions):
    """Options of the study of counterfactual futures."""

    scenes: int = 230
    """Scenes to branch, spread evenly over logs."""
    split: str | None = None
    """Name of a split to take scenes of; the validation split unless given."""
    plans: int = 12
    """Plans of each pool to drive."""
    seeds: tuple[int, ...] = ()
    """Seeds of the compared trainings; the run's own unless given."""
    accelerator: str = "auto"
    """Accelerator for training: cpu, gpu, auto."""
    devices: int = 1
    """Processes that train together."""
    threads: int = 0
    """Threads per process that compute the model on CPUs; 0 shares the cores evenly."""
    out: Path | None = None
    """Folder of the finding; RUN/studies unless given."""
    draws: int = 10_000
    """Number of bootstrap draws over logs."""

    @property
    def training(self) -> TrainingOptions:
        """How the variants are trained."""
        return TrainingOptions(
            seeds=self.seeds, accelerator=self.accelerator, devices=self.devices, threads=self.threads, draws=self.draws
        )


@dataclass(frozen=True)
class StabilityOptions:
    """Options of the study of stability."""

    supervised: int = 12
    """Training scenes that supervise the scorer; time grows with them."""
    scenes: int = 16
    """Scenes whose choices are measured."""
    split: str | None = None
    """Name of a split to take these scenes of; the validation split unless given."""
    weights: Weights = "best"
    """Planner of the run: the one with the best validation score, or the last."""
    rivals: int = 3
    """Rivals of each choice: the nearest, and one at random."""
    detailed: int = 6
    """Number of these scenes that are also measured with further labels and other mu."""
    mu: float = 0.1
    """Scale of the local model."""
    scales: tuple[float, ...] = (0.01, 1.0)
    """Other values of mu."""
    seed: int = 0
    """Seed of the draw of scenes and rivals."""
    other: Path | None = None
    """Another training of the same planner, for example with another seed, to compare choices with."""
    out: Path | None = None
    """Folder of the finding; RUN/studies unless given."""
    draws: int = 10_000
    """Number of bootstrap draws over logs."""


@dataclass(frozen=True)
class ReadoutOptions:
    """Options of the study of visual readouts."""

    pairs: int = 6000
    """Current and future views that networks are trained on, drawn by seed."""
    condgrid_steps: int | None = None
    """Training steps of CondGrid; 2000 unless given."""
    diffusion_steps: int | None = None
    """Training steps of the diffusion; 2400 unless given."""
    decoder_steps: int | None = None
    """Training steps of the decoder; 500 unless given."""
    seed: int = 17
    """Seed of the networks and of their training data."""
    scenes: int = 300
    """Number of scenes to measure; also the most junctions."""
    split: str | None = None
    """Name of a split to take these scenes of; the validation split unless given."""
    weights: Weights = "best"
    """Planner of the run: the one with the best validation score, or the last."""
    encoder: str | None = None
    """Encoder of the run's targets, if they name none."""
    decoder: Path | None = None
    """RAE decoder of patch grids (file or folder of weights) to draw with, instead of training one."""
    masks: Path | None = None
    """Folder of TOKEN.png with 0 for road, 1 for dynamic, 2 for static pixels; cities draw their own."""
    threads: int = 0
    """Threads of torch; 0 keeps torch's default."""
    out: Path | None = None
    """Folder of the finding; RUN/studies unless given."""
    draws: int = 10_000
    """Number of bootstrap draws over logs."""


DEFAULT_STUDY_OPTIONS: Final = StudyOptions()
DEFAULT_STABILITY_OPTIONS: Final = StabilityOptions()
DEFAULT_INTERVENTION_OPTIONS: Final = StudyOptions(draws=100_000)
"""As many draws as in the paper."""
DEFAULT_RUN_OPTIONS: Final = RunOptions()
DEFAULT_TRAINING_OPTIONS: Final = TrainingOptions()
DEFAULT_BRANCH_OPTIONS: Final = BranchOptions()
DEFAULT_LABEL_PAIRING_OPTIONS: Final = TrainingOptions(scenes=512, epochs=60)
"""As in the paper: few scenes, many epochs."""
DEFAULT_READOUT_OPTIONS: Final = ReadoutOptions()
