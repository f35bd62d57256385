"""The progress bar of pretraining."""

from __future__ import annotations

from collections.abc import Sequence
from types import TracebackType

import numpy as np
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from world4scorer.pretraining.config import PretrainConfig

RECENT = 50
"""Steps that the shown loss is a mean of."""


class PretrainProgress:
    """Steps done, loss, views a second, time left; on standard error."""

    def __init__(self, config: PretrainConfig, done: int, show: bool) -> None:
        self._bar = Progress(
            TextColumn("pretraining"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("steps  loss {task.fields[loss]}  left"),
            TimeRemainingColumn(),
            console=Console(stderr=True),
            disable=not show,
        )
        self._task = self._bar.add_task("steps", total=config.steps, completed=done, loss="-")

    def __enter__(self) -> PretrainProgress:
        self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bar.stop()

    def update(self, step: int, losses: Sequence[float]) -> None:
        """Show the state after so many steps."""
        self._bar.update(self._task, completed=step, loss=f"{np.mean(losses[-RECENT:]):.4f}")
