"""What happens beside the training itself: a progress line, a history file, checkpoints."""

from __future__ import annotations

import json
import os
import signal
import time
from pathlib import Path
from typing import Any

import lightning.pytorch as pl
from lightning.pytorch.callbacks import Callback, Checkpoint
from lightning.pytorch.utilities import rank_zero_only
from rich.progress import TaskID

from world4scorer.jobs.files import atomic_write
from world4scorer.jobs.progress import Bar


class RestoreSigterm(Callback):
    """SIGTERM does what it did before training.

    Lightning has its processes talk to each other in the signal's handler, where they may wait for ever; a run can be
    killed at any time without loss, so none of that is needed.
    """

    def __init__(self) -> None:
        self._before = signal.getsignal(signal.SIGTERM)

    def on_train_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Put the former handler back."""
        signal.signal(signal.SIGTERM, self._before)


class TrainingProgress(Callback):
    """Losses, score, share of time spent on labels, frames per second and the time left; on standard error."""

    def __init__(self) -> None:
        self._bar: Bar | None = None
        self._task = TaskID(0)

    @rank_zero_only
    def on_train_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Begin."""
        self._bar = Bar("training", "steps  {task.fields[told]}")
        total, done = int(trainer.estimated_stepping_batches), trainer.global_step
        self._task = self._bar.add_task("steps", total=total, completed=done, told="")
        self._bar.start()

    @rank_zero_only
    def on_train_batch_end(
        self, trainer: pl.Trainer, pl_module: pl.LightningModule, outputs: Any, batch: Any, batch_idx: int
    ) -> None:
        """Tell where the run is."""
        if self._bar is not None and trainer.global_step % 10 == 0:
            self._bar.update(self._task, completed=trainer.global_step, told=_metrics_text(trainer))

    @rank_zero_only
    def on_validation_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Leave a line, also where no bar is drawn."""
        if self._bar is not None:
            self._bar.write(f"epoch {trainer.current_epoch + 1}  {_metrics_text(trainer)}")

    @rank_zero_only
    def on_train_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """End."""
        self._stop(trainer)

    @rank_zero_only
    def on_exception(self, trainer: pl.Trainer, pl_module: pl.LightningModule, exception: BaseException) -> None:
        """Leave the terminal as it was."""
        self._stop(trainer)

    def _stop(self, trainer: pl.Trainer) -> None:
        if self._bar is not None:
            self._bar.update(self._task, completed=trainer.global_step, told=_metrics_text(trainer))
            self._bar.stop()
            self._bar = None


def _metrics_text(trainer: pl.Trainer) -> str:
    known = {name: float(value) for name, value in trainer.callback_metrics.items()}
    parts = [
        f"{title} {known[name]:{form}}"
        for name, title, form in (
            ("train/total", "loss", ".2f"),
            ("train/imitation", "wta", ".2f"),
            ("train/score", "score", ".2f"),
            ("train/bank", "bank", ".2f"),
            ("train/future", "future", ".3f"),
            ("val/score", "PDMS", ".3f"),
            ("time/labels_waited", "labels", ".1%"),
            ("time/scenes_per_second", "frames/s", ".0f"),
        )
        if name in known
    ]
    return "  ".join(parts)


class LastCheckpoint(Checkpoint):
    """The newest state in one file: every so many steps, and at the end of each epoch.

    A `Checkpoint`, because those are called after all other callbacks: the file holds what they know of the epoch. The
    last step of an epoch is left to the epoch's end, so that a run stopped between the two validates again.
    """

    def __init__(self, path: Path, every: int) -> None:
        self.path, self.every = path, every

    def on_train_batch_end(
        self, trainer: pl.Trainer, pl_module: pl.LightningModule, outputs: Any, batch: Any, batch_idx: int
    ) -> None:
        """Keep a step."""
        if trainer.global_step % self.every == 0 and not trainer.is_last_batch:
            self._save(trainer)

    def on_train_epoch_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Keep the end of an epoch."""
        self._save(trainer)

    def _save(self, trainer: pl.Trainer) -> None:
        """Beside the file, then in its place: the library's own way goes through another file system."""
        beside = self.path.with_name(f".{self.path.name}.tmp")
        trainer.save_checkpoint(beside)
        if trainer.is_global_zero:
            os.replace(beside, self.path)


class History(Callback):
    """A line of numbers after every validation, kept in a file; what a stopped run had not kept is not repeated."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._began = time.monotonic()
        self._before = 0.0
        self._lines: list[dict[str, float]] = []

    def on_train_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Begin to count time."""
        self._began = time.monotonic()

    @rank_zero_only
    def on_validation_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Write the line of this validation."""
        numbers = {name: float(value) for name, value in sorted(trainer.callback_metrics.items())}
        line = {"epoch": trainer.current_epoch + 1, "step": trainer.global_step, "seconds": self._seconds(), **numbers}
        self._lines = [kept for kept in self._lines if kept["step"] < line["step"]] + [line]
        with atomic_write(self.path) as stream:
            stream.write("".join(json.dumps(kept) + "\n" for kept in self._lines).encode())

    def _seconds(self) -> float:
        return round(self._before + time.monotonic() - self._began, 1)

    def state_dict(self) -> dict[str, Any]:
        """What goes into checkpoints."""
        return {"lines": self._lines, "seconds": self._seconds()}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Go on from a checkpoint."""
        self._lines, self._before = list(state_dict["lines"]), float(state_dict["seconds"])
