"""The progress bar of pretraining."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from world4scorer.jobs.progress import JobProgress
from world4scorer.planner.pretraining.config import PretrainConfig

LOSS_WINDOW = 50
"""Steps that the shown loss is a mean of."""


class PretrainProgress(JobProgress):
    """Steps done, loss, views a second, time left; on standard error."""

    def __init__(self, config: PretrainConfig, done: int, show: bool) -> None:
        super().__init__("pretraining", "steps  loss {task.fields[loss]}", show)
        self._task = self._bar.add_task("steps", total=config.steps, completed=done, loss="-")

    def update(self, step: int, losses: Sequence[float]) -> None:
        """Show the state after so many steps."""
        self._bar.update(self._task, completed=step, loss=f"{np.mean(losses[-LOSS_WINDOW:]):.4f}")
