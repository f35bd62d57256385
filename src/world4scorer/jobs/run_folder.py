"""Names of files and folders below the folder of a training run, and what can be read from it without torch.

    RUN/config.json                           the whole configuration
    RUN/data.json                             the data it is trained on
    RUN/checkpoints/{last,best}.ckpt          everything needed to resume
    RUN/tensorboard/                          curves
    RUN/history.jsonl                         one line per validation
    RUN/planner/                              the last planner, for `Planner.from_pretrained`
    RUN/planner_best/                         the one with the best validation score
    RUN/pools/SPLIT/, RUN/pools/SPLIT-best/   pools of the last planner, and of the best where it is another
    RUN/evaluation/, RUN/studies/             findings: evaluation.json, STUDY.json, with their pages and figures
    RUN/evaluation/[SPLIT][-last]/            the same of another split or of the last planner; likewise below studies
    RUN/variants/STUDY/VARIANT-SEED/          training runs of the studies that train
    RUN/features/, readouts/, branches/SPLIT  intermediate results of studies
    RUN/frames/SPLIT/                         frames as JSON, for a viewer
    RUN/explorer.html                         the run in a browser, in one file
    RUN/film.mp4, RUN/report.html             a film of a log; the page of the run

A run that was stopped resumes from its last checkpoint.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from world4scorer.jobs.data_folder import split_name
from world4scorer.jobs.files import read_json
from world4scorer.jobs.model_folder import ModelFolder

logger = logging.getLogger(__name__)

Weights = Literal["best", "last"]
"""Which planner of a run: the one with the best validation score, or that of the last epoch."""


@dataclass(frozen=True)
class RunFolder:
    """Paths below the folder of a training run. Splits may be given by name or by their YAML files.

    A folder of pools keeps its findings, frames and report under the same names.
    """

    root: Path

    @property
    def config_file(self) -> Path:
        """Configuration of the training."""
        return self.root / "config.json"

    @property
    def data_file(self) -> Path:
        """Where the training data lie."""
        return self.root / "data.json"

    @property
    def checkpoints(self) -> Path:
        """Folder of checkpoints."""
        return self.root / "checkpoints"

    @property
    def last_checkpoint(self) -> Path:
        """Where a stopped run resumes."""
        return self.checkpoints / "last.ckpt"

    @property
    def best_checkpoint(self) -> Path:
        """Checkpoint with the best validation score."""
        return self.checkpoints / "best.ckpt"

    @property
    def tensorboard(self) -> Path:
        """Folder of TensorBoard events."""
        return self.root / "tensorboard"

    @property
    def history_file(self) -> Path:
        """One line per validation."""
        return self.root / "history.jsonl"

    @property
    def planner(self) -> Path:
        """Folder of the last planner."""
        return self.root / "planner"

    @property
    def best_planner(self) -> Path:
        """Folder of the planner with the best validation score."""
        return self.root / "planner_best"

    @property
    def all_pools(self) -> Path:
        """Parent of the folders of pools."""
        return self.root / "pools"

    def pools(self, split: str, weights: Weights = "last") -> Path:
        """Folder of a planner's pools on a split."""
        return self.all_pools / (split_name(split) + ("-best" if weights == "best" else ""))

    @property
    def evaluation(self) -> Path:
        """Folder of the evaluation."""
        return self.root / "evaluation"

    @property
    def evaluation_file(self) -> Path:
        """Finding of the evaluation."""
        return self.evaluation / "evaluation.json"

    @property
    def studies(self) -> Path:
        """Folder of the findings of studies."""
        return self.root / "studies"

    def results(self, parent: Path, split: str | None = None, weights: Weights = "best") -> Path:
        """Folder below `parent` for results of another split than the validation split, or of the last planner.

        A folder of pools has no such parts.
        """
        if not self.exists:
            return parent
        other = None if split is None or split_name(split) == self.validation_split() else split_name(split)
        parts = [part for part in (other, "last" if weights == "last" else None) if part is not None]
        return parent / "-".join(parts) if parts else parent

    def study_file(self, study: str) -> Path:
        """Finding of a study."""
        return self.studies / f"{study}.json"

    def variants(self, study: str) -> Path:
        """Parent of the training runs of a study."""
        return self.root / "variants" / study

    def variant(self, study: str, name: str, seed: int) -> RunFolder:
        """A training run of a study."""
        return RunFolder(self.variants(study) / f"{name}-{seed}")

    @property
    def features(self) -> Path:
        """Folder of image features that studies computed."""
        return self.root / "features"

    @property
    def readouts(self) -> Path:
        """Folder of readout networks."""
        return self.root / "readouts"

    def branches(self, split: str) -> Path:
        """Folder of branched scenes of a split."""
        return self.root / "branches" / split_name(split)

    @property
    def frames(self) -> Path:
        """Frames as JSON: of a folder of pools, or by split."""
        return self.root / "frames"

    @property
    def explorer_file(self) -> Path:
        """The run in a browser, in one file; the report's scenes lead to it."""
        return self.root / "explorer.html"

    @property
    def film_file(self) -> Path:
        """A film of a log with the planner's plans."""
        return self.root / "film.mp4"

    @property
    def report_file(self) -> Path:
        """The page of the run."""
        return self.root / "report.html"

    @property
    def exists(self) -> bool:
        """Whether this is the folder of a training run."""
        return self.data_file.is_file() and self.config_file.is_file()

    @property
    def is_finished(self) -> bool:
        """Whether training is over and the last planner is saved."""
        return ModelFolder(self.planner).config_file.is_file()

    def finished_planner(self, weights: Weights = "best") -> Path:
        """Folder of the best or the last planner; a ValueError if training is not finished.

        A run that was never validated has no best planner: then it is the last.
        """
        if not self.is_finished:
            command = "w4s b2d train" if self.trained_on_clips else "w4s train"
            raise ValueError(f"{self.planner}: no planner there; this run is not finished, run `{command}` again")
        if weights == "last":
            return self.planner
        if not ModelFolder(self.best_planner).exists:
            logger.info("%s: no best planner, as this run was not validated; its last planner is used", self.root)
            return self.planner
        return self.best_planner

    @property
    def trained_on_clips(self) -> bool:
        """Whether this is a run of `w4s b2d train`: its data are clips, which have no split and no store."""
        try:
            data = read_json(self.data_file)
        except ValueError:
            return False
        return "clips" in data and "data" not in data

    def validation_split(self) -> str:
        """Name of the split that the run is validated on."""
        try:
            return split_name(read_json(self.data_file)["val_split"])
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise ValueError(f"{self.data_file}: names no validation split ({error}); give --split") from error
