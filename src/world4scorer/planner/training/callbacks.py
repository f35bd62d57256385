"""Lightning callbacks: progress line, history file, checkpoints."""

from __future__ import annotations

import signal
import time
from pathlib import Path
from typing import Any

import lightning.pytorch as pl
from lightning.pytorch.callbacks import Callback, Checkpoint
from lightning.pytorch.plugins.io import TorchCheckpointIO
from lightning.pytorch.utilities import rank_zero_only
from rich.progress import TaskID

from world4scorer.jobs.files import atomic_write, json_lines
from world4scorer.jobs.progress import Bar
from world4scorer.jobs.tensor_files import write_checkpoint


class RestoreSigterm(Callback):
    """Restores the SIGTERM handler.

    Lightning's handler communicates between processes and may deadlock; runs can be killed at any time without it.
    """

    def __init__(self) -> None:
        self._before = signal.getsignal(signal.SIGTERM)

    def on_train_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Restore the former handler."""
        signal.signal(signal.SIGTERM, self._before)


class TrainingProgress(Callback):
    """Losses, score, share of time spent on labels, frames per second and the time left; on standard error."""

    def __init__(self) -> None:
        self._bar: Bar | None = None
        self._task = TaskID(0)

    @rank_zero_only
    def on_train_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Begin."""
        self._bar = Bar("training", "steps  {task.fields[metrics]}")
        total, done = int(trainer.estimated_stepping_batches), trainer.global_step
        self._task = self._bar.add_task("steps", total=total, completed=done, metrics="")
        self._bar.start()

    @rank_zero_only
    def on_train_batch_end(
        self, trainer: pl.Trainer, pl_module: pl.LightningModule, outputs: Any, batch: Any, batch_idx: int
    ) -> None:
        """Update the progress line."""
        if self._bar is not None and trainer.global_step % 10 == 0:
            self._bar.update(self._task, completed=trainer.global_step, metrics=_metrics_text(trainer))

    @rank_zero_only
    def on_validation_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Print a line, also without a bar."""
        if self._bar is not None:
            self._bar.write(f"epoch {trainer.current_epoch + 1}  {_metrics_text(trainer)}")

    @rank_zero_only
    def on_train_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """End."""
        self._stop(trainer)

    @rank_zero_only
    def on_exception(self, trainer: pl.Trainer, pl_module: pl.LightningModule, exception: BaseException) -> None:
        """Restore the terminal."""
        self._stop(trainer)

    def _stop(self, trainer: pl.Trainer) -> None:
        if self._bar is not None:
            self._bar.update(self._task, completed=trainer.global_step, metrics=_metrics_text(trainer))
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
    """Saves the latest state every `every` steps and at the end of each epoch.

    A `Checkpoint`, so that it runs after all other callbacks. The last step of an epoch is saved at the epoch's end, so
    that a run stopped in between validates again.
    """

    def __init__(self, path: Path, every: int) -> None:
        self.path, self.every = path, every

    def on_train_batch_end(
        self, trainer: pl.Trainer, pl_module: pl.LightningModule, outputs: Any, batch: Any, batch_idx: int
    ) -> None:
        """Save after a step."""
        if trainer.global_step % self.every == 0 and not trainer.is_last_batch:
            self._save(trainer)

    def on_train_epoch_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Save after an epoch."""
        self._save(trainer)

    def _save(self, trainer: pl.Trainer) -> None:
        trainer.save_checkpoint(self.path)


class CheckpointFiles(TorchCheckpointIO):
    """Checkpoints written whole or not at all, with a checksum; Lightning writes through another file system."""

    def save_checkpoint(self, checkpoint: dict[str, Any], path: Any, storage_options: Any | None = None) -> None:
        """Write a checkpoint."""
        write_checkpoint(checkpoint, path)


class History(Callback):
    """Metrics after every validation, in a JSON Lines file."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._began = time.monotonic()
        self._before = 0.0
        self._lines: list[dict[str, float]] = []

    def on_train_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Start the clock."""
        self._began = time.monotonic()

    @rank_zero_only
    def on_validation_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Write the line of this validation."""
        numbers = {name: float(value) for name, value in sorted(trainer.callback_metrics.items())}
        line = {"epoch": trainer.current_epoch + 1, "step": trainer.global_step, "seconds": self._seconds(), **numbers}
        self._lines = [kept for kept in self._lines if kept["step"] < line["step"]] + [line]
        with atomic_write(self.path) as stream:
            stream.write(json_lines(self._lines))

    def _seconds(self) -> float:
        return round(self._before + time.monotonic() - self._began, 1)

    def state_dict(self) -> dict[str, Any]:
        """State in checkpoints."""
        return {"lines": self._lines, "seconds": self._seconds()}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Resume from a checkpoint."""
        self._lines, self._before = list(state_dict["lines"]), float(state_dict["seconds"])
