"""Flags that commands of studies share. Light: every `w4s study` reads it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final


@dataclass(frozen=True)
class StudyOptions:
    """What every study of pools takes."""

    out: Path | None = None
    """Folder of the finding; SOURCE/studies unless given."""
    store: Path | None = None
    """Scene store of the pools, if it is not where they say."""
    draws: int = 10_000
    """Of the bootstrap over logs."""


@dataclass(frozen=True)
class RunOptions:
    """What studies of a run's own data take."""

    out: Path | None = None
    """Folder of the finding; RUN/studies unless given."""
    draws: int = 10_000
    """Of the bootstrap over logs."""


@dataclass(frozen=True)
class TrainingOptions:
    """What the variants of a run share. What is not given is the run's own."""

    seeds: tuple[int, ...] = ()
    """Each variant is trained once for each seed; the run's own unless given."""
    epochs: int | None = None
    """Of each training."""
    scenes: int | None = None
    """Training scenes, drawn by seed; 0 for all."""
    target_encoder: str | None = None
    """What missing targets are made with, if the run's own do not say: `city`, a folder or a file."""
    accelerator: str = "auto"
    """What trains: cpu, gpu, auto."""
    devices: int = 1
    """Processes that train together; each draws what is random in a step for itself."""
    threads: int = 0
    """Threads per process that compute the model on CPUs; 0 shares the cores evenly."""
    out: Path | None = None
    """Folder of the finding; RUN/studies unless given."""
    draws: int = 10_000
    """Of the bootstrap over logs."""


@dataclass(frozen=True)
class BranchOptions:
    """What the study of counterfactual futures takes."""

    scenes: int = 230
    """Validation scenes to branch, spread evenly over logs."""
    plans: int = 12
    """Of each pool, to be driven."""
    workers: int | None = None
    """Processes that drive; one for each core unless given."""
    seeds: tuple[int, ...] = ()
    """Of the trainings that are compared; the run's own unless given."""
    accelerator: str = "auto"
    """What trains: cpu, gpu, auto."""
    devices: int = 1
    """Processes that train together."""
    threads: int = 0
    """Threads per process that compute the model on CPUs; 0 shares the cores evenly."""
    out: Path | None = None
    """Folder of the finding; RUN/studies unless given."""
    draws: int = 10_000
    """Of the bootstrap over logs."""

    @property
    def training(self) -> TrainingOptions:
        """How the variants are trained."""
        return TrainingOptions(
            seeds=self.seeds, accelerator=self.accelerator, devices=self.devices, threads=self.threads, draws=self.draws
        )


@dataclass(frozen=True)
class StabilityOptions:
    """How much the study of stability measures."""

    supervised: int = 12
    """Training scenes that hold the scorer; time grows with them."""
    scenes: int = 16
    """Validation scenes whose choices are looked at."""
    rivals: int = 3
    """Rivals of each choice: the nearest, and one at random."""
    detailed: int = 6
    """So many of the scenes are also asked about further labels and other mu."""
    mu: float = 0.1
    """Scale of the local model."""
    scales: tuple[float, ...] = (0.01, 1.0)
    """Other values of mu."""
    seed: int = 0
    """Draws scenes and rivals."""
    other: Path | None = None
    """Another training of the same planner, for example from another seed: where does it choose otherwise?"""
    out: Path | None = None
    """Folder of the finding; RUN/studies unless given."""
    draws: int = 10_000
    """Of the bootstrap over logs."""


@dataclass(frozen=True)
class ReadoutOptions:
    """What the study of visual readouts takes."""

    pairs: int = 6000
    """Current and future views that networks are trained on, drawn by seed."""
    condgrid_steps: int | None = None
    diffusion_steps: int | None = None
    decoder_steps: int | None = None
    """Of training; 2000, 2400 and 500 unless given."""
    seed: int = 17
    """Of the networks and of what they are trained on."""
    scenes: int = 300
    """Validation scenes that numbers are over, and junctions at most."""
    encoder: str | None = None
    """What the run's targets were made with, if they do not say."""
    decoder: Path | None = None
    """RAE decoder of patch grids (file or folder of weights) to draw with, instead of training one."""
    masks: Path | None = None
    """Folder of TOKEN.png with 0 for road, 1 for dynamic, 2 for static pixels; cities draw their own."""
    threads: int = 0
    """Of torch; 0 leaves it as it is."""
    out: Path | None = None
    """Folder of the finding; RUN/studies unless given."""
    draws: int = 10_000
    """Of the bootstrap over logs."""


DEFAULT_STUDY_OPTIONS: Final = StudyOptions()
DEFAULT_STABILITY_OPTIONS: Final = StabilityOptions()
"""Of the study of stability."""
DEFAULT_INTERVENTION_OPTIONS: Final = StudyOptions(draws=100_000)
"""Of the study of interventions, as in the paper."""
DEFAULT_RUN_OPTIONS: Final = RunOptions()
DEFAULT_TRAINING_OPTIONS: Final = TrainingOptions()
DEFAULT_BRANCH_OPTIONS: Final = BranchOptions()
DEFAULT_LABEL_PAIRING_OPTIONS: Final = TrainingOptions(scenes=512, epochs=60)
"""Of the study of label pairing."""
DEFAULT_READOUT_OPTIONS: Final = ReadoutOptions()
